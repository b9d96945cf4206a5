"""How a function of a graph brings its own gradient."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from nbtf._graph.tensor import GraphTensor
from nbtf._ops.arrays.creation import zeros_like
from nbtf._ops.structure import flatten, pack_sequence_as
from nbtf._runtime.conversion import as_tensor
from nbtf.autodiff import custom
from nbtf.compat._v1._graph.defaults import building
from nbtf.compat._v1._graph.deferred import Deferred
from nbtf.compat._v1._graph.graph import Graph

Function = Callable[..., Any]


def custom_gradient(f: Function | None = None) -> Any:
    """Returns a function with a gradient of its own, from one that returns its result and its gradient function.

    Args:
      f: the function, which takes tensors; without it a decorator comes back.

    >>> import nbtf.compat.v1 as tf1
    >>> @tf1.custom_gradient
    ... def clipped(x):
    ...     return x * x, lambda dy: tf1.clip_by_value(dy * 2.0 * x, -1.0, 1.0)
    >>> with tf1.Graph().as_default(), tf1.Session() as sess:
    ...     x = tf1.constant(3.0)
    ...     print(sess.run(tf1.gradients(clipped(x), x)))
    [np.float32(1.0)]
    """
    if f is None:
        return custom_gradient
    at_once = custom.custom_gradient(f)

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        graph = building()
        if graph is None:
            return at_once(*args, **kwargs)
        with graph.inside():
            return _built(graph, f, args, kwargs)

    return decorated


def _built(graph: Graph, f: Function, args: Any, kwargs: Any) -> Any:
    inputs: list[Any] = [as_tensor(argument) for argument in flatten(args)]
    result, backward = f(*pack_sequence_as(args, inputs), **kwargs)
    values: list[Any] = [as_tensor(item) for item in flatten(result)]
    count = len(values)

    def way_back(grads: Sequence[Any]) -> list[Any]:
        arrived = [zeros_like(output) if grad is None else grad for grad, output in zip(grads, values, strict=True)]
        returned = backward(*arrived)
        flows: list[Any] = [returned] if isinstance(returned, GraphTensor) else flatten(returned)
        if len(flows) != len(inputs):
            counts = f"{len(inputs)} gradients, but returned {len(flows)} instead."
            raise ValueError(f"custom_gradient function expected to return {counts}")
        return [*[None] * count, *flows]  # nothing flows back through what the function itself did

    record = Deferred("IdentityN", lambda tensors: tensors[:count], own_gradient=way_back)
    graph.settle()
    specs = [(output._shape, output._dtype) for output in values]
    outputs = graph.add_known(record, [*values, *inputs], {}, "IdentityN", lambda name: specs).outputs
    return pack_sequence_as(result, outputs)
