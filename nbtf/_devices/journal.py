"""What an allocator takes down while somebody listens: each piece that it grants, frees or refuses, in exact order.

An entry is written together with the change that it tells of, in one block that no interrupt divides; see `bfc.py`. It
waits until it is handed to whoever listens: a free is told by the next look, since nobody runs when memory dies.

    subject, number, in use and pool afterwards, region, address, bytes charged, bytes asked for, label

Of what was refused, the region is None, and the largest free piece and the limit stand for address and charge. Nobody
looks at a clock here: an entry has the time of the note that follows it. All entries stand in one list, behind each
other: tuples that wait would cost the garbage collector more than the program.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from nbtf._locks import Lock

Entry: TypeAlias = "tuple[Any, ...]"
ENTRY = 9
"""So much stands in an entry."""
Entries: TypeAlias = "list[list[Any]]"
Box: TypeAlias = "Entries | deque[list[Any]]"
"""Where entries go, as many at a time as have waited."""


class Journal(NamedTuple):
    """What entries begin with: a subject for each kind of them, and their numbers, which grow in the process."""

    granted: Any
    freed: Any
    refused: Any
    next_number: Callable[[], int]


class JournalKeeper:
    """An allocator that keeps a journal; whoever touches what it has taken down holds its lock."""

    _lock: Lock
    _entries: list[Any]
    _changes = 0
    """Grows with each change of its lists: what was got ready before counts no longer."""

    def hand_over(self, boxes: Sequence[Box]) -> None:
        """Puts what was taken down since the last time into boxes; the frees that wait are done before."""
        with self._lock:
            self._do_frees()
            if not self._entries:
                return
            entries, are_out = self._entries, False
            try:
                self._changes, self._entries, are_out = self._changes + 1, [], True
                for box in boxes:
                    box.append(entries)
            except BaseException:  # an interrupt: each box gets them once
                for box in boxes if are_out else ():
                    if not any([taken_down is entries for taken_down in tuple(box)]):
                        box.append(entries)
                raise

    def _do_frees(self) -> None:
        """Does the frees that are waiting, in the order in which they came."""
        raise NotImplementedError
