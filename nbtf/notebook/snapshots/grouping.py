"""By what can the pieces of a snapshot be grouped and coloured: by line, module, stream or size?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtf._devices.sizes import gib
from nbtf._runtime.phases import BACKWARD, FORWARD, INPUT, UPDATE
from nbtf._snapshots.lifetimes import Integers, Lifetimes
from nbtf.notebook.snapshots.naming import Naming
from nbtf.notebook.stills.memory_bands import Words
from nbtf.notebook.stills.palette import OF_PHASE

FILLS = ("fwd", "upd", "wgt", "py", "bwd", "cpyf")
"""The fills of the largest groups, in their order; all others share `OTHER`."""

OTHER = "tmp"

_BOUNDS = (1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20)
"""The sizes in bytes at which a group of sizes ends; up to the first, PyTorch uses its small pool."""


class Grouping(NamedTuple):
    """One way to group pieces.

    Attributes:
      by: `line`, `module`, `stream` or `size`.
      names: the name of each group, the largest first; the last ones are the remaining.
      fills: the fill of each group.
      of: the group of each piece.
    """

    by: str
    names: list[str]
    fills: list[str]
    of: NDArray[np.uint8]


def groupings(pieces: Lifetimes, at_peak: Integers, naming: Naming, words: Words) -> list[Grouping]:
    """Returns the ways to group pieces for which the file has data; grouping by size always exists.

    Args:
      pieces: the pieces.
      at_peak: positions of the pieces that are in use at the peak.
      naming: names of the stacks.
      words: texts of the sections `snapshot` and `timeline`.
    """
    result: list[Grouping] = []
    for by, names in (("line", naming.lines), ("module", naming.modules)):
        if any(names):
            result.append(_by_name(by, pieces, at_peak, [*names, words["before"], ""], words))
    if any(naming.phases):
        result.append(_by_phase(pieces, naming.phases, words))
    streams = np.unique(pieces.stream)
    if len(streams) > 1:
        column = np.searchsorted(streams, pieces.stream)
        result.append(_ranked("stream", column, [str(stream) for stream in streams.tolist()], pieces, at_peak, words))
    return [*result, _by_size(pieces, words)]


def _by_phase(pieces: Lifetimes, phases: Sequence[str], words: Words) -> Grouping:
    """Returns a grouping by phase of training, in the colours of timelines."""
    names = (INPUT, FORWARD, BACKWARD, UPDATE, "")
    column = np.array([names.index(phase) for phase in (*phases, "", "")], np.uint8)[pieces.stack]
    texts = [words[name] if name else words["other"] for name in names]
    return Grouping("phase", texts, [OF_PHASE[name] for name in names], column)


def _by_name(by: str, pieces: Lifetimes, at_peak: Integers, names: list[str], words: Words) -> Grouping:
    distinct: dict[str, int] = {}
    column = np.array([distinct.setdefault(name, len(distinct)) for name in names])[pieces.stack]
    texts = [name or words["noStack"] for name in distinct]
    return _ranked(by, column, texts, pieces, at_peak, words)


def _ranked(
    by: str, column: Integers, names: list[str], pieces: Lifetimes, at_peak: Integers, words: Words
) -> Grouping:
    """Returns a grouping whose groups with the most bytes at the peak have a fill each."""
    nbytes = np.bincount(column[at_peak], pieces.size[at_peak], len(names))
    order = np.lexsort((np.arange(len(names)), -nbytes)).tolist()
    ranked = order[: len(FILLS)]
    rank = np.full(len(names), len(ranked), np.uint8)
    rank[ranked] = np.arange(len(ranked))
    remaining = len(names) - len(ranked)
    remainder = [words["others"].replace("{n}", f"{remaining:,}")] if remaining else []
    fills = [*FILLS[: len(ranked)], *([OTHER] if remaining else [])]
    return Grouping(by, [*(names[at] for at in ranked), *remainder], fills, rank[column])


def _by_size(pieces: Lifetimes, words: Words) -> Grouping:
    """Returns a grouping by size; the largest pieces are at the bottom of a stack."""
    bounds = np.array(_BOUNDS)
    of = len(_BOUNDS) - np.searchsorted(bounds, pieces.size, "left")
    sizes = [gib(bound) for bound in _BOUNDS]
    between: Callable[[str, str], str] = lambda low, high: words["sizeBetween"].format(low=low, high=high)  # noqa: E731
    names = [words["sizeOver"].format(size=sizes[-1])]
    names += [between(low, high) for low, high in zip(reversed(sizes[:-1]), reversed(sizes[1:]), strict=True)]
    names.append(words["sizeUpTo"].format(size=sizes[0]))
    return Grouping("size", names, ["upd", "fwd", "wgt", "py", "bwd", OTHER], of.astype(np.uint8))
