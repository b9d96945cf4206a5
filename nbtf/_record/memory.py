"""Memory entries of the log: what an allocator's journal recorded, as events; see `nbtf/_devices/journal.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol, TypeAlias, cast

from nbtf._devices.base import Label, describe_label
from nbtf._devices.journal import ENTRY, Entry, Journal
from nbtf._devices.sites import NOWHERE, Site
from nbtf._record.events import Allocated, Event, Freed, Refused
from nbtf._record.rows import Place, next_number, place_of

SCRATCH = "scratch"


class NamedMemory(Protocol):
    """A device, or a substitute for it if a library's allocator writes the journal."""

    @property
    def name(self) -> str:
        """Its full name."""
        ...


class PieceSubject:
    """Subject of a journal's entries of one sort: pieces allocated, pieces freed, or requests refused."""

    __slots__ = ("_event", "_new", "holder", "library")
    lanes, count, is_entry = None, 1, True

    def __init__(self, event: type[Allocated | Freed | Refused], device: NamedMemory, library: str) -> None:
        """Stores the event class, the device and the library of the allocator."""
        self._event: Any = event
        self._new: Callable[[Any], Event] = partial(cast("Any", tuple).__new__, event)
        self.holder, self.library = device.name, library

    @property
    def is_request(self) -> bool:
        """Whether a program line caused the entries; memory may be freed at any time."""
        return self._event is not Freed

    @property
    def sample(self) -> Sequence[Event]:
        """An event equal to those of all entries, except for sizes, numbers, times and call sites."""
        figures: Any = [0] * (6 if self._event is Refused else 4)
        return [cast("Any", self._event)(self.holder, *figures, 0.0, library=self.library)]

    def event(self, entry: Entry, now: float) -> Event:
        """Returns the event of an entry."""
        _, number, in_use, pool, region, address, size, requested, label = entry
        site_fields, holder, own_label = _origin(label)
        account = self.holder, requested, in_use, pool
        if region is None:  # a refusal has the largest free piece and the limit in these fields
            return self._new((*account, address, size, number, now, *site_fields, own_label, holder, self.library))
        location = region.number, address - region.address, size, region.size
        return self._new((*account, number, now, *site_fields, *location, own_label, holder, self.library))


def journal_of(device: NamedMemory, library: str = "") -> Journal:
    """Returns the journal of a device's memory, written by nbtf's allocator or by a library's."""
    granted, freed, refused = (PieceSubject(event, device, library) for event in (Allocated, Freed, Refused))
    return Journal(granted, freed, refused, next_number)


def entries_of(flat_entries: list[Any]) -> Iterator[Entry]:
    """Yields the entries of a flat list."""
    columns = [iter(flat_entries)] * ENTRY
    return zip(*columns, strict=True)


def is_reported(entry: Entry) -> bool:
    """Returns whether observer functions receive an entry: not if an observer itself caused it."""
    label = entry[-1]
    return isinstance(label, Label) and (label.site is not None or is_scratch(entry))


def is_scratch(entry: Sequence[Any]) -> bool:
    """Returns whether an entry is about TensorFlow's scratch buffer, which no op requests."""
    return isinstance(entry[-1], Label) and entry[-1].op == SCRATCH


_Origin: TypeAlias = "tuple[Place, str, Label | None]"
_ORIGINS: dict[int, tuple[object, _Origin]] = {}
_REMEMBERED = 4096


def _origin(label: object) -> _Origin:
    """Returns the place and the holder kind of a labelled piece, and its label with file and line."""
    entry = _ORIGINS.get(id(label))
    if entry is None or entry[0] is not label:
        if len(_ORIGINS) >= _REMEMBERED:
            _ORIGINS.clear()
        entry = _ORIGINS[id(label)] = label, _new_origin(label)
    return entry[1]


def site_of_label(label: object) -> Site:
    """Returns the program line that requested a labelled piece."""
    return _origin(label)[0][0]


def _new_origin(label: object) -> _Origin:
    if not isinstance(label, Label):
        return (None, None, None, "", ""), NOWHERE.holder, None
    site = label.site
    own_label = cast("Label", describe_label(label))
    if site is None or len(site) == 2:
        return (site, None, None, "", ""), NOWHERE.holder, own_label
    return place_of(site), site[2].holder, own_label
