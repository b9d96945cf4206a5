"""What do TensorFlow's gradient tapes keep? A tape does not list its tensors, so they are found by their referrers."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Collection, Sequence
from typing import Any

from nbtf._frameworks.base import Kept
from nbtf._runtime.holding import Holding


def kept_by_tapes(
    tensors: Sequence[Any],
    holding_of: Callable[[Any], Holding | None],
    listed: Collection[tuple[str, int, int]],
) -> Kept | None:
    """Returns the tensors that the process's gradient tapes keep, with the tapes; None without any.

    A tape's C++ code refers to tuples of an op's inputs and results. A tensor counts if such a tuple refers to it and
    more refers to the tuple than the garbage collector lists.

    Args:
      tensors: all tensors of the process.
      holding_of: returns the piece of memory that a tensor holds.
      listed: pieces with a row of their own, by device, region and offset.
    """
    tapes = [obj for obj in gc.get_objects() if type(obj).__name__ == "GradientTape" and _is_recording(obj)]
    if not tapes:
        return None
    unlisted: dict[int, tuple[Any, Holding]] = {}
    for tensor in tensors:
        holding = holding_of(tensor)
        if holding is not None and holding[:3] not in listed:
            unlisted[id(tensor)] = tensor, holding
    holdings = {holding[:3]: holding for tensor, holding in unlisted.values() if _is_in_hidden_tuple(tensor)}
    return Kept([id(tape) for tape in tapes], list(holdings.values())) if holdings else None


def _is_recording(tape: Any) -> bool:
    """Returns whether a tape of TensorFlow still has its record; others release it when they compute gradients."""
    return type(tape).__module__.startswith("tensorflow.") and tape.__dict__.get("_tape") is not None


def _is_in_hidden_tuple(tensor: Any) -> bool:
    """Returns whether something that the garbage collector does not list refers to a tuple with a tensor."""
    tuples: list[tuple[Any, ...]] = [referrer for referrer in gc.get_referrers(tensor) if type(referrer) is tuple]
    tuples.append((tensor,))  # only this list refers to the last tuple: it calibrates the counts
    unlisted = [sys.getrefcount(each) - len(gc.get_referrers(each)) for each in tuples]
    return max(unlisted) > unlisted[-1]
