"""Where are the holes in an allocator's dump? Its addresses as rows of marks, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from nbtf._error_texts.bfc_dump import Dump, DumpChunk
from nbtf._error_texts.finding import Nbytes, Value

COLUMNS, ROWS = 64, 12
MOST_ROWS = 48
"""Rows at most; a pool that grew has many small regions, and each begins a row."""
USED, FREE = "#", "."
_ALIGNMENT = 256


class _Words(Protocol):
    def phrase(self, name: str, /, **values: Value) -> str:
        """Returns a text of the section `explain`."""
        ...


def map_lines(dump: Dump, words: _Words) -> Iterator[str]:
    """Yields the rows of the map, each with the address of its first byte, then the size of a mark."""
    regions = dump.regions_of_chunks()
    total = sum(chunk.size for region in regions for chunk in region)
    cell = -(-total // (COLUMNS * ROWS * _ALIGNMENT)) * _ALIGNMENT or _ALIGNMENT
    rows = [row for region in regions for row in _rows(region, cell)]
    for address, marks in rows[:MOST_ROWS]:
        yield f"  {address:012x}  {marks}"
    if len(rows) > MOST_ROWS:
        yield f"  … {len(rows) - MOST_ROWS}"
    scale = words.phrase("mapCell", size=Nbytes(cell))
    yield f"  {scale}"


def _rows(region: Sequence[DumpChunk], cell: int) -> Iterator[tuple[int, str]]:
    """Yields the address and the marks of each row of a region."""
    base = region[0].address
    size = sum(chunk.size for chunk in region)
    used = [0] * -(-size // cell)
    start = 0
    for chunk in region:
        if chunk.in_use:
            for index in range(start // cell, (start + chunk.size - 1) // cell + 1 if chunk.size else 0):
                used[index] += min(start + chunk.size, (index + 1) * cell) - max(start, index * cell)
        start += chunk.size
    marks = "".join(USED if 2 * nbytes >= min(cell, size - index * cell) else FREE for index, nbytes in enumerate(used))
    for first in range(0, len(marks), COLUMNS):
        yield base + first * cell, marks[first : first + COLUMNS]
