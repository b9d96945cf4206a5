"""Which objects of a process hold memory of cards, and how much?"""

from __future__ import annotations

import gc
import time
import types
from collections import deque
from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

from nbtf._frameworks.base import Arrays

_CLOSED = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.CodeType, types.FrameType)
"""Types of objects that lead everywhere; objects behind them do not count as held."""

_STEP = 1024
"""Number of objects between two checks of the time."""


class Owned(NamedTuple):
    """The memory of one card that a root holds through one library: bytes, and a short description of its arrays."""

    holder: str
    library: str
    device: str
    nbytes: int
    tensor: str


def search(roots: Mapping[str, Any], arrays: Sequence[Arrays], seconds: float) -> tuple[list[Owned], bool]:
    """Returns what the roots hold, largest first, and whether the search was completed in time.

    Memory that several roots lead to counts for the first of them.

    Args:
      roots: objects to start from, by description.
      arrays: readers of each library's arrays.
      seconds: longest search, in seconds.
    """
    deadline = time.monotonic() + seconds
    all_roots = {id(root) for root in roots.values()}  # arrays behind another root count for that root
    counted = set[tuple[str, int, int]]()
    result: list[Owned] = []
    for name, root in roots.items():
        reached, in_time = _reached(root, all_roots, arrays, deadline)
        result += _sums(name, reached, counted)
        if not in_time:
            return _most_first(result), False
    return _most_first(result), True


def _most_first(owned: list[Owned]) -> list[Owned]:
    return sorted(owned, key=lambda each: -each.nbytes)


def _reached(
    root: Any, all_roots: Set[int], arrays: Sequence[Arrays], deadline: float
) -> tuple[list[tuple[Arrays, Any]], bool]:
    """Returns the arrays behind a root, each with its library, and whether the search was completed in time."""
    visited = set(all_roots)
    waiting, looked = deque([root]), 0
    reached: list[tuple[Arrays, Any]] = []
    while waiting:
        looked += 1
        if not looked % _STEP and time.monotonic() > deadline:
            return reached, False
        candidate = waiting.popleft()
        library = next((each for each in arrays if issubclass(type(candidate), each.type)), None)
        if library is not None:
            reached.append((library, candidate))
        for referent in gc.get_referents(candidate):
            if id(referent) not in visited and not issubclass(type(referent), _CLOSED):
                visited.add(id(referent))
                waiting.append(referent)
    return reached, True


def _sums(name: str, reached: Sequence[tuple[Arrays, Any]], counted: set[tuple[str, int, int]]) -> list[Owned]:
    """Returns the bytes that a root holds, by library and card."""
    sizes: dict[tuple[str, str], list[int]] = {}
    texts: dict[tuple[str, str], str] = {}
    for library, array in reached:
        held_piece = library.holding(array)
        if held_piece is None or held_piece[:3] in counted:
            continue
        counted.add(held_piece[:3])
        account = library.library, held_piece.device
        sizes.setdefault(account, []).append(held_piece.nbytes)
        texts[account] = library.describe(array)
    return [
        Owned(name, *account, sum(numbers), texts[account] if len(numbers) == 1 else f"{len(numbers):,} arrays")
        for account, numbers in sizes.items()
    ]
