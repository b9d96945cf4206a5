"""What does a recording contain that was read from a file? The same as a new one, without its machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from nbtf._counts import counted
from nbtf._devices.names import short_name
from nbtf._record.events import Event
from nbtf._record.recorder import Recorder
from nbtf._record.totals import Snapshot


class RecordedDevice(NamedTuple):
    """A device of the machine that made a recording; `limit` is its memory in bytes, 0 if the file does not say."""

    name: str
    limit: int = 0
    simulated: bool = False
    model: str = ""


class OpenedRecording:
    """A recording that was read from a file; its devices need not exist here.

    Attributes:
      source: name of the file.
      devices: devices of the machine that made it.
      maps: each device's `memory_map` from before the first event, by full name.
    """

    def __init__(
        self,
        source: str,
        events: Iterable[Event] | Recorder,
        devices: Sequence[RecordedDevice] = (),
        maps: Mapping[str, Sequence[Any]] | None = None,
    ) -> None:
        """Stores events in order.

        Args:
          source: name of the file.
          events: the events, or a recorder that contains them.
          devices: devices of the machine that made the recording.
          maps: each device's `memory_map` from before the first event, by full name.

        Raises:
          TypeError: if `events` has something else than events.
        """
        self.source: str = source
        self.devices: tuple[RecordedDevice, ...] = tuple(devices)
        self.maps: dict[str, Sequence[Any]] = dict(maps or {})
        self._recorder = events if isinstance(events, Recorder) else Recorder()
        if not isinstance(events, Recorder):
            sequence: Iterable[Any] = events
            for event in sequence:
                if not isinstance(event, Event):
                    raise TypeError(f"`events` must be events or a recorder. Got {event!r}.")
                self._recorder(event)

    def __repr__(self) -> str:
        """Returns the file's name and the number of ops and copies."""
        totals = self.snapshot(0)
        copies = sum(totals.copies.values())
        return f"{self.source}: {counted(totals.executed, 'op')}, {counted(copies, 'copy', 'copies')}"

    def snapshot(self, last: int | None = None) -> Snapshot:
        """Returns the totals and the last events."""
        return self._recorder.snapshot(last)

    @property
    def recorder(self) -> Recorder:
        """The recorder that contains the events."""
        return self._recorder

    @property
    def events(self) -> Sequence[Event]:
        """The events, oldest first."""
        return self.snapshot().events

    def regions_before(self, device: str = "GPU:0") -> tuple[Any, ...]:
        """Returns the `memory_map` of a device before the first event; empty if it was not in use.

        Args:
          device: its full or its short name.
        """
        maps = [regions for name, regions in self.maps.items() if short_name(name) == short_name(device)]
        return tuple(maps[0]) if maps else ()
