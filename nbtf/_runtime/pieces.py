"""What an allocator's journal says, as events; see `nbtf/_devices/journal.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Protocol, TypeAlias, cast

from nbtf._devices.base import Label, describe_label
from nbtf._devices.journal import ENTRY, Entry, Journal
from nbtf._devices.sites import NOWHERE, Site
from nbtf._runtime.events import Allocated, Event, Freed, Refused
from nbtf._runtime.notes import next_number
from nbtf._runtime.subjects import Place, place_of

SCRATCH = "scratch"


class NamedMemory(Protocol):
    """A device, or what stands for it where a library's allocator keeps the journal."""

    @property
    def name(self) -> str:
        """Its full name."""
        ...


class PieceSubject:
    """What entries about the pieces of a device's memory begin with: which of the events they are."""

    __slots__ = ("_new", "holder", "library", "sample")

    memory, lanes = None, None

    def __init__(self, event: type[Allocated | Freed], device: NamedMemory, library: str) -> None:
        """Says what happened, where, and whose allocator says so."""
        self._new: Callable[[Any], Event] = partial(cast("Any", tuple).__new__, event)
        self.holder, self.library = device.name, library
        self.sample: list[Event] = [event(device.name, 0, 0, 0, 0, 0.0, library=library)]

    def event(self, entry: Entry, now: float) -> Event:
        """Returns the event."""
        _, number, in_use, pool, region, address, size, requested, label = entry
        site_fields, holder, own_label = _origin(label)
        location = region.number, address - region.address, size, region.size
        return self._new(
            (
                self.holder,
                requested,
                in_use,
                pool,
                number,
                now,
                *site_fields,
                *location,
                own_label,
                holder,
                self.library,
            )
        )


class RefusalSubject:
    """What an entry about a refused request begins with."""

    __slots__ = ("holder", "library", "sample")

    memory, lanes = None, None

    def __init__(self, device: NamedMemory, library: str) -> None:
        """Says where, and whose allocator says so."""
        self.holder, self.library = device.name, library
        self.sample: list[Event] = [Refused(device.name, 0, 0, 0, 0, 0, 0, 0.0, library=library)]

    def event(self, entry: Entry, now: float) -> Event:
        """Returns the event."""
        _, number, in_use, pool, _, largest, limit, requested, label = entry
        site_fields, holder, own_label = _origin(label)
        return Refused(
            self.holder,
            requested,
            in_use,
            pool,
            largest,
            limit,
            number,
            now,
            *site_fields,
            label=own_label,
            holder=holder,
            library=self.library,
        )


def journal_of(device: NamedMemory, library: str = "") -> Journal:
    """Returns the journal of a device's memory, as nbtf's allocator keeps it or that of a library."""
    granted, freed = (PieceSubject(event, device, library) for event in (Allocated, Freed))
    return Journal(granted, freed, RefusalSubject(device, library), next_number)


def entries_of(flat_entries: list[Any]) -> Iterator[Entry]:
    """Yields the entries that stand behind each other in a list."""
    columns = [iter(flat_entries)] * ENTRY
    return zip(*columns, strict=True)


def is_reported(entry: Entry) -> bool:
    """Tells whether functions hear of an entry: not of what they cause themselves, whose line nobody looks up."""
    label = entry[-1]
    return isinstance(label, Label) and (label.site is not None or is_scratch(entry))


def is_scratch(entry: Entry) -> bool:
    """Tells whether an entry is about TensorFlow's own buffer, which no op asks for."""
    return isinstance(entry[-1], Label) and entry[-1].op == SCRATCH


_Origin: TypeAlias = "tuple[Place, str, Label | None]"
_ORIGINS: dict[int, tuple[object, _Origin]] = {}
_REMEMBERED = 4096


def _origin(label: object) -> _Origin:
    """Returns place and kind of holder of what has a label, and the label with file and line."""
    entry = _ORIGINS.get(id(label))
    if entry is None or entry[0] is not label:
        if len(_ORIGINS) >= _REMEMBERED:
            _ORIGINS.clear()
        entry = _ORIGINS[id(label)] = label, _new_origin(label)
    return entry[1]


def site_of_label(label: object) -> Site:
    """Returns the line that has asked for what has a label."""
    return _origin(label)[0][0]


def _new_origin(label: object) -> _Origin:
    if not isinstance(label, Label):
        return (None, None, None, "", ""), NOWHERE.holder, None
    site = label.site
    own_label = cast("Label", describe_label(label))
    if site is None or len(site) == 2:
        return (site, None, None, "", ""), NOWHERE.holder, own_label
    return place_of(site), site[2].holder, own_label
