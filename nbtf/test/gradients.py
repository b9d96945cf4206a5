"""Comparison of gradients with finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nbtf._runtime.conversion import as_tensor
from nbtf.autodiff.tape import GradientTape

Matrices = list[np.ndarray[Any, Any]]


def compute_gradient(f: Callable[..., Any], x: Sequence[Any], delta: float | None = None) -> tuple[Matrices, Matrices]:
    """Returns a function's Jacobians, computed from its gradients and from finite differences.

    Args:
      f: function that takes as many tensors as `x` has and returns one tensor.
      x: list of float tensors or arrays at which the Jacobians are computed.
      delta: step of the finite differences; 1/1024 by default.

    Returns:
      Two lists with a matrix for each argument. A matrix has a row for each element of the result and a column for
      each element of the argument.

    Raises:
      ValueError: if `x` is not a list.

    >>> exact, measured = tf.test.compute_gradient(tf.square, [tf.constant([1.0, 3.0])])
    >>> exact[0].tolist(), measured[0].round(3).tolist()
    ([[2.0, 0.0], [0.0, 6.0]], [[2.0, 0.0], [0.0, 6.0]])
    """
    if not isinstance(x, list):
        raise ValueError(f"`x` must be a list of tensors. Got a {type(x).__name__}: write [x].")
    values = [as_tensor(value) for value in x]
    step = 1.0 / 1024 if delta is None else delta
    with GradientTape(persistent=True) as tape:
        tape.watch(values)
        result = f(*values)
    exact = [_matrix(tape.jacobian(result, value, unconnected_gradients="zero"), result, value) for value in values]
    return exact, [_measured(f, values, number, result, step) for number in range(len(values))]


def _matrix(jacobian: Any, result: Any, value: Any) -> np.ndarray[Any, Any]:
    return np.asarray(as_tensor(jacobian).numpy()).reshape(result.shape.num_elements(), value.shape.num_elements())


def _measured(f: Any, values: list[Any], number: int, result: Any, step: float) -> np.ndarray[Any, Any]:
    """Returns a Jacobian from central differences."""
    array = np.asarray(values[number].numpy())
    columns: list[Any] = []
    for position in np.ndindex(array.shape):
        sides: list[Any] = []
        for sign in (1, -1):
            moved = array.copy()
            moved[position] += sign * step
            arguments = [as_tensor(moved, values[number].dtype) if n == number else v for n, v in enumerate(values)]
            sides.append(np.asarray(f(*arguments).numpy()).ravel())
        columns.append((sides[0] - sides[1]) / (2 * step))
    count: int = result.shape.num_elements()
    return np.stack(columns, 1) if columns else np.zeros((count, 0), array.dtype)
