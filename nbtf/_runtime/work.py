"""What ran in a recording, for readers of a million ops: columns of numbers, and each kind of op or copy once."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import dropwhile
from math import nan
from typing import NamedTuple

from nbtf._runtime.batches import Batch
from nbtf._runtime.events import Copied, Event, OpExecuted, OpPlaced, Reason
from nbtf._runtime.notes import MORE, NUMBER, SECONDS, SUBJECT, TIME, WHERE
from nbtf._runtime.subjects import OpSubject


class Fact(NamedTuple):
    """What many ops or copies have in common: an event as told of the first of them, and why it ran there.

    Of an op that failed the event is the last that was told of it, `OpPlaced`.
    """

    event: OpExecuted | Copied | OpPlaced
    reason: Reason | None


class Work(NamedTuple):
    """Ops that ran and copies, in the order of their events; of each its number, times in seconds, and kind.

    `start` is as in the event, nan where time is measured; `fact` is a position in `facts`.
    """

    facts: tuple[Fact, ...]
    seq: array[int]
    start: array[float]
    seconds: array[float]
    time: array[float]
    fact: array[int]


class _Columns:
    """Columns that grow."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self.rows: list[tuple[int, float, float, float, int]] = []
        self._positions: dict[tuple[int, int], list[int]] = {}
        self._kept: list[object] = []  # what has its address in a key

    def take(self, batch: Batch, first: int) -> None:
        """Adds what ran in a batch from a number on."""
        for note, start in dropwhile(lambda timed: timed[0][NUMBER] < first, batch.timed_notes()):
            subject, call_site, side_numbers = note[SUBJECT], note[WHERE], note[MORE]
            key = id(subject), id(call_site)
            facts = self._positions.get(key)
            if facts is None or (side_numbers is not None and side_numbers[0]):
                self._take_events(subject, key, subject.events(note, start), facts)
                self._kept += (subject, call_site)
            elif facts:
                seconds = note[SECONDS] if subject.lanes is None else subject.lanes[1]
                number = note[NUMBER] - 1 if subject.is_copy else note[NUMBER]
                self.rows.append((number, nan if start is None else start, seconds, note[TIME], facts[-1]))

    def _take_events(
        self, subject: object, key: tuple[int, int], events: Sequence[Event], facts: list[int] | None
    ) -> None:
        """Adds the events of a note of which there was none yet, or which tell of constants, too."""
        reason: Reason | None = None
        positions: list[int] = []
        for event in events:
            if isinstance(event, OpPlaced):
                reason = event.reason
            elif isinstance(event, OpExecuted | Copied):
                if facts is None or len(positions) >= len(facts):
                    positions.append(len(self.facts))
                    self.facts.append(Fact(event, reason))
                else:
                    positions.append(facts[len(positions)])
                start = nan if event.start is None else event.start
                self.rows.append((event.seq, start, event.seconds, event.time, positions[-1]))
        if isinstance(subject, OpSubject) and isinstance(events[-1], OpPlaced):
            self.rows.append((events[-1].seq, nan, 0.0, events[-1].time, len(self.facts)))
            self.facts.append(Fact(events[-1], reason))
        self._positions[key] = positions


def work_of(batches: Sequence[Batch], first: int) -> Work:
    """Returns what ran from an event with the number `first` on."""
    columns = _Columns()
    for batch in batches:
        columns.take(batch, first)
    rows = sorted(row for row in columns.rows if row[0] >= first)
    seq, start, seconds, time, fact = zip(*rows, strict=True) if rows else ((), (), (), (), ())
    times = array("d", start), array("d", seconds), array("d", time)
    return Work(tuple(columns.facts), array("q", seq), *times, array("I", fact))
