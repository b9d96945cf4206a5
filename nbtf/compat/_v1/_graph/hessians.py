"""The second derivatives of a scalar in a graph."""

from __future__ import annotations

from typing import Any, cast

from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.creation import zeros_like
from nbtf._ops.arrays.joining import stack
from nbtf.autodiff.graphs import hessians as refuse
from nbtf.compat._v1._graph.defaults import building
from nbtf.compat._v1._graph.gradients import gradients


def hessians(
    ys: Any,
    xs: Any,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
) -> list[Any]:
    """Returns the second derivatives of the sum of `ys` with respect to each of `xs`: `x.shape + x.shape`.

    Args:
      ys: a tensor or a list of tensors.
      xs: a tensor or a variable, or a list of them, whose shapes the graph knows: each element makes nodes of its own.
      colocate_gradients_with_ops: whether gradients stand on the device of the node that they belong to.
      gate_gradients, aggregation_method: accepted for TensorFlow's sake, without effect.

    Raises:
      LookupError: an op on the way has no gradient.
      ValueError: the shape of one of `xs` is not known.
      RuntimeError: ops run at once.

    >>> import nbtf.compat.v1 as tf1
    >>> with tf1.Graph().as_default(), tf1.Session() as sess:
    ...     x = tf1.constant([1.0, 2.0])
    ...     print(sess.run(tf1.hessians(tf1.reduce_sum(x * x * x), x)[0]))
    [[ 6.  0.]
     [ 0. 12.]]
    """
    graph = building()
    if graph is None:
        refuse(ys, xs)
    with graph.inside():
        sources: list[Any] = list(cast("list[Any]", xs)) if isinstance(xs, list | tuple) else [xs]
        slopes = gradients(ys, sources, colocate_gradients_with_ops=colocate_gradients_with_ops)
        return [_rows(slope, x, colocate_gradients_with_ops) for slope, x in zip(slopes, sources, strict=True)]


def _rows(slope: Any, x: Any, colocate: bool) -> Any:
    count = x.shape.num_elements()
    if count is None:
        raise ValueError(f"The shape of {x!r} must be known for its hessian.")
    flat = reshape(slope, [-1])
    lengths = x.shape.as_list()
    rows = [gradients(flat[place], x, colocate_gradients_with_ops=colocate)[0] for place in range(count)]
    return reshape(stack([zeros_like(flat) if row is None else reshape(row, [-1]) for row in rows]), lengths * 2)
