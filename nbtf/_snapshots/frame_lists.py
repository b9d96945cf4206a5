"""Which list of frames do these bytes of a pickle build? Equal bytes build equal lists.

This holds because stored objects do not change: `PickleReader` refuses pickles that change one.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nbtf._snapshots.event_shapes import MEMOIZE
from nbtf._snapshots.excerpts import MOST_WORDS, PUT, words

_FACTORS = np.random.Generator(np.random.PCG64(7)).integers(1, 1 << 63, MOST_WORDS, np.uint64) * np.uint64(
    2
) + np.uint64(1)
_MAX_BYTES = 1 << 26
"""Bytes of different lists that are kept for comparison; others are read by their opcodes each time."""


class _SameLength:
    """Known lists of one length, as rows of 8-byte words, sorted by a checksum."""

    def __init__(self) -> None:
        self.data: list[bytes] = []
        self.numbers: list[int] = []
        self.rows = self.sums = np.zeros(0, np.uint64)
        self.order = np.zeros(0, np.int64)

    def sort(self, width: int) -> None:
        """Prepares the comparison with lists that were added."""
        if len(self.rows) == len(self.data):
            return
        joined = b"".join(data.ljust(8 * width, b"\0") for data in self.data)
        rows = np.frombuffer(joined, np.uint64).reshape(-1, width)
        sums = _checksums(rows)
        order = np.argsort(sums)
        self.rows, self.sums = rows[order], sums[order]
        self.order = np.array(self.numbers)[order]


class FrameLists:
    """The lists of frames of a pickle that were read by their opcodes, by their bytes, and where each is stored."""

    UNKNOWN: ClassVar[int] = -2

    def __init__(self) -> None:
        """Begins without lists."""
        self._numbers: dict[bytes, int] = {}
        self._by_length: dict[int, _SameLength] = {}
        self._nbytes = 0
        self._stacks: list[int] = []
        self._stacks_array = np.zeros(0, np.int32)
        self._counts: list[int] = []
        self._firsts: list[int] = []
        self._stored_at = np.zeros(1024, np.int64)
        self._stored_number = np.zeros(1024, np.int64)
        self._length = 0

    def learn(self, data: bytes, stack: int, count: int, first: int) -> None:
        """Learns a list that was read by its opcodes.

        Args:
          data: its bytes, as in an excerpt.
          stack: number of its stack.
          count: number of objects that its opcodes store.
          first: index of the first of them, which is the list itself.
        """
        if data[1] not in (MEMOIZE, PUT):
            return
        number = self._numbers.get(data)
        if number is None:
            if self._nbytes + len(data) > _MAX_BYTES or len(data) > 8 * MOST_WORDS:
                return
            self._nbytes += len(data)
            number = self._numbers[data] = len(self._stacks)
            self._stacks.append(stack)
            self._counts.append(count)
            self._firsts.append(first)
            group = self._by_length.setdefault(len(data), _SameLength())
            group.data.append(data)
            group.numbers.append(number)
        self.store(np.array([first]), np.array([number]))

    def recognise(
        self, data: NDArray[np.uint8], begins: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Returns the number of each list of an excerpt whose bytes are known; -1 for others."""
        numbers = np.full(len(begins), -1, np.int64)
        lengths = ends - begins
        order = np.argsort(lengths, kind="stable")
        ordered = lengths[order]
        edges = np.flatnonzero(np.diff(ordered)) + 1
        for members in np.split(order, edges) if len(order) else []:
            length = int(lengths[members[0]])
            group = self._by_length.get(length)
            if group is not None:
                numbers[members] = self._compare(group, length, data, begins[members])
        return numbers

    def _compare(
        self, group: _SameLength, length: int, data: NDArray[np.uint8], begins: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Returns the numbers of lists of one length."""
        width = -(-length // 8)
        group.sort(width)
        rows = words(data, begins, width)
        if length % 8:
            rows[:, -1] &= np.uint64((1 << 8 * (length % 8)) - 1)
        sums = _checksums(rows)
        at = np.minimum(group.sums.searchsorted(sums), len(group.sums) - 1)
        is_equal = (group.rows[at] == rows).all(axis=1)
        return np.where(is_equal, group.order[at], -1)

    def counts(self) -> NDArray[np.int64]:
        """Returns how many objects each list stores."""
        return np.array(self._counts, np.int64)

    def stacks(self) -> NDArray[np.int32]:
        """Returns the number of each list's stack."""
        if len(self._stacks_array) != len(self._stacks):
            self._stacks_array = np.array(self._stacks, np.int32)
        return self._stacks_array

    def store(self, indices: NDArray[np.int64], numbers: NDArray[np.int64]) -> None:
        """Notes under which indices lists are stored; the indices ascend."""
        end = self._length + len(indices)
        if end > len(self._stored_at):
            size = max(end, 2 * len(self._stored_at))
            self._stored_at = np.resize(self._stored_at, size)
            self._stored_number = np.resize(self._stored_number, size)
        self._stored_at[self._length : end] = indices
        self._stored_number[self._length : end] = numbers
        self._length = end

    def stacks_at(self, indices: NDArray[np.int64]) -> NDArray[np.int32]:
        """Returns the stacks of the lists stored under indices; `UNKNOWN` where no known list is stored."""
        stored = self._stored_at[: self._length]
        at = np.minimum(stored.searchsorted(indices), max(self._length - 1, 0))
        is_known = stored[at] == indices if self._length else np.zeros(len(indices), np.bool_)
        stacks = self.stacks()
        if not len(stacks):
            return np.full(len(indices), self.UNKNOWN, np.int32)
        return np.where(is_known, stacks[self._stored_number[at]], np.int32(self.UNKNOWN))

    def original(self, index: int) -> int | None:
        """Returns the index of an equal object that was built: the same part of a list that was read by its opcodes."""
        at = int(self._stored_at[: self._length].searchsorted(index, side="right")) - 1
        if at < 0:
            return None
        offset, number = index - int(self._stored_at[at]), int(self._stored_number[at])
        return self._firsts[number] + offset if offset < self._counts[number] else None


def _checksums(rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Returns a number for each row; equal rows have equal numbers, and others very rarely."""
    return rows @ _FACTORS[: rows.shape[1]]
