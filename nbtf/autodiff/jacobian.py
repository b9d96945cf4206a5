"""Assembles a jacobian from the gradients of a target's elements."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from nbtf._ops.arrays.broadcasting import broadcast_to, reshape
from nbtf._ops.arrays.creation import fill, zeros
from nbtf._ops.arrays.joining import concat, stack
from nbtf._ops.arrays.ranges import one_hot
from nbtf._ops.arrays.shapes import shape
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf.autodiff.sources import lengths_of

Walk = Callable[[Tensor | None, bool], list[Any]]
"""Returns the gradients of all sources for an initial gradient; the second argument marks the last walk."""

JacobianOf = Callable[[Walk, Any, list[Any]], list[Any]]
"""`jacobian_of` or `batch_jacobian_of`."""


def jacobian_of(walk: Walk, target: Tensor, sources: list[Any]) -> list[Any]:
    """Returns, for each source, a tensor of shape `target.shape + source.shape`, or None."""
    lengths: list[Any] = lengths_of(target).as_list()
    count = math.prod(lengths)
    rows = [walk(reshape(one_hot(i, count, dtype=target.dtype), lengths), i == count - 1) for i in range(count)]
    return _stack_rows(rows or [walk(None, True)], sources, 0, lambda source: [*lengths, *lengths_of(source).as_list()])


def batch_jacobian_of(walk: Walk, target: Tensor, sources: list[Any]) -> list[Any]:
    """Returns, for each source, a tensor of shape `target.shape + source.shape[1:]`, or None."""
    lengths: list[Any] = lengths_of(target).as_list()
    batch, inner_shape = lengths[0], lengths[1:]
    count = math.prod(inner_shape)
    rows: list[list[Any]] = []
    for i in range(count):
        column = broadcast_to(one_hot(i, count, dtype=target.dtype), [batch, count])
        rows.append(walk(reshape(column, [batch, *inner_shape]), i == count - 1))
    return _stack_rows(
        rows or [walk(None, True)], sources, 1, lambda source: [batch, *inner_shape, *lengths_of(source).as_list()[1:]]
    )


def _stack_rows(
    rows: list[list[Any]], sources: list[Any], axis: int, shape_for: Callable[[Any], list[Any]]
) -> list[Any]:
    jacobians: list[Any] = []
    for source, grads in zip(sources, zip(*rows, strict=True), strict=True):
        lengths = shape_for(source)
        if grads[0] is not None:
            jacobians.append(reshape(stack([as_tensor(grad) for grad in grads], axis), lengths))
        else:
            jacobians.append(None if math.prod(lengths) else zeros(lengths, source._dtype))
    return jacobians


def zeros_between(target: Any, source: Any, skipped: int) -> Tensor:
    """Returns the jacobian of a target that does not depend on a source.

    Args:
      target: a tensor.
      source: a tensor or a variable, or the handle of one.
      skipped: number of leading axes that the source shares with the target.
    """
    lengths = [*(lengths_of(target).dims or [None]), *(lengths_of(source).dims or [None])[skipped:]]
    if None not in lengths:
        return zeros(lengths, source._dtype)
    return fill(concat([shape(target), shape(source)[skipped:]], 0), as_tensor(0, source._dtype))


def check_batches(target: Any, source: Any) -> None:
    """Checks that target and source have the same batch axis.

    Raises:
      ValueError: if they do not, with TensorFlow's wording.
    """
    length = target.shape.dims[0]
    target.shape.with_rank_at_least(2)
    source.shape.with_rank_at_least(2)
    if None not in (length, source.shape[0]) and length != source.shape[0]:
        raise ValueError(
            f"Need first dimension of target shape ({target.shape}) and source shape ({source.shape}) to match."
        )
