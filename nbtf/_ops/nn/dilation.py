"""Computes dilated windows with functions that have no dilations: each phase of the input becomes an example."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbtf._ops.arrays.batch_blocks import batch_to_space, required_space_to_batch_paddings, space_to_batch
from nbtf._ops.arrays.shapes import shape as shape_of
from nbtf._runtime.tensor import Tensor


def without_dilation(
    tensor: Tensor,
    run: Callable[[Tensor, Any], Tensor],
    size: Sequence[int],
    distances: Sequence[int],
    padding: Any,
    first: bool,
) -> Tensor:
    """Returns the result of a windowed function whose window elements are `distances` apart.

    Args:
      tensor: the input: sequences, images or volumes.
      run: the function without dilations; takes the input and the padding.
      size: the window's lengths.
      distances: the distance between window elements along each axis.
      padding: `"SAME"`, `"VALID"`, or a pair of lengths for each axis of `tensor`.
      first: whether channels come before the other axes.
    """
    if all(distance == 1 for distance in distances):
        return run(tensor, padding)
    block = [1, *distances] if first else list(distances)
    lengths = tensor.shape[1 : 1 + len(block)]
    spatial_shape = lengths.as_list() if None not in lengths.as_list() else shape_of(tensor)[1 : 1 + len(block)]
    base = [[0, 0]] * len(block)
    if padding == "SAME":
        extra = [(length - 1) * distance for length, distance in zip(size, distances, strict=True)]
        pairs = [[n // 2, n - n // 2] for n in extra]
        base = [[0, 0], *pairs] if first else pairs
    elif not isinstance(padding, str):
        base = [list(pair) for pair in padding[1 : 1 + len(block)]]
    paddings, crops = required_space_to_batch_paddings(spatial_shape, block, base)
    return batch_to_space(run(space_to_batch(tensor, block, paddings), "VALID"), block, crops)


def check_steps(strides: Sequence[int], dilations: Sequence[int]) -> None:
    """Raises ValueError if both strides and dilations are above 1, which TensorFlow does not support."""
    if max(strides, default=1) > 1 and max(dilations, default=1) > 1:
        received = f"Received: strides={listed(strides)} and dilation_rate={listed(dilations)}"
        raise ValueError(f"`strides > 1` not supported in conjunction with `dilation_rate > 1`. {received}")


def listed(numbers: Sequence[int]) -> str:
    """Returns numbers as NumPy prints an array of them."""
    return f"[{' '.join(map(str, numbers))}]"
