"""`%cluster`: how does a notebook start a cluster of real processes, and what state are its tasks in?"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from nbtf import config, distribute, errors, runtime
from nbtf._counts import counted
from nbtf.notebook.magics.cell_magics import add_line_magic
from nbtf.notebook.magics.options import options_of
from nbtf.notebook.session import Session, say
from nbtf.notebook.tables import Column, Table, sizes, texts
from nbtf.notebook.usage_error import UsageError

_NUMBERS = ("worker", "gpus", "chief", "ps")
_TEXTS = ("model", "memory")


def _seconds(silent: float) -> str:
    return f"{silent:.1f} s ago"


TASKS = (
    *texts("task", "state", "host", "process"),
    Column("devices", "devices", ", ".join),
    Column("silent", "last signal", _seconds, number=True),
    Column("waiting", "unanswered", number=True),
    Column("tensors", "tensors", number=True),
    *sizes(bytes_sent="sent", bytes_received="received"),
)


def add_cluster_magic(session: Session) -> None:
    """Adds the magic; a cluster that it has started ends with the session."""
    options = options_of("%cluster", settings=_setting)
    started = _Started()
    session.on_stop(started.stop)
    add_line_magic(session, "cluster", options, lambda chosen: _answer(started, chosen))


class _Started:
    """The cluster that the magic has started, if any."""

    def __init__(self) -> None:
        self.cluster: distribute.LocalCluster | None = None

    def start(self, settings: Mapping[str, Any]) -> None:
        """Starts a cluster in place of the previous one, and connects to it."""
        self.stop()
        self.cluster = distribute.LocalCluster(**settings)
        config.experimental_connect_to_cluster(self.cluster)

    def stop(self) -> bool:
        """Ends the cluster; returns whether there was one."""
        cluster, self.cluster = self.cluster, None
        if cluster is not None:
            cluster.close()
        return cluster is not None


def _setting(text: str) -> tuple[str, Any]:
    name, separator, value = text.partition("=")
    if not separator or name not in (*_NUMBERS, *_TEXTS):
        raise ValueError(
            f"cannot read {text!r}. Expected {', '.join((*_NUMBERS, *_TEXTS))} with a value, such as worker=2"
        )
    if name in _TEXTS:
        return name, value
    if not (value.isascii() and value.isdigit()):
        raise ValueError(f"{name} is {value!r}. Expected a number, such as {name}=2")
    return name, int(value)


def _answer(started: _Started, chosen: argparse.Namespace) -> Any:
    if chosen.settings and chosen.action != "start":
        raise UsageError("%cluster: settings are only for start. Run %cluster -h for help.")
    if chosen.action == "stop":
        say("Cluster stopped. Its tensors are lost." if started.stop() else "%cluster has not started a cluster.")
        return None
    if chosen.action == "start":
        try:
            started.start(dict(chosen.settings))
        except (ImportError, ValueError, errors.OpError) as error:
            raise UsageError(f"%cluster start: {error}") from None
    return _status(started)


def _status(started: _Started) -> Table:
    tasks = runtime.cluster_tasks()
    rows = [
        {**task._asdict(), "state": "there" if task.lost is None else "lost", "process": str(task.pid or "")}
        | {"devices": [name.rpartition("/")[2] for name in task.devices]}
        for task in tasks
    ]
    notes = [] if started.cluster is None else [f"{started.cluster!r}: real processes on this computer."]
    if not tasks:
        notes.append("This notebook is not connected to a cluster. To start one: %cluster start worker=2 gpus=2")
    simulated = sum([device.simulated and "/" in device.name for device in runtime.devices()])
    if simulated:
        notes.append(f"Simulated by NumPy on the CPUs of tasks: {counted(simulated, 'GPU')}.")
    return Table(TASKS, rows, notes + [task.lost for task in tasks if task.lost])
