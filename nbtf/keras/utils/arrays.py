"""Converts labels, features and sequences to arrays for models, and arranges them in batches."""

from __future__ import annotations

from typing import Any

import numpy as np

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
