"""Arrays of labels, features and texts, as models want them."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbtf._runtime.arguments import check_whole
from nbtf._runtime.tensor import Tensor

Array = np.ndarray[Any, Any]


def to_categorical(x: Any, num_classes: int | None = None) -> Any:
    """Returns rows with a one at the place of each class, and zeros elsewhere.

    Args:
      x: numbers of classes, from 0; a last axis of length 1 is left out.
      num_classes: the length of a row; the largest number and one when None.

    Returns:
      float32, with an axis more than `x`: an array, or a tensor if `x` is one.

    Raises:
      MemoryError: there are too many classes.
      ValueError: `x` are no numbers of classes.

    >>> tf.keras.utils.to_categorical([0, 2])
    array([[1., 0., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    try:
        labels = np.asarray(x, dtype=np.int64)
    except OverflowError as error:
        raise ValueError(f"`x` must be numbers of classes: {error}") from None
    if labels.ndim > 1 and labels.shape[-1] == 1:
        labels = labels[..., 0]
    count = int(labels.max(initial=-1)) + 1 if num_classes is None else check_whole(num_classes, "num_classes")
    if labels.size and not -count <= labels.min() <= labels.max() < count:
        raise ValueError(f"`x` must be numbers of classes below {count}. Got {labels.min()} to {labels.max()}")
    rows = np.zeros((labels.size, count), np.float32)
    rows[np.arange(labels.size), labels.reshape(-1)] = 1
    encoded = rows.reshape((*labels.shape, count))
    if isinstance(x, Tensor):
        from nbtf._ops.arrays.creation import constant

        return constant(encoded)
    return encoded


def normalize(x: Any, axis: int = -1, order: int = 2) -> Array:
    """Returns an array divided by its norm along an axis; zeros stay.

    Args:
      x: an array.
      axis: along which the norm is taken.
      order: of the norm.

    Raises:
      ValueError: there is no such axis or norm.

    >>> tf.keras.utils.normalize([[3.0, 4.0]])
    array([[0.6, 0.8]])
    """
    values = np.asarray(x)
    try:
        length = np.atleast_1d(np.linalg.norm(values, order, axis))
    except (TypeError, ValueError) as error:  # NumPy's own classes among them
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
      sequences: lists, or arrays that differ in their first axis only.
      maxlen: the length of all; that of the longest when None.
      dtype: of the array.
      padding: `"pre"` or `"post"`: where values are put in.
      truncating: `"pre"` or `"post"`: where longer ones are cut.
      value: what is put in.

    Raises:
      ValueError: a word is neither, or `sequences` are none.

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
