"""Cutting tensors to a range or a length, under the names of TensorFlow 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import nbtf
from nbtf._runtime.conversion import as_tensor
from nbtf.compat._v1._surface.scoping import opened


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """Cuts the elements of a tensor to a range; see `nbtf.clip_by_value`."""
    with opened("clip_by_value", name) as scope:
        return nbtf.clip_by_value(t, clip_value_min, clip_value_max, scope)


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """Shortens a tensor to a length, if it is longer; see `nbtf.clip_by_norm`."""
    with opened("clip_by_norm", name) as scope:
        return nbtf.clip_by_norm(t, clip_norm, axes, scope)


def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Any:
    """Shortens a tensor whose length for each element is over a limit.

    Args:
      t: floats.
      clip_norm: the limit.
    """
    with opened("clip_by_average_norm", name) as scope:
        values = as_tensor(t)
        count = nbtf.cast(nbtf.size(values), values.dtype)
        inverse = nbtf.math.rsqrt(nbtf.reduce_sum(values * values, list(range(values.shape.rank or 0))))
        limit = as_tensor(clip_norm, values._dtype)
        factor = nbtf.minimum(inverse * count, 1.0 / limit)
        return nbtf.identity(values * limit * factor, scope)


def global_norm(t_list: Sequence[Any], name: str | None = None) -> Any:
    """Computes the length that all tensors of a list have together.

    Args:
      t_list: tensors; None among them is left out.
    """
    with opened("global_norm", name):
        return nbtf.linalg.global_norm(t_list, "global_norm")


def clip_by_global_norm(t_list: Sequence[Any], clip_norm: Any, use_norm: Any = None, name: str | None = None) -> Any:
    """Shortens all tensors of a list by one factor, if together they are longer than a length.

    Args:
      t_list: tensors; None among them stays.
      clip_norm: the length.
      use_norm: their length, if it is known already.

    Returns:
      The tensors, and the length that they had.
    """
    norm = global_norm(t_list, name) if use_norm is None else use_norm
    with opened("clip_by_global_norm", name):
        return nbtf.clip_by_global_norm(t_list, clip_norm, norm)
