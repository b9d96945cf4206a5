"""The journal of an allocator: while it is kept, each piece granted, freed or refused is recorded in exact order.

An entry is written together with the change that it records, in one block that no interrupt divides; see `bfc.py`.
Entries wait until they are handed over. A free is recorded by the next operation, since no code runs when memory dies.

    subject, number, in use and pool afterwards, region, address, bytes charged, bytes requested, label

For a refusal, the region is None, and address and charge are the largest free piece and the limit. Entries have no
time of their own: each has the time of the note that follows it. All entries are stored in one flat list, because
waiting tuples would cost the garbage collector more time than the program needs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from nbtf._locks import Lock

Entry: TypeAlias = "tuple[Any, ...]"
ENTRY = 9
"""Number of list elements per entry."""
Entries: TypeAlias = "list[list[Any]]"
Box: TypeAlias = "Entries | deque[list[Any]]"
"""Where entries are delivered, in batches of those that were waiting."""


class Journal(NamedTuple):
    """The first fields of entries: a subject for each kind, and the numbers, which increase throughout the process."""

    granted: Any
    freed: Any
    refused: Any
    next_number: Callable[[], int]


class JournalKeeper:
    """An allocator that keeps a journal; its lock must be held to access the entries."""

    _lock: Lock
    _entries: list[Any]
    _changes = 0
    """Increases with each change of its lists; a change prepared before an increase is outdated."""

    def hand_over(self, boxes: Sequence[Box]) -> None:
        """Puts the entries recorded since the last call into boxes, after performing the pending frees."""
        with self._lock:
            self._do_frees()
            if not self._entries:
                return
            entries, are_out = self._entries, False
            try:
                self._changes, self._entries, are_out = self._changes + 1, [], True
                for box in boxes:
                    box.append(entries)
            except BaseException:  # an interrupt: each box still gets them once
                for box in boxes if are_out else ():
                    if not any([taken_down is entries for taken_down in tuple(box)]):
                        box.append(entries)
                raise

    def _do_frees(self) -> None:
        """Performs the pending frees in the order in which they arrived."""
        raise NotImplementedError
