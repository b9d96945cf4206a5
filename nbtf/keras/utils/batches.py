"""Batches as Keras has them, and data sets cut in two."""

from __future__ import annotations

import math
import random
from typing import Any

from nbtf import data


def pack_x_y_sample_weight(x: Any, y: Any = None, sample_weight: Any = None) -> Any:
    """Returns a batch of what there is.

    >>> tf.keras.utils.pack_x_y_sample_weight(1, 2)
    (1, 2)
    """
    if y is None:
        return x if not isinstance(x, list | tuple) else (x,)  # pyright: ignore[reportUnknownVariableType]
    return (x, y) if sample_weight is None else (x, y, sample_weight)


def unpack_x_y_sample_weight(batch: Any) -> tuple[Any, Any, Any]:
    """Returns inputs, targets and weights of a batch; None for what it has not.

    Raises:
      ValueError: it has more parts.

    >>> tf.keras.utils.unpack_x_y_sample_weight((1, 2))
    (1, 2, None)
    """
    fields: list[Any] = [*batch] if isinstance(batch, list | tuple) else [batch]
    if len(fields) > 3:
        raise ValueError(
            f"Data is expected to be in format `x`, `(x,)`, `(x, y)`, or `(x, y, sample_weight)`, found: {batch}"
        )
    x, y, weight = (*fields, None, None)[:3]
    return x, y, weight


def split_dataset(
    dataset: Any,
    left_size: float | None = None,
    right_size: float | None = None,
    shuffle: bool = False,
    seed: int | None = None,
) -> tuple[Any, Any]:
    """Returns two data sets: the first elements, and the others.

    Args:
      dataset: a `tf.data.Dataset`, an array, or a structure of arrays.
      left_size: how many elements are in the first, or which part of all; the rest when None.
      right_size: the same for the second.
      shuffle: whether elements are mixed before.
      seed: of the mixing.

    Raises:
      ValueError: neither size is given, or both ask for more than there is.

    >>> left, right = tf.keras.utils.split_dataset(np.arange(10), left_size=0.8)
    >>> len(left), len(right)
    (8, 2)
    """
    if left_size is None and right_size is None:
        raise ValueError("At least one of the `left_size` or `right_size` must be specified. Received: None for both.")
    elements: Any = dataset if isinstance(dataset, data.Dataset) else data.Dataset.from_tensor_slices(dataset)
    count = len(elements)
    first_size, last_size = (_count(size, count) for size in (left_size, right_size))
    first_size = count - (last_size or 0) if first_size is None else first_size
    last_size = count - first_size if last_size is None else last_size
    if first_size + last_size > count or min(first_size, last_size) < 0:
        raise ValueError(
            "The sum of `left_size` and `right_size` must not be larger than the number of elements. "
            f"Received: left_size={left_size}, right_size={right_size}, elements: {count}"
        )
    if shuffle:
        elements = elements.shuffle(
            count, seed=random.getrandbits(31) if seed is None else seed, reshuffle_each_iteration=False
        )
    return elements.take(first_size), elements.skip(count - last_size)


def _count(size: float | None, of: int) -> int | None:
    if isinstance(size, float) and not math.isfinite(size):
        raise ValueError(f"A size is a share or a number of elements. Got {size}")
    return None if size is None else round(size * of) if isinstance(size, float) else size
