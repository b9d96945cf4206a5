"""How do equal events of a pickle become equal bytes? An excerpt has no headers of frames, and no stored indices.

From protocol 4 on, a pickle consists of frames, and the header of a frame may lie within an event. Before protocol 4,
each object is stored under an index, and the index differs from event to event.
"""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

PUT = ord("r")
PUT_SIZE = 4
"""Bytes of an index under which an object is stored."""

MARGIN = 512
"""Zeros before an excerpt: the last bytes of a short event are read in the width of a long one."""

MOST_WORDS = 1 << 13
"""The longest row of 8-byte words that may begin in an excerpt."""

_HEADER_SIZE = 9
_FULL_FRAME = 1 << 16
"""Picklers end a frame once it has 64 KiB, so only the last one is smaller."""

_LONG1 = b"|".join(b"%c.{%d}" % (size, size) for size in range(9))
_OPCODES = re.compile(rb"(?:[]}()euasN\x85-\x89\x94]|[Kh].|M..|[Jjr].{4}|\x8a(?:" + _LONG1 + rb"))*", re.DOTALL)
"""Opcodes of events with their arguments; the first byte decides which one it is."""


class Excerpt:
    """A part of a pickle in which equal events have equal bytes.

    Attributes:
      data: `MARGIN` zeros, the bytes of the pickle without headers and indices, and zeros for the longest row of words.
        A stored index is replaced with zeros if it is the next one that is free.
      end: offset in `data` after the last byte of the pickle that can be compared.
      puts: offsets in `data` of the opcodes with such an index.
    """

    def __init__(self, content: bytes, begin: int, end: int, headers: NDArray[np.int64], stored: int) -> None:
        """Copies a part of a pickle.

        Args:
          content: the pickle.
          begin: offset of the first byte, where an event begins.
          end: offset after the last byte.
          headers: offsets of the headers of all frames.
          stored: number of objects stored before the excerpt.
        """
        self._begin = begin
        headers = headers[headers.searchsorted(begin) : headers.searchsorted(end)]
        self._cuts = headers - begin - _HEADER_SIZE * np.arange(len(headers)) + MARGIN
        self.end = MARGIN + end - begin - _HEADER_SIZE * len(headers)
        self.data = np.zeros(self.end + 8 * MOST_WORDS, np.uint8)
        source = np.frombuffer(content, np.uint8)
        bounds = [MARGIN, *self._cuts.tolist(), self.end]
        for number, (first, last) in enumerate(pairwise(bounds)):
            at = begin + first - MARGIN + number * _HEADER_SIZE
            self.data[first:last] = source[at : at + last - first]
        self.puts = np.zeros(0, np.int64)
        if stored and content[begin + 1] == PUT:
            self._clear_indices(stored)

    def _clear_indices(self, stored: int) -> None:
        """Replaces stored indices with zeros, and ends the excerpt where they are not the next ones that are free."""
        at = MARGIN + np.flatnonzero(self.data[MARGIN : self.end - PUT_SIZE] == PUT)
        values = words(self.data, at + 1, 1)[:, 0].astype(np.uint32).astype(np.int64)
        if len(zeros := at[values == 0]):
            self.end = int(zeros[0])  # what is compared has zeros only where an index was replaced
        is_near = (values >= stored) & (values < stored + len(at)) & (at < self.end)
        at, values = at[is_near], values[is_near]
        if (values != stored + np.arange(len(at))).any():  # an address or a time may look like an opcode with an index
            follows = np.diff(values, prepend=-1, append=-1) == 1
            is_part = follows[:-1] | follows[1:]
            at, values = at[is_part], values[is_part]
            wrong = np.flatnonzero(values != stored + np.arange(len(at)))
            if len(wrong):
                self.end = int(at[wrong[0]])
                at = at[: wrong[0]]
        for byte in range(1, PUT_SIZE + 1):
            self.data[at + byte] = 0
        self.puts = at

    def offsets(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the offsets in the pickle of positions in `data`, before a header that may be there."""
        return positions - MARGIN + self._begin + _HEADER_SIZE * self._cuts.searchsorted(positions)

    def misplaced_headers(self, starts: NDArray[np.int64], chosen: NDArray[np.bool_]) -> list[int]:
        """Returns the numbers of those events within which a header does not lie between two opcodes.

        Args:
          starts: where events begin in `data`, and where the last one ends.
          chosen: which of the events to check.
        """
        numbers = starts.searchsorted(self._cuts, "right") - 1
        return [
            number
            for number, cut in zip(numbers.tolist(), self._cuts.tolist(), strict=True)
            if 0 <= number < len(chosen) and chosen[number]
            if not _OPCODES.fullmatch(self.data[starts[number] : cut].tobytes())
        ]


def frame_headers(content: bytes) -> NDArray[np.int64]:
    """Returns the offsets of the headers of frames, as far as each frame begins where the one before it ends."""
    headers: list[int] = []
    at = 2  # after the opcode for the protocol
    while content.startswith(b"\x95", at):
        end = at + _HEADER_SIZE + int.from_bytes(content[at + 1 : at + _HEADER_SIZE], "little")
        if end > len(content):
            break
        headers.append(at)
        if end - at < _FULL_FRAME:
            break
        at = end
    return np.array(headers, np.int64)


def words(data: NDArray[np.uint8], offsets: NDArray[np.int64], width: int) -> NDArray[np.uint64]:
    """Returns rows of `width` 8-byte words of an excerpt that begin at offsets."""
    nbytes = 8 * width
    view = np.ndarray((len(data) - nbytes + 1,), f"V{nbytes}", data, strides=(1,))
    return view[offsets].view(np.uint64).reshape(-1, width)
