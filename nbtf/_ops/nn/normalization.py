"""Layer normalization: scales examples to mean 0 and variance 1, then applies a factor and offset per feature."""

from __future__ import annotations

from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.math.arithmetic import cast
from nbtf._ops.math.exponentials import rsqrt
from nbtf._ops.reductions.statistics import moments
from nbtf._runtime.tensor import Tensor


def layer_normalization(
    x: Tensor, gamma: Tensor | None, beta: Tensor | None, axes: list[int], epsilon: float
) -> Tensor:
    """Returns normalized examples, with a factor `gamma` and an offset `beta` per feature if they are given."""
    mean, variance = moments(x, axes, keepdims=True)
    lengths = [length if axis in axes else 1 for axis, length in enumerate(x._array.shape)]
    factor = rsqrt(variance + epsilon)
    if gamma is not None:
        factor = factor * cast(reshape(gamma, lengths), x._dtype)
    shift = -mean * factor
    if beta is not None:
        shift = shift + cast(reshape(beta, lengths), x._dtype)
    return x * factor + shift
