"""A task: a process with devices that handles a controller's records strictly in order."""

from __future__ import annotations

import json
import os
import platform
import secrets
import socket
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from nbtf import errors
from nbtf._cluster.engine import Message, Peers
from nbtf._cluster.session import TaskSession
from nbtf._cluster.tables import Failure
from nbtf._devices.base import Device
from nbtf._devices.machines import Simulated
from nbtf._devices.names import LOCAL_TASK, full_name, task_name
from nbtf._locks import new_lock
from nbtf._ops.op import find_op
from nbtf._runtime.context import Context


def versions() -> dict[str, str]:
    """Returns the versions that must agree on both sides, so that an op means the same."""
    return {"nbtf": version("nbtf"), "NumPy": np.__version__, "Python": ".".join(platform.python_version_tuple()[:2])}


class Task:
    """A task that an engine hosts; see `engine.Host`.

    Its devices are those of this process or of a simulated machine, with names of the task.
    """

    def __init__(
        self,
        job: str,
        number: int,
        peers: Peers,
        machine: Simulated | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """Creates a task.

        Args:
          job: name of the job.
          number: number of the task within the job.
          peers: connections to other tasks.
          machine: simulated machine; by default the environment decides.
          environ: source of settings; `os.environ` by default.
        """
        self.name = task_name(job, number)
        self.incarnation = secrets.token_hex(8)
        self.peers = peers
        self._context = Context(machine, environ)
        self._context.configuration.is_announced = True  # the controlling program announces what is simulated
        self._devices: list[Device] = []
        self._sessions: dict[str, TaskSession] = {}
        self._lock = new_lock()

    @property
    def devices(self) -> list[Device]:
        """The devices, CPUs first; created for the first controller."""
        with self._lock:
            if not self._devices:
                _load_ops()
                self._devices = [
                    device for device in self._context.devices.by_name.values() if device.task == LOCAL_TASK
                ]
                for device in self._devices:
                    device.name, device.task = full_name(device.type, device.index, self.name), self.name
            return self._devices

    def describe(self) -> dict[str, Any]:
        """Returns the first message for a controller: versions, and the traits of the devices."""
        return {
            "incarnation": self.incarnation,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "versions": versions(),
            "devices": [_description(device) for device in self.devices],
        }

    def open(self) -> TaskSession:
        """Opens a session for a controller that has connected."""
        identifier = secrets.token_hex(8)
        session = TaskSession(self, identifier, self._sessions.pop)
        self._sessions[identifier] = session
        return session

    def serve(self, request: Message) -> Message:
        """Answers another task's request for a tensor: with values, a failure, or that it is not ready.

        A controller sends cancelled work and lost tasks here. A closed session has nothing to cancel.
        """
        request_fields: dict[str, Any] = json.loads(request.head)
        session = self._sessions.get(request_fields["session"])
        if "drop" in request_fields or "lost" in request_fields:
            if session is not None and "drop" in request_fields:
                session.drop(request_fields["drop"])
            elif session is not None:
                session.lose(request_fields["lost"], request_fields["why"])
            return Message(b"{}")
        if session is None:
            text = f"{self.name} has closed the session that had the tensor."
            return Message(json.dumps({"error": Failure(errors.AbortedError.__name__, text, of_cluster=True)}).encode())
        return session.lend(request_fields["number"], request_fields["seconds"])

    def close(self) -> None:
        """Closes all sessions and devices."""
        for session in list(self._sessions.values()):
            session.close()
        self._context.close()


def _load_ops() -> None:
    """Loads all ops in advance."""
    try:
        find_op("")
    except LookupError:
        return


def _description(device: Any) -> dict[str, Any]:
    card = getattr(device, "card", None)
    return {
        "type": device.type,
        "index": device.index,
        "simulated": device.simulated,
        "accounted": device.memory is not None,
        "exact": device.tells_pieces,
        "in_place": device.updates_in_place,
        "card": None if card is None else [*card[1:6], list(card.card)],
    }
