"""Layer normalization: scales examples to mean 0 and variance 1, then applies a factor and offset per feature."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.fused import blocks, fused
from nbtf._ops.math.arithmetic import cast
from nbtf._ops.math.exponentials import rsqrt
from nbtf._ops.reductions.lines import RowSums, join
from nbtf._ops.reductions.statistics import moments
from nbtf._runtime.tensor import Tensor
from nbtf._types import float32


@fused(float32)
def layer_normalization(
    xp: Any, x: Any, gamma: Any, beta: Any, axes: list[int], epsilon: float
) -> tuple[Any, tuple[Any, Any]]:
    lines, count = _lines(x, axes)
    result = xp.empty(lines.shape, x.dtype)
    means, factors = (xp.empty((len(lines), 1), x.dtype) for _ in range(2))
    weights, offsets = gamma.reshape(-1), beta.reshape(-1)
    for block in blocks(len(lines), count):
        mean = xp.add.reduce(lines[block], 1, None, means[block], True)
        mean /= count
        squares = xp.subtract(lines[block], mean, out=result[block])
        squares *= squares
        factor = xp.add.reduce(squares, 1, None, factors[block], True)
        factor /= count
        factor += epsilon
        xp.reciprocal(xp.sqrt(factor, out=factor), out=factor)
        of_each = factor * weights
        target = xp.multiply(lines[block], of_each, out=result[block])
        of_each *= -mean
        of_each += offsets
        target += of_each
    return result.reshape(x.shape), (means, factors)


@layer_normalization.composed
def _(
    x: Tensor, gamma: Tensor | None, beta: Tensor | None, axes: list[int], epsilon: float, name: str | None = None
) -> Tensor:
    mean, variance = moments(x, axes, keepdims=True)
    lengths = [length if axis in axes else 1 for axis, length in enumerate(x._array.shape)]
    factor = rsqrt(variance + epsilon)
    if gamma is not None:
        factor = factor * cast(reshape(gamma, lengths), x._dtype)
    shift = -mean * factor
    if beta is not None:
        shift = shift + cast(reshape(beta, lengths), x._dtype)
    return x * factor + shift


@layer_normalization.backward
def _(xp: Any, inputs: Sequence[Any], kept: Any, grads: Sequence[Any], axes: list[int], epsilon: float) -> list[Any]:
    x, gamma, beta = inputs
    lines, count = _lines(x, axes)
    back, weights, result = grads[0].reshape(lines.shape), gamma.reshape(-1), xp.empty(lines.shape, x.dtype)
    of_gamma = RowSums(xp, len(lines), count, x.dtype)
    for block in blocks(len(lines), count, of_gamma.beside):
        grad, mean, factor = back[block], kept[0][block], kept[1][block]
        target = xp.multiply(grad, factor * weights, out=result[block])
        towards_mean = -xp.add.reduce(target, 1, keepdims=True)
        of_each = grad * lines[block]
        of_each += grad * -mean
        xp.multiply(of_each, factor, out=of_gamma.room(len(grad)))
        of_gamma.add()
        of_each *= weights
        towards_factor = xp.add.reduce(of_each, 1, keepdims=True) * -0.5 * (factor * (factor * factor))
        through_variance = xp.subtract(lines[block], mean, out=of_each)
        through_variance *= towards_factor / count * 2.0
        target += through_variance
        target += towards_mean / count
    of_beta = join(xp, xp.add, back, (0,))
    return [result.reshape(x.shape), of_gamma.total().reshape(gamma.shape), of_beta.reshape(beta.shape)]


def _lines(x: Any, axes: list[int]) -> tuple[Any, int]:
    """Returns examples as rows of a matrix, and their length."""
    if axes != [*range(x.ndim)][-len(axes) :]:
        raise ValueError("only the last axes are contiguous")
    count = prod(x.shape[-len(axes) :])
    return x.reshape(-1, count), count
