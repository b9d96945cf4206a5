"""Gradient functions for graphs only; in eager execution they raise an error."""

from __future__ import annotations

from typing import Any

from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.creation import zeros_like
from nbtf._ops.arrays.joining import stack
from nbtf._runtime.context import open_graph

_EAGER = "tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape instead."


class AggregationMethod:
    """Methods of summing gradients, accepted by some functions; all give the same sum."""

    ADD_N = 0
    DEFAULT = 0
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str | None = "gradients",
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = "none",
) -> list[Any]:
    """Returns the derivatives of the sum of `ys` with respect to each of `xs`, in a `tf.function`.

    Args:
      ys: a tensor or a list of tensors.
      xs: a tensor or a variable, or a list of them.
      grad_ys: initial gradients of `ys`; None means ones.
      name: accepted and ignored.
      gate_gradients: accepted and ignored.
      aggregation_method: accepted and ignored.
      stop_gradients: tensors through which no gradient flows.
      unconnected_gradients: result for any of `xs` that `ys` do not depend on: a `tf.UnconnectedGradients` or its
        name.

    Returns:
      For each of `xs`, a tensor, a `tf.IndexedSlices` if only rows of it were read, or None.

    Raises:
      RuntimeError: in eager execution; use a `tf.GradientTape` instead.
      LookupError: if an op between `ys` and `xs` has no gradient.
      ValueError: if `grad_ys` and `ys` differ in number, or `unconnected_gradients` is unknown.

    >>> slope = tf.function(lambda x: tf.gradients(x * x, x))
    >>> slope(tf.constant(3.0))[0].numpy()
    np.float32(6.0)
    """
    graph = open_graph()
    if not getattr(graph, "building_function", False):
        raise RuntimeError(_EAGER)
    from nbtf.autodiff.traced import function_gradients

    return function_gradients(graph, ys, xs, grad_ys, stop_gradients, unconnected_gradients or "none")


def hessians(
    ys: Any, xs: Any, gate_gradients: bool = False, aggregation_method: int | None = None, name: str = "hessians"
) -> list[Any]:
    """Returns the second derivatives of the sum of `ys` with respect to each of `xs`, in a `tf.function`.

    Args:
      ys: a tensor or a list of tensors.
      xs: a tensor or a variable, or a list of them, with known shapes.
      gate_gradients: accepted and ignored.
      aggregation_method: accepted and ignored.
      name: accepted and ignored.

    Returns:
      For each of `xs`, a tensor of shape `x.shape + x.shape`.

    Raises:
      RuntimeError: in eager execution; use `GradientTape.jacobian` on a gradient instead.
      ValueError: if the shape of any of `xs` is unknown.

    >>> bend = tf.function(lambda x: tf.hessians(tf.reduce_sum(x * x * x), x))
    >>> bend(tf.constant([1.0, 2.0]))[0].numpy()
    array([[ 6.,  0.],
           [ 0., 12.]], dtype=float32)
    """
    sources: list[Any] = [*xs] if isinstance(xs, list | tuple) else [xs]  # pyright: ignore[reportUnknownArgumentType]
    return [_second_slopes(slope, x) for slope, x in zip(gradients(ys, sources), sources, strict=True)]


def _second_slopes(slope: Any, x: Any) -> Any:
    count = x.shape.num_elements()
    if count is None:
        raise ValueError(
            f"The shape of {x!r} must be known to compute its hessian in a tf.function. Give the function an "
            "input_signature with all lengths, or call tape.jacobian on a gradient."
        )
    flat = reshape(slope, [-1])
    rows = [gradients(flat[number], x)[0] for number in range(count)]
    return reshape(
        stack([zeros_like(flat) if row is None else reshape(row, [-1]) for row in rows]), [*x.shape, *x.shape]
    )
