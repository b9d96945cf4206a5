"""What an allocator's journal says, as events; see `nbtf/_devices/journal.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nbtf._devices.base import Device, Label, describe_label
from nbtf._devices.journal import ENTRY, Entry, Journal
from nbtf._devices.sites import NOWHERE, Part, Site
from nbtf._runtime.events import Allocated, Event, Freed, Refused
from nbtf._runtime.notes import next_number
from nbtf._runtime.subjects import place_of

SCRATCH = "scratch"


class PieceSubject:
    """What entries about the pieces of a device's memory begin with: which of the events they are."""

    __slots__ = ("_event", "holder", "sample")

    memory, lanes = None, None

    def __init__(self, event: type[Allocated | Freed], device: Device) -> None:
        """Says what happened, and where."""
        self._event, self.holder = event, device.name
        self.sample: list[Event] = [event(device.name, 0, 0, 0, 0, 0.0)]

    def event(self, entry: Entry, now: float) -> Event:
        """Returns the event."""
        _, number, in_use, pool, region, address, size, requested, label = entry
        site, node, replica, phase, layer, holder = _origin(label)
        return self._event(
            device=self.holder,
            nbytes=requested,
            in_use=in_use,
            pool=pool,
            seq=number,
            time=now,
            site=site,
            node=node,
            replica=replica,
            phase=phase,
            layer=layer,
            region=region.number,
            offset=address - region.address,
            size=size,
            region_size=region.size,
            label=_label(label),
            holder=holder,
        )


class RefusalSubject:
    """What an entry about a refused request begins with."""

    __slots__ = ("holder", "sample")

    memory, lanes = None, None

    def __init__(self, device: Device) -> None:
        """Says where."""
        self.holder = device.name
        self.sample: list[Event] = [Refused(device.name, 0, 0, 0, 0, 0, 0, 0.0)]

    def event(self, entry: Entry, now: float) -> Event:
        """Returns the event."""
        _, number, in_use, pool, _, largest, limit, requested, label = entry
        *_, holder = origin = _origin(label)
        place, own = origin[:5], _label(label)
        return Refused(
            self.holder, requested, in_use, pool, largest, limit, number, now, *place, label=own, holder=holder
        )


def journal_of(device: Device) -> Journal:
    """Returns the journal of a device's memory."""
    return Journal(PieceSubject(Allocated, device), PieceSubject(Freed, device), RefusalSubject(device), next_number)


def entries_of(taken: list[Any]) -> Iterator[Entry]:
    """Yields the entries that stand behind each other in a list."""
    columns = [iter(taken)] * ENTRY
    return zip(*columns, strict=True)


def is_reported(entry: Entry) -> bool:
    """Tells whether functions hear of an entry: not of what they cause themselves, whose line nobody looks up."""
    label = entry[-1]
    return isinstance(label, Label) and (label.site is not None or is_scratch(entry))


def is_scratch(entry: Entry) -> bool:
    """Tells whether an entry is about TensorFlow's own buffer, which no op asks for."""
    return isinstance(entry[-1], Label) and entry[-1].op == SCRATCH


def _label(label: object) -> Label | None:
    label = describe_label(label)
    return label if isinstance(label, Label) else None


def _origin(label: object) -> tuple[Site, str | None, int | None, str, str, str]:
    """Returns place and kind of holder of what has a label."""
    where = label.site if isinstance(label, Label) else None
    if where is None or len(where) == 2:
        return (where, None, None, "", "", NOWHERE.holder)
    part: Part = where[2]
    return (*place_of(where), part.holder)
