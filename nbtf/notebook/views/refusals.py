"""What did a device's memory look like when a request failed? Shown from the failure until the next cell begins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nbtf import runtime
from nbtf.notebook.device_names import short
from nbtf.notebook.session import Session
from nbtf.notebook.stills.memory_pictures import MOST_LIVE_EVENTS, memory_scene_at

Address = tuple[str, int, int]
"""Device, region and offset of a piece."""

Holder = tuple[object, str | None]
"""The label of a piece when its holder was searched, and the name that was found."""


class Refusals:
    """The last failed request of each device in the running cell, or in the last one."""

    def __init__(self, session: Session) -> None:
        """Starts without any."""
        self._session = session
        self._last: dict[str, runtime.Refused] = {}
        self._scenes: dict[str, tuple[object, dict[str, Any] | None]] = {}
        self._earlier = 0
        """Number of the last event before the cell began."""

    @property
    def devices(self) -> list[str]:
        """Short names of the devices on which a request failed."""
        return list(self._last)

    def forget(self) -> None:
        """Forgets all, because a cell begins."""
        events = self._session.recorder.snapshot(1).events
        self._last, self._scenes, self._earlier = {}, {}, events[-1].seq if events else 0

    def take(self, events: Iterable[runtime.Event]) -> None:
        """Notes the failed requests among events."""
        for event in events:
            if isinstance(event, runtime.Refused) and event.seq > self._earlier:
                self._last[short(event.device)] = event

    def look(self) -> None:
        """Notes the failed requests of the cell that ends, even if many events followed them."""
        recorder = self._session.recorder
        if recorder.scenes and recorder.snapshot(0).heard <= MOST_LIVE_EVENTS:
            run = recorder.scenes[-1]
            changes = recorder.snapshot()._replace(events=recorder.events_of(run)).memory()
            self.take(event for events in changes.values() for event in events)

    def scene(self, device: str, holders: Mapping[Address, Holder]) -> dict[str, Any] | None:
        """Returns the data of a device's memory plane up to its last failed request; None if there was none.

        Args:
          device: short name of the device.
          holders: what holds each piece, as far as it was searched.
        """
        refused = self._last.get(device)
        if refused is None:
            return None
        key = refused.seq, id(holders)
        if self._scenes.get(device, (None, None))[0] != key:
            self._scenes[device] = key, self._new_scene(device, refused, holders)
        return self._scenes[device][1]

    def _new_scene(
        self, device: str, refused: runtime.Refused, holders: Mapping[Address, Holder]
    ) -> dict[str, Any] | None:
        def names(regions: Sequence[Any]) -> dict[tuple[int, int], str]:
            named: dict[tuple[int, int], str] = {}
            for region in regions:
                for chunk in region.chunks:
                    label, name = holders.get((device, region.region, chunk.offset), (None, ""))
                    if chunk.in_use and name and label == chunk.label:
                        named[region.region, chunk.offset] = name
            return named

        scene = memory_scene_at(self._session, refused, names)
        return None if scene is None else {"seq": refused.seq, **scene}
