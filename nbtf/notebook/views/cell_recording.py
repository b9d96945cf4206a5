"""The events of one run of a cell, shown like a recording, and the part of it that a reader requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from nbtf import runtime
from nbtf.notebook.session import Session
from nbtf.notebook.stills.memory_pictures import memory_scenes_of_run

Span = tuple[float, float]
"""Start and end, in seconds."""


@dataclass(frozen=True)
class CellRecording:
    """A run of a cell, as its session recorded it."""

    session: Session
    run: runtime.Scene

    def snapshot(self) -> runtime.Snapshot:
        """Returns the events of the run, with totals of ops and copies."""
        recorder = self.session.recorder
        events = recorder.events_of(self.run)
        routes = Counter((event.source, event.target) for event in events if isinstance(event, runtime.Copied))
        executed = sum(isinstance(event, runtime.OpExecuted) for event in events)
        return recorder.snapshot(0)._replace(heard=len(events), events=events, executed=executed, copies=dict(routes))

    def memory(self, most: int | None = None) -> list[dict[str, Any]]:
        """Returns what a page needs to draw the memory of each simulated GPU in the run.

        Args:
          most: number of steps per device, counted from the last; None returns all.
        """
        return memory_scenes_of_run(self.session, self.run, most)

    def span(self, device: str, times: Span) -> Span | None:
        """Returns the span on the run's clock that covers a device's work between two times; None if it did nothing.

        Args:
          device: a short name.
          times: in seconds since the epoch.
        """
        works = list(_works(self.snapshot().events))
        origin = min((start for start, _ in works), default=0.0)
        scene_events = [
            (start - origin, start - origin + event.seconds)
            for start, event in works
            if times[0] <= event.time <= times[1] and device in _devices(event)
        ]
        return (min(start for start, _ in scene_events), max(end for _, end in scene_events)) if scene_events else None


def cell_recording(session: Session, times: Span | None = None) -> CellRecording | None:
    """Returns the run of a cell at some time, or the last run in which an op or a copy ran.

    Args:
      session: the session that recorded it.
      times: in seconds since the epoch; None for the last run.

    Returns:
      The run; None if nothing ran.
    """
    for run in reversed(session.recorder.scenes):
        works = list(_works(session.recorder.events_of(run)))
        if works and (times is None or works[0][1].time <= times[1]):
            return CellRecording(session, run)
    return None


def _works(events: Iterable[runtime.Event]) -> Iterator[tuple[float, runtime.OpExecuted | runtime.Copied]]:
    """Yields the ops and copies on the timeline's clock (see `schedule_of`), each with its start."""
    ran = [event for event in events if isinstance(event, runtime.OpExecuted | runtime.Copied)]
    is_modelled = any(event.start is not None for event in ran)
    for event in ran:
        if event.start is not None or not is_modelled:
            yield event.time - event.seconds if event.start is None else event.start, event


def _devices(event: runtime.OpExecuted | runtime.Copied) -> set[str]:
    names = (event.device,) if isinstance(event, runtime.OpExecuted) else (event.source, event.target)
    return {runtime.short_name(name) for name in names}
