"""Converts labels, features and sequences to arrays for models, and arranges them in batches."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np

from nbtf import data
from nbtf._runtime.arguments import check_whole
from nbtf._runtime.tensor import Tensor

Array = np.ndarray[Any, Any]


def to_categorical(x: Any, num_classes: int | None = None) -> Any:
    """Returns one-hot vectors: a one at the position of each class, and zeros elsewhere.

    Args:
      x: class numbers, counted from 0; a last axis of length 1 is removed.
      num_classes: length of a vector; by default the largest number plus one.

    Returns:
      float32 values with one more axis than `x`: an array, or a tensor if `x` is a tensor.

    Raises:
      MemoryError: if there are too many classes.
      ValueError: if `x` does not contain class numbers.

    >>> tf.keras.utils.to_categorical([0, 2])
    array([[1., 0., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    try:
        labels = np.asarray(x, dtype=np.int64)
    except OverflowError as error:
        raise ValueError(f"`x` must contain class numbers: {error}") from None
    if labels.ndim > 1 and labels.shape[-1] == 1:
        labels = labels[..., 0]
    count = int(labels.max(initial=-1)) + 1 if num_classes is None else check_whole(num_classes, "num_classes")
    if labels.size and not -count <= labels.min() <= labels.max() < count:
        raise ValueError(f"`x` must contain class numbers below {count}. Got {labels.min()} to {labels.max()}")
    rows = np.zeros((labels.size, count), np.float32)
    rows[np.arange(labels.size), labels.reshape(-1)] = 1
    encoded = rows.reshape((*labels.shape, count))
    if isinstance(x, Tensor):
        from nbtf._ops.arrays.creation import constant

        return constant(encoded)
    return encoded


def normalize(x: Any, axis: int = -1, order: int = 2) -> Array:
    """Returns an array divided by its norm along an axis; zeros stay zeros.

    Args:
      x: an array.
      axis: axis along which the norm is computed; the last by default.
      order: order of the norm; 2 by default.

    Raises:
      ValueError: if the axis or the norm does not exist.

    >>> tf.keras.utils.normalize([[3.0, 4.0]])
    array([[0.6, 0.8]])
    """
    values = np.asarray(x)
    try:
        length = np.atleast_1d(np.linalg.norm(values, order, axis))
    except (TypeError, ValueError) as error:  # includes NumPy's own error classes
        raise ValueError(f"normalize: no norm of order {order!r} along axis {axis!r}: {error}") from None
    length[length == 0] = 1
    return values / np.expand_dims(length, axis)


def pad_sequences(
    sequences: Any,
    maxlen: int | None = None,
    dtype: Any = "int32",
    padding: str = "pre",
    truncating: str = "pre",
    value: Any = 0.0,
) -> Array:
    """Returns sequences of different lengths as one array.

    Args:
      sequences: lists, or arrays that differ only in the length of their first axis.
      maxlen: length of all results; by default that of the longest sequence.
      dtype: dtype of the array; int32 by default.
      padding: side at which shorter sequences are padded: `"pre"` or `"post"`.
      truncating: side at which longer sequences are cut: `"pre"` or `"post"`.
      value: padding value; 0 by default.

    Raises:
      ValueError: if `padding` or `truncating` has another value, or if `sequences` does not contain sequences.

    >>> tf.keras.utils.pad_sequences([[1], [2, 3, 4]], maxlen=2)
    array([[0, 1],
           [3, 4]], dtype=int32)
    """
    if not hasattr(sequences, "__len__"):
        raise ValueError("`sequences` must be iterable.")
    for word, noun in ((padding, "Padding"), (truncating, "Truncating")):
        if word not in ("pre", "post"):
            raise ValueError(f'{noun} type "{word}" not understood')
    rows: list[Array] = []
    for sequence in sequences:
        if not hasattr(sequence, "__len__"):
            raise ValueError(f"`sequences` must be a list of iterables. Found non-iterable: {sequence!s}")
        rows.append(np.asarray(sequence, dtype=dtype))
    length = max((len(row) for row in rows), default=0) if maxlen is None else maxlen
    shape = next((row.shape[1:] for row in rows if len(row)), ())
    padded: Array = np.full((len(rows), length, *shape), value, dtype=dtype)
    for number, row in enumerate(rows):
        kept_steps = row[max(len(row) - length, 0) :] if truncating == "pre" else row[:length]
        if len(kept_steps):
            padded[number, slice(length - len(kept_steps), None) if padding == "pre" else slice(len(kept_steps))] = (
                kept_steps
            )
    return padded


def pack_x_y_sample_weight(x: Any, y: Any = None, sample_weight: Any = None) -> Any:
    """Returns a batch of the given parts.

    >>> tf.keras.utils.pack_x_y_sample_weight(1, 2)
    (1, 2)
    """
    if y is None:
        return x if not isinstance(x, list | tuple) else (x,)  # pyright: ignore[reportUnknownVariableType]
    return (x, y) if sample_weight is None else (x, y, sample_weight)


def unpack_x_y_sample_weight(batch: Any) -> tuple[Any, Any, Any]:
    """Returns inputs, targets and weights of a batch; None for a missing part.

    Raises:
      ValueError: if the batch has more than three parts.

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
    """Returns two data sets: the first elements and the remaining ones.

    Args:
      dataset: a `tf.data.Dataset`, an array, or a structure of arrays.
      left_size: number or fraction of elements in the first data set; by default the rest.
      right_size: number or fraction of elements in the second data set; by default the rest.
      shuffle: whether to shuffle the elements first; false by default.
      seed: seed of the random order.

    Raises:
      ValueError: if neither size is given, or if both together exceed the number of elements.

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
        raise ValueError(f"A size must be a fraction or a number of elements. Got {size}")
    return None if size is None else round(size * of) if isinstance(size, float) else size
