"""The layout of a card's memory as a view draws it: regions and chunks, with many small chunks combined into one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import nlargest
from typing import Any

from nbtf import runtime
from nbtf.notebook.views.steps import Words, described

MOST = 400
"""Maximum number of chunks for one device."""

ALL = 480
"""Maximum number of chunks for all devices together; a message is sent ten times per second."""

FEWEST = 60
MANY = 2
"""State of a row besides 0 (free) and 1 (in use): several small chunks."""


def share(devices: int) -> int:
    """Returns the maximum number of chunks for each of `devices` devices."""
    return max(FEWEST, min(MOST, ALL // max(1, devices)))


def told(
    regions: Sequence[Any],
    most: int,
    words: Words,
    code_line: Callable[[runtime.Site], str],
    holder: Callable[[int, Any], str | None],
) -> dict[str, Any]:
    """Returns the data that a view receives about the memory of one device.

    Args:
      regions: what `tf.runtime.memory_map` returns.
      most: maximum number of chunk rows. Beyond it, the largest chunks keep their own rows and neighbours among the
        others are combined.
      words: table of texts; rows hold their numbers.
      code_line: formats a code line as text.
      holder: returns what holds a chunk in use, given the region's number and the chunk.
    """
    chunks = [chunk for region in regions for chunk in region.chunks]
    free = [chunk.size for chunk in chunks if not chunk.in_use]
    alone, together = _large(chunks, most), -(-2 * len(chunks) // most)

    def row(number: int, chunk: Any) -> list[int]:
        if not chunk.in_use:
            return [chunk.offset, chunk.size, 0, 0, -1, -1, -1, -1]
        label = chunk.label
        texts = (None, None, None) if label is None else _texts(label, code_line)
        return [chunk.offset, chunk.size, 1, chunk.requested, *map(words.of, (*texts, holder(number, chunk)))]

    told_regions: list[dict[str, Any]] = []
    for region in regions:
        groups = _groups(region.chunks, alone, together)
        rows = [row(region.region, group[0]) if len(group) == 1 else _several(group) for group in groups]
        told_regions.append({"size": region.size, "chunks": rows})
    count_shown = sum(len(region["chunks"]) for region in told_regions)
    return {
        "map": {"regions": told_regions, "chunks": len(chunks), "shown": count_shown, "words": list(words.all)},
        "largest_free": max(free, default=0),
        "free": sum(free),
    }


def _texts(label: Any, code_line: Callable[[runtime.Site], str]) -> tuple[str, str, str | None]:
    return label.op, described(label.shape, label.dtype), code_line(label.site) or None


def _large(chunks: Sequence[Any], limit: int) -> set[int] | None:
    """Returns the `id` of each chunk that keeps its own row; None if all do."""
    if len(chunks) <= limit:
        return None
    return {id(chunk) for chunk in nlargest(limit // 5, chunks, key=lambda chunk: chunk.size)}


def _groups(chunks: Sequence[Any], alone: set[int] | None, together: int) -> list[list[Any]]:
    """Returns groups of neighbours to draw as one: up to `together` chunks each; chunks in `alone` form their own."""
    if alone is None:
        return [[chunk] for chunk in chunks]
    groups: list[list[Any]] = []
    for chunk in chunks:
        if not groups or id(chunk) in alone or id(groups[-1][0]) in alone or len(groups[-1]) == together:
            groups.append([])
        groups[-1].append(chunk)
    return groups


def _several(group: list[Any]) -> list[int]:
    return [group[0].offset, sum([chunk.size for chunk in group]), MANY, -len(group), -1, -1, -1, -1]
