"""What does a BFC allocator's dump contain? Its chunks by address, its sums, and its statistics."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from nbtf._devices.bfc.chunks import rounded
from nbtf._error_texts.cleaning import Text
from nbtf._error_texts.sizes import SIZE, Size, exact, size_of

MOST_CHUNKS = 400_000
"""Chunks of a dump that are read; a dump of 50 MB has about a million."""

# Wordings: bfc_allocator.cc of TensorFlow 0.6 to 2.21.
_REQUEST = re.compile(
    rf"Allocator \((\w{{1,60}})\) ran out of memory trying to allocate ({SIZE})(?: \(rounded to (\d{{1,20}})\))?"
    r"(?:requested by op ?([\w/.:-]{0,200}))?"
)
_CHUNK = re.compile(r"\b(InUse|Free|Chunk) {1,2}at (?:0x)?([0-9a-fA-F]{1,16})(?: next (\d{1,20}))? of size (\d{1,15})")
_REGION = re.compile(r"\bNext region of size (\d{1,15})")
_BIN = re.compile(
    rf"\bBin \((\d{{1,15}})\):\s{{0,9}}Total Chunks: (\d{{1,12}}), Chunks in use: (\d{{1,12}})\.? ({SIZE}) allo"
)
_BY_SIZE = re.compile(r"\b(\d{1,9}) Chunks of size (\d{1,15}) totalling")
_SUM = re.compile(rf"Sum Total of in-use chunks: ({SIZE})")
_POOL = re.compile(
    rf"[Tt]otal[ _](?:size in pool|region_allocated_bytes_): ({SIZE}|\d{{1,15}}) memory_limit_: ({SIZE}|\d{{1,15}})"
)
_STAT = re.compile(
    r"\b(Limit|InUse|MaxInUse|NumAllocs|MaxAllocSize|Reserved|PeakReserved|LargestFreeBlock): {1,40}(\S{1,20})"
)
_PICTURE = re.compile(r"(?:^|[ \]])([*x_]{40,100})\s{0,9}$")
_NO_FAILURE = "The caller indicates that this is not a failure"
_FIRST = "ran out of memory trying to allocate"
_MARKS = (
    "Chunk",
    "InUse",
    "Free",
    "region of",
    "Bin (",
    "totalling",
    "in-use chunks",
    "pool",
    "alloc",
    "In",
    "Max",
    "Num",
    "Limit",
    "eserved",
)


class DumpChunk(NamedTuple):
    """A chunk of a dump, in bytes."""

    address: int
    size: int
    in_use: bool


@dataclass(frozen=True, slots=True)
class Dump:
    """A dump of one allocator.

    Attributes:
      allocator: such as `GPU_0_bfc`.
      request: the failed request.
      need: the request as rounded by the allocator.
      op: the op that requested it; empty if the dump does not name it.
      chunks: all chunks in the order of the text.
      regions: number of the first chunk of each region.
      region_sizes: sizes of the regions, where the dump has them.
      by_size: how many chunks in use have each size, from the summary.
      stated_sum: sum of the chunks in use according to the dump; None if it has none.
      bins: chunks and chunks in use by the smallest size of the bin.
      stats: the statistics.
      picture: the row of asterisks.
      cut: number of chunks that were not read, because the dump is too large.
    """

    allocator: str
    request: Size
    need: int
    op: str
    chunks: Sequence[DumpChunk]
    regions: Sequence[int]
    region_sizes: Sequence[int]
    by_size: Mapping[int, int]
    stated_sum: Size | None
    bins: Mapping[int, tuple[int, int]]
    stats: Mapping[str, Size]
    picture: str
    cut: int = 0

    @property
    def in_use(self) -> int:
        """Bytes of the chunks in use."""
        return sum(chunk.size for chunk in self.chunks if chunk.in_use)

    @property
    def free(self) -> int:
        """Bytes of the free chunks."""
        return sum(chunk.size for chunk in self.chunks if not chunk.in_use)

    @property
    def largest_free(self) -> int:
        """Bytes of the largest free chunk; 0 if there is none."""
        return max((chunk.size for chunk in self.chunks if not chunk.in_use), default=0)

    def regions_of_chunks(self) -> list[Sequence[DumpChunk]]:
        """Returns the chunks of each region; without region lines, a gap between addresses begins a region."""
        starts = list(self.regions)
        if not starts or starts[0]:
            starts = [0] + [
                index
                for index in range(1, len(self.chunks))
                if self.chunks[index].address != self.chunks[index - 1].address + self.chunks[index - 1].size
            ]
        ends = [*starts[1:], len(self.chunks)]
        return [self.chunks[start:end] for start, end in zip(starts, ends, strict=True) if start < end]

    def mismatches(self) -> list[tuple[str, int, int]]:
        """Returns sums that do not agree: name of the text, bytes of the chunk lines, bytes that the dump states."""
        differences: list[tuple[str, int, int]] = []
        if not self.chunks or self.cut:
            return differences
        if self.stated_sum is not None and abs(self.in_use - self.stated_sum.nbytes) > 2 * self.stated_sum.margin:
            differences.append(("sumOfChunksDiffers", self.in_use, self.stated_sum.nbytes))
        if self.by_size and dict(Counter(chunk.size for chunk in self.chunks if chunk.in_use)) != dict(self.by_size):
            stated = sum(size * count for size, count in self.by_size.items())
            differences.append(("sumBySizeDiffers", self.in_use, stated))
        if self.region_sizes and self.in_use + self.free != sum(self.region_sizes):
            differences.append(("sumOfRegionsDiffers", self.in_use + self.free, sum(self.region_sizes)))
        return differences

    def plain(self) -> dict[str, Any]:
        """Returns the dump as JSON-compatible values; sizes are in bytes."""
        return {
            "allocator": self.allocator,
            "request": self.request.nbytes,
            "need": self.need,
            "op": self.op,
            "in_use": self.in_use,
            "free": self.free,
            "largest_free": self.largest_free,
            "stated_sum": None if self.stated_sum is None else self.stated_sum.nbytes,
            "stats": {name: size.nbytes for name, size in self.stats.items()},
            "bins": [[smallest, *counts] for smallest, counts in self.bins.items()],
            "chunks": [[chunk.address, chunk.size, chunk.in_use] for chunk in self.chunks],
            "chunks_not_read": self.cut,
        }


class _Reader:
    """Collects the lines of one dump."""

    def __init__(self, request: re.Match[str] | None) -> None:
        self.head = request
        self.chunks: list[DumpChunk] = []
        self.regions: list[int] = []
        self.region_sizes: list[int] = []
        self.by_size: Counter[int] = Counter()
        self.bins: dict[int, tuple[int, int]] = {}
        self.stats: dict[str, Size] = {}
        self.stated_sum: Size | None = None
        self.picture = ""
        self.cut = 0

    def take(self, line: str) -> None:
        """Reads a line."""
        for pattern, read in _READERS:
            if match := pattern.search(line):
                read(self, match)
                return

    def take_chunk(self, match: re.Match[str]) -> None:
        """Reads a chunk."""
        if len(self.chunks) >= MOST_CHUNKS:
            self.cut += 1
        else:
            self.chunks.append(DumpChunk(int(match[2], 16), int(match[4]), match[1] != "Free"))

    def take_region(self, match: re.Match[str]) -> None:
        """Reads the line above the chunks of a region."""
        self.regions.append(len(self.chunks))
        self.region_sizes.append(int(match[1]))

    def take_bin(self, match: re.Match[str]) -> None:
        """Reads the counts of a bin."""
        self.bins[int(match[1])] = int(match[2]), int(match[3])

    def take_size(self, match: re.Match[str]) -> None:
        """Reads how many chunks have a size."""
        self.by_size[int(match[2])] += int(match[1])

    def take_sum(self, match: re.Match[str]) -> None:
        """Reads the sum of the chunks in use."""
        self.stated_sum = size_of(match[1])

    def take_pool(self, match: re.Match[str]) -> None:
        """Reads the size of the pool and the limit."""
        self.stats["Pool"], self.stats["MemoryLimit"] = _number(match[1]), _number(match[2])

    def take_stat(self, match: re.Match[str]) -> None:
        """Reads a line of the statistics."""
        with suppress(ValueError):
            self.stats[match[1]] = _number(match[2])

    def take_picture(self, match: re.Match[str]) -> None:
        """Reads the row of asterisks."""
        self.picture = match[1]

    def dump(self) -> Dump | None:
        """Returns the dump; None if the lines are not one."""
        has_account = self.stated_sum is not None and {"Limit", "InUse"} <= set(self.stats)
        if self.head is None and not self.chunks and not has_account:
            return None
        request = size_of(self.head[2]) if self.head else exact(0)
        need = int(self.head[3]) if self.head and self.head[3] else rounded(request.nbytes) if request.nbytes else 0
        return Dump(
            self.head[1] if self.head else "",
            request,
            need,
            (self.head[4] or "") if self.head else "",
            self.chunks,
            self.regions,
            self.region_sizes,
            self.by_size,
            self.stated_sum,
            self.bins,
            self.stats,
            self.picture,
            self.cut,
        )


def dumps(text: Text) -> Iterator[tuple[int, int, Dump]]:
    """Yields the dumps of a text, each with the indices of its first line and of the line after its last one.

    Several lines may name the same request, as TensorFlow repeats them; the last one begins the dump.
    """
    reader, first, last = _Reader(None), 0, 0
    for index, line in enumerate(text.lines):
        head = _REQUEST.search(line) if _FIRST in line and _NO_FAILURE not in line else None
        if head is not None:
            if (dump := reader.dump()) is not None:
                yield first, last + 1, dump
            reader, first, last = _Reader(head), index, index
        elif any(mark in line for mark in _MARKS) or "***" in line or "___" in line:
            state_before = _state(reader)
            reader.take(line)
            if _state(reader) != state_before:
                first, last = (index if state_before == _EMPTY and reader.head is None else first), index
    if (dump := reader.dump()) is not None:
        yield first, last + 1, dump


def _state(reader: _Reader) -> tuple[object, ...]:
    sizes = len(reader.chunks) + reader.cut, len(reader.regions), len(reader.bins), len(reader.stats)
    return (*sizes, len(reader.by_size), reader.stated_sum is None, reader.picture)


_EMPTY = (0, 0, 0, 0, 0, True, "")


def _number(text: str) -> Size:
    return exact(int(text)) if text.isdecimal() else size_of(text)


_READERS = (
    (_CHUNK, _Reader.take_chunk),
    (_REGION, _Reader.take_region),
    (_BIN, _Reader.take_bin),
    (_BY_SIZE, _Reader.take_size),
    (_SUM, _Reader.take_sum),
    (_POOL, _Reader.take_pool),
    (_STAT, _Reader.take_stat),
    (_PICTURE, _Reader.take_picture),
)
"""The lines of a dump, in the order in which they are tried."""
