"""`%%device` and `%device`: where do the ops of a cell, or of the session, run?"""

from __future__ import annotations

import html
from typing import Any

from nbtf import runtime
from nbtf._counts import counted
from nbtf._displayed import Displayed
from nbtf.notebook.device_names import AUTO, full_name, label, require, short
from nbtf.notebook.library_watch import library_watch_of
from nbtf.notebook.magics.cell_magics import CellMagics, add_line_magic
from nbtf.notebook.magics.library_devices import also_on, library_names
from nbtf.notebook.magics.options import options_of
from nbtf.notebook.magics.placement_log import Printer
from nbtf.notebook.session import Ending, Session, Undo, say
from nbtf.notebook.usage_error import UsageError


def add_device_magics(session: Session, cells: CellMagics, printer: Printer) -> None:
    """Adds both magics."""
    of_cell = options_of("%%device", spec=full_name, also=library_names)
    cells.add("device", of_cell, lambda chosen: _begin(session, printer, chosen))

    add_line_magic(session, "device", options_of("%device", spec=_spelt), lambda chosen: _device(session, chosen.spec))


# %%device


def _begin(session: Session, printer: Printer, chosen: Any) -> None:
    soft = True if chosen.soft else False if chosen.hard else None
    require(chosen.spec, soft, "Leave out --hard to fall back." if chosen.hard else "Add --soft to fall back.")
    if chosen.also:
        try:
            session.at_end_of_cell(Ending(also_on(chosen.spec, chosen.also)))
        except ValueError as error:
            raise UsageError(f"%%device: {error}") from error
    session.at_end_of_cell(Ending(_sent_to(session, chosen.spec)))
    if soft is not None:
        session.at_end_of_cell(Ending(session.soft_placement(soft)))
    if chosen.log or chosen.summary:
        library_watch_of(session).of_cell()
    if chosen.log:
        session.at_end_of_cell(Ending(printer.start()))
    if chosen.summary:
        session.record_cell(lambda record, _: say(_summary(record)))


def _sent_to(session: Session, name: str | None) -> Undo:
    depth = len(session.cell_devices)
    stop = _automatic() if name is None else runtime.cell_device(name)
    session.cell_devices.append(name)

    def undo() -> None:
        del session.cell_devices[depth:]
        stop()

    return undo


def _automatic() -> Undo:
    """Suspends the session's default device."""
    previous = runtime.get_default_device()
    runtime.set_default_device(None)

    def undo() -> None:
        if runtime.get_default_device() is None:  # otherwise the cell has set another one
            runtime.set_default_device(previous)

    return undo


def _summary(record: runtime.Recording) -> str:
    counts: dict[str, int] = {}
    snapshot = record.snapshot(0)
    for (_, device, _), count in snapshot.ops.items():
        counts[device] = counts.get(device, 0) + count
    memory = {use.device: f", {use.kept:+,} B (peak {runtime.exact(use.peak)})" for use in record.memory}
    sentences = [
        f"{label(device)}: {counted(count, 'op')}{memory.get(short(device), '')}"
        for device, count in sorted(counts.items())
    ]
    copies = sum(snapshot.moves.values())
    nbytes = runtime.exact(sum(snapshot.moved_bytes.values()))
    copies_text = f"{counted(copies, 'copy', 'copies')}, {nbytes}" if copies else "no copies"
    return "; ".join([*(sentences or ["no ops"]), copies_text])


# %device


class CurrentDevice(Displayed):
    """The device for ops outside any `with tf.device`, and the reason."""

    def __init__(self, name: str, reason: str, naming: str | None = None) -> None:
        """Stores the full name, the reason as text, and for a real card all its names."""
        self.name: str = name
        self.why: str = reason
        self.naming: str | None = naming

    def to_dict(self) -> dict[str, str]:
        """Returns name, label and reason as plain values, and all names of a real card."""
        fields = {"device": self.name, "label": label(self.name), "why": self.why}
        return fields if self.naming is None else fields | {"naming": self.naming}

    def __repr__(self) -> str:
        """Returns one line."""
        return f"{self.naming or label(self.name)}: {self.why}"

    def _repr_html_(self) -> str:
        """Returns one paragraph."""
        return f"<p>{html.escape(repr(self))}</p>"


def _spelt(text: str) -> tuple[str, str | None]:
    return text, full_name(text)


def _device(session: Session, spec: tuple[str, str | None] | None) -> CurrentDevice | None:
    if spec is None:
        return _current(session)
    name = spec[1]
    require(name, None, "tf.config.set_soft_device_placement(True) lets ops fall back.")
    previous = runtime.get_default_device()
    runtime.set_default_device(name)
    naming = None if name is None else _naming(session, name)
    say(f"default device: {_name_of(name)} (was {_name_of(previous)}){f'; {naming}' if naming else ''}")
    names = [device.name for device in runtime.devices()]
    if name is not None and short(name) not in names:
        gpus = [device for device in names if device.startswith("GPU")]
        say(f"{short(name)} is not available: ops will run on {label((*gpus, 'CPU:0')[0])} instead (soft placement).")
    return None


def _name_of(name: str | None) -> str:
    return AUTO if name is None else label(name)


def _naming(session: Session, name: str) -> str | None:
    """Returns all names of a real card; None for other devices."""
    devices = [device for device in runtime.devices() if device.name == short(name)]
    return session.cards.numbered(devices[0]).naming if devices else None


def _current(session: Session) -> CurrentDevice:
    name, reason = _chosen(session)
    return CurrentDevice(name, reason, _naming(session, name))


def _chosen(session: Session) -> tuple[str, str]:
    of_cell = session.cell_devices[-1] if session.cell_devices else None
    default = runtime.get_default_device()
    if of_cell is not None:
        return of_cell, "asked for by this cell"
    if default is not None:
        return default, "the default device of this session"
    gpus = [device.name for device in runtime.devices() if device.device_type == "GPU" and "/" not in device.name]
    if gpus:
        return full_name(gpus[0]) or "", "automatic, the lowest-numbered GPU"
    return full_name("CPU:0") or "", "automatic, no GPU available"
