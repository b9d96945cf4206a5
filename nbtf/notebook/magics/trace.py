"""How is a recording exported as a timeline? As events of the trace event format.

Source of the format: "Trace Event Format", the document of Chromium's trace viewer. Times are microseconds since the
first event. Modelled times, which are calculated and not measured, come from the modelled clock. Slices of one track
must not overlap, so a host that feeds several cards at once does so one after another here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbtf import runtime
from nbtf.notebook.views.steps import reason_in_words

PROCESS = 1
"""All tracks belong to one process. Its real number would differ from run to run."""

MODELLED = " (modelled time)"
_TRACES = "tf.function"
"""The track of traces."""


class _Timeline:
    """Tracks by device, filled event by event."""

    def __init__(
        self, devices: Sequence[runtime.DeviceInfo], code_line: Callable[[runtime.Site], str], began_at: float
    ):
        self.events: list[dict[str, Any]] = []
        self._labels = {device.name: device.label for device in devices}
        self._simulated = {device.name for device in devices if device.simulated}
        self._code_line, self._began = code_line, began_at
        self._tracks: dict[str, int] = {}
        self._free_from: dict[int, float] = {}
        self._waiting: dict[tuple[str, str, runtime.Site], list[runtime.OpPlaced]] = {}
        self._copies = 0

    def take(self, event: runtime.Event) -> None:
        """Adds an event."""
        if isinstance(event, runtime.OpPlaced):
            self._waiting.setdefault((event.op, event.device, event.site), []).append(event)
        elif isinstance(event, runtime.OpExecuted):
            placed = self._waiting.get((event.op, event.device, event.site))
            args = {"timing": event.timing} | (_explain(placed.pop()) if placed else {})
            modelled = event.timing == "modelled"
            self._slice(event.device, event.op, event, event.seconds, modelled, args)
        elif isinstance(event, runtime.Copied):
            self._copy(event)
        elif isinstance(event, runtime.Allocated | runtime.Freed):
            name = f"{self._label(event.device)} in use"
            self._add("C", name, event.device, self._at(event), args={"bytes": event.in_use})
        elif isinstance(event, runtime.Traced):
            args = {"arguments": event.arguments, "cause": event.cause, "differences": event.differences}
            args |= {"code": self._code_line(event.site)}
            self._add("i", f"trace {event.trace} of {event.function}", _TRACES, self._at(event), s="t", args=args)

    def finish(self) -> list[dict[str, Any]]:
        """Returns all events: the names of the tracks first, and ops that never finished as marks."""
        for placed in [event for waiting in self._waiting.values() for event in waiting]:
            self._add("i", f"{placed.op} did not finish", placed.device, self._at(placed), s="t", args=_explain(placed))
        names = [_name("process_name", 0, "nbtf")]
        names += [_name("thread_name", track, self._label(device)) for device, track in self._tracks.items()]
        return names + self.events

    def _copy(self, event: runtime.Copied) -> None:
        self._copies += 1
        ends = ((event.source, f"copy to {self._label(event.target)}", "s"), (event.target, "copy from ", "f"))
        for device, name, phase in ends:
            name = name if phase == "s" else name + self._label(event.source)
            start = self._slice(
                device, name, event, event.seconds, event.modelled, {"bytes": event.nbytes, "kind": event.kind}
            )
            binding = {} if phase == "s" else {"bp": "e"}
            self._add(phase, "copy", device, start, cat="copy", id=self._copies, **binding)

    def _slice(self, device: str, name: str, event: Any, seconds: float, modelled: bool, args: dict[str, Any]) -> float:
        """Adds a slice when its track is free; returns when it starts."""
        track = self._track(device)
        duration = seconds * 1e6
        begin = self._at(event) - (0.0 if modelled else duration) if event.start is None else event.start * 1e6
        free = self._free_from.get(track, 0.0)
        # On the modelled clock, an op without a duration has no start either.
        on_clock = runtime.short_name(device) in self._simulated
        start = free if on_clock and event.start is None else max(begin, free)
        self._free_from[track] = start + duration
        code = self._code_line(event.site)
        args = args | ({"code": code} if code else {}) | ({"node": event.node} if event.node else {})
        self._add("X", name + MODELLED if modelled else name, device, start, dur=duration, cat="op", args=args)
        return start

    def _add(self, phase: str, name: str, device: str, at: float, **fields: Any) -> None:
        self.events.append({"ph": phase, "name": name, "pid": PROCESS, "tid": self._track(device), "ts": at} | fields)

    def _at(self, event: runtime.Event) -> float:
        return max(0.0, (event.time - self._began) * 1e6)

    def _track(self, device: str) -> int:
        return self._tracks.setdefault(device, len(self._tracks) + 1)

    def _label(self, device: str) -> str:
        short = runtime.short_name(device)
        return self._labels.get(short, short)


def trace_events(
    events: Sequence[runtime.Event], devices: Sequence[runtime.DeviceInfo], code_line: Callable[[runtime.Site], str]
) -> list[dict[str, Any]]:
    """Returns a track for each device with its ops, an arrow for each copy, and the memory in use."""
    timeline = _Timeline(devices, code_line, min((event.time for event in events), default=0.0))
    for event in events:
        timeline.take(event)
    return timeline.finish()


def _explain(placed: runtime.OpPlaced) -> dict[str, str]:
    return {"why": reason_in_words(placed.op, placed.device, placed.reason)}


def _name(event_type: str, track: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": event_type, "pid": PROCESS, "tid": track, "args": {"name": name}}
