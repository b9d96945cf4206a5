"""Identity matrices: eye."""

from __future__ import annotations

from typing import Any

from nbtf._ops.arrays.creation import ones, zeros
from nbtf._ops.attributes import as_int, as_ints
from nbtf._ops.linalg.diagonals import diag, set_diag
from nbtf._runtime.tensor import Tensor
from nbtf._types import (
    DTypeLike,
    float32,
)


def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """Returns an identity matrix or a batch of them.

    Args:
      num_rows: number of rows.
      num_columns: number of columns; by default `num_rows`.
      batch_shape: lengths of the batch axes, along which the matrix is repeated; none by default.
      dtype: the dtype of the elements; float32 by default.

    Returns:
      Ones on the diagonal and zeros elsewhere, shape `[*batch_shape, num_rows, num_columns]`.

    >>> tf.eye(2).numpy()
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    columns = num_rows if num_columns is None else num_columns
    try:
        rows, columns = as_int(num_rows), as_int(columns)
    except (AttributeError, TypeError):
        raise TypeError(
            "Arguments `num_rows` and `num_columns` must be positive integer values. "
            f"Received: num_rows={num_rows}, num_columns={columns}"
        ) from None
    batch = as_ints(batch_shape or ())
    marks = ones([*batch, min(rows, columns)], dtype)
    if rows == columns:
        return diag(marks)
    return set_diag(zeros([*batch, rows, columns], dtype), marks)
