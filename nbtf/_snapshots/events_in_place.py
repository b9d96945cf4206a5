"""What do the bytes of events say, whose shapes are known? Compares and decodes them where they are in an excerpt."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nbtf._snapshots.event_shapes import Place, Shape
from nbtf._snapshots.excerpts import words


class Events:
    """Parts of an excerpt, each of which may be an event."""

    def __init__(self, data: NDArray[np.uint8], starts: NDArray[np.int64], shapes: Sequence[Shape]) -> None:
        """Compares nothing yet.

        Args:
          data: the bytes of the excerpt.
          starts: where each part begins, and where the last one ends.
          shapes: known shapes, the most frequent first.
        """
        self._data = data
        self._begins, self._ends = starts[:-1], _ends(data, starts[1:])
        self._shapes = shapes

    def shapes(self) -> NDArray[np.int64]:
        """Returns the number of each part's shape; -1 for none."""
        head = _width(max(len(shape.begin) for shape in self._shapes))
        tail = _width(max(len(shape.end) for shape in self._shapes))
        numbers = np.full(len(self._begins), -1, np.int64)
        heads = words(self._data, self._begins, head)
        tails = words(self._data, self._ends - 8 * tail, tail)
        lengths = self._ends - self._begins
        pending = np.arange(len(numbers))
        for number, shape in enumerate(self._shapes):
            members = _matching(heads, tails, pending, shape)
            length = len(shape.begin) + len(shape.end)
            is_whole = lengths[members] > length if shape.has_list else lengths[members] == length
            numbers[members[is_whole]] = number
            if len(members):
                pending = pending[numbers[pending] < 0]
        return numbers

    def list_bounds(self, shape: Shape, members: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Returns where the lists of frames of some parts begin and end."""
        return self._begins[members] + len(shape.begin) - 1, self._ends[members] - len(shape.end)

    def values(self, argument: Place, members: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the integers at a place of some parts."""
        if argument.size == 0:
            return np.zeros(len(members), np.int64)
        base = self._begins[members] if argument.offset >= 0 else self._ends[members]
        data = words(self._data, base + argument.offset, 1).view(np.int64)[:, 0]
        unused = 64 - 8 * argument.size
        if argument.signed:
            return (data << unused) >> unused
        return data & ((1 << 8 * argument.size) - 1)


def _ends(data: NDArray[np.uint8], following: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns where events end, given where the following ones begin.

    A list has at most 1,000 entries between MARK and APPENDS, so both opcodes may lie between two events.
    """
    is_new_batch = (data[following - 2] == ord("e")) & (data[following - 1] == ord("("))
    return following - 2 * is_new_batch


def _width(nbytes: int) -> int:
    """Returns the number of 8-byte words for some bytes."""
    return max(1, -(-nbytes // 8))


def _matching(
    heads: NDArray[np.uint64], tails: NDArray[np.uint64], rows: NDArray[np.int64], shape: Shape
) -> NDArray[np.int64]:
    """Returns the rows whose bytes agree with a shape."""
    head, tail = heads.shape[1], tails.shape[1]
    content = shape.begin.ljust(8 * head, b"\0") + shape.end.rjust(8 * tail, b"\0")
    masks = shape.begin_mask.ljust(8 * head, b"\0") + shape.end_mask.rjust(8 * tail, b"\0")
    expected, mask = np.frombuffer(content, np.uint64), np.frombuffer(masks, np.uint64)
    for column in range(head - 1, -1, -1):
        if mask[column]:
            rows = rows[(heads[:, column][rows] & mask[column]) == expected[column]]
    for column in range(tail):
        if mask[head + column]:
            rows = rows[(tails[:, column][rows] & mask[head + column]) == expected[head + column]]
    return rows
