"""The times at which program lines ran, in columns of numbers: for a million events, each line is stored once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np

from nbtf._devices.sites import NO_PLACE, Site
from nbtf._runtime.batches import Batch
from nbtf._runtime.events import Event, Freed
from nbtf._runtime.notes import FIRST, NUMBER, SUBJECT, WHERE
from nbtf._runtime.pieces import site_of_label
from nbtf._runtime.subjects import place_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

Integers: TypeAlias = "NDArray[np.int64]"


class Lines(NamedTuple):
    """Event numbers in order, and the line that caused each event, as an index into `sites`.

    Ops have the numbers of their start and end. Events that free memory have no line, because it is unknown.

    >>> with tf.runtime.recording() as record:
    ...     c = tf.add(1.0, 2.0)
    >>> lines = record.snapshot().lines()
    >>> len(lines.seq), len(lines.sites)
    (6, 1)
    """

    seq: Integers
    position: Integers
    sites: tuple[Site, ...]

    @property
    def changes(self) -> Integers:
        """The numbers of events whose line differs from that of the previous event.

        >>> with tf.runtime.recording() as record:
        ...     c = tf.add(1.0, 2.0)
        >>> lines = record.snapshot().lines()
        >>> bool(lines.changes[0] == lines.seq[0])
        True
        """
        return self.seq[np.flatnonzero(np.diff(self.position, prepend=-1))]

    def neighbours(self, seq: Sequence[int]) -> list[tuple[Site, Site]]:
        """Returns, for each number, the line of the last event before it and of the first event after it.

        >>> with tf.runtime.recording() as record:
        ...     c = tf.add(1.0, 2.0)
        >>> lines = record.snapshot().lines()
        >>> [(earlier, following)] = lines.neighbours([lines.seq[0]])
        >>> earlier is None, following == lines.sites[0]
        (True, True)
        """
        sites, rows = (None, *self.sites, None), self.seq.searchsorted(seq)
        positions = np.concatenate([[-1], self.position, [len(self.sites)]]) + 1
        pairs = zip(positions[rows].tolist(), positions[rows + 1].tolist(), strict=True)
        return [(sites[first], sites[second]) for first, second in pairs]


def lines_of(batches: Iterable[Batch]) -> Lines:
    """Returns the lines of notes and journal entries."""
    numbers: dict[Site, int] = {None: 0}
    seq: list[int] = []
    lines: list[int] = []
    for batch in batches:
        notes = batch.note_rows()
        pairs = zip(notes[SUBJECT], notes[WHERE], strict=True)
        owners = [subject if call_site is NO_PLACE else call_site for subject, call_site in pairs]
        sites = {id(owner): _site(owner) for owner in {id(owner): owner for owner in owners}.values()}
        seq += notes[FIRST]
        seq += notes[NUMBER]
        lines += [numbers.setdefault(sites[id(owner)], len(numbers)) for owner in owners] * 2
        requests, labels = batch.requests()
        sites = {id(label): site_of_label(label) for label in {id(label): label for label in labels}.values()}
        seq += requests
        lines += [numbers.setdefault(sites[id(label)], len(numbers)) for label in labels]
    return _in_order(seq, lines, [*numbers])


def lines_of_events(events: Iterable[Event]) -> Lines:
    """Returns the lines of events."""
    numbers: dict[Site, int] = {None: 0}
    rows = [
        (event.seq, numbers.setdefault(event.site, len(numbers))) for event in events if not isinstance(event, Freed)
    ]
    return _in_order([seq for seq, _ in rows], [line for _, line in rows], [*numbers])


def _in_order(seq: list[int], lines: list[int], sites: list[Site]) -> Lines:
    """Returns the entries that have a line, sorted by number."""
    numbers, positions = np.array(seq, np.int64), np.array(lines, np.int64)
    rows = np.flatnonzero(positions)
    rows = rows[numbers[rows].argsort(kind="stable")]
    return Lines(numbers[rows], positions[rows] - 1, tuple(sites[1:]))


def _site(owner: Any) -> Site:
    """Returns the line of a call site, or of an event that was created elsewhere."""
    if isinstance(owner, tuple):
        return place_of(cast("Any", owner))[0]
    events: Sequence[Event] = owner.sample
    return next((event.site for event in events if not isinstance(event, Freed)), None)
