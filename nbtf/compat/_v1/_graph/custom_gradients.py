"""Custom gradients of functions in graphs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from nbtf._graph.shapes import Known
from nbtf._ops.arrays.creation import zeros_like
from nbtf._ops.arrays.identity import identity
from nbtf._ops.structure import flatten, pack_sequence_as
from nbtf._runtime.conversion import as_tensor
from nbtf.autodiff import custom
from nbtf.compat._v1._graph.branch import Branch
from nbtf.compat._v1._graph.defaults import building
from nbtf.compat._v1._graph.deferred import Deferred, WayBack
from nbtf.compat._v1._graph.session_graph import Abilities, Graph

Function = Callable[..., Any]


def custom_gradient(f: Function | None = None) -> Any:
    """Returns a function with a custom gradient, given a function that returns its result and a gradient function.

    Args:
      f: function of tensors; without it, a decorator is returned.

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
        return at_once(*args, **kwargs) if graph is None else call_with_own_gradient(graph, f, args, kwargs)

    return decorated


def call_with_own_gradient(graph: Graph, f: Function, args: Any, kwargs: Any) -> Any:
    """Returns the results of a function, through which gradients flow only by its own gradient function.

    Raises:
      ValueError: if there are keyword arguments, with TensorFlow's message.
      TypeError: if the function uses variables that its gradient function does not accept.
    """
    if kwargs:
        raise ValueError(custom.ONLY_EAGER_KEYWORDS)
    with graph.inside():
        return _built(graph, f, args)


def _built(graph: Graph, f: Function, args: Any) -> Any:
    inputs: list[Any] = [as_tensor(argument) for argument in flatten(args)]
    first = graph.version
    result, backward = f(*pack_sequence_as(args, inputs))
    values: list[Any] = [as_tensor(item) for item in flatten(result)]
    variables = _variables_read(graph, first)
    custom.check_takes_variables(backward, variables)
    towards = custom.checked_backward(backward, len(inputs), variables)
    inputs += [variable.__tf_source__ for variable in variables]
    count = len(values)

    def way_back(grads: Sequence[Any]) -> list[Any]:
        arrived = [zeros_like(output) if grad is None else grad for grad, output in zip(grads, values, strict=True)]
        return [*[None] * count, *towards(*arrived)]  # no gradients flow through the function's own ops

    def run(tensors: Sequence[Any]) -> Sequence[Any]:
        if repeat is None:
            return tensors[:count]
        outputs: list[Any] = [identity(tensor) for tensor in tensors[:count]]
        custom.record_own_gradient(list(tensors), outputs, partial(repeat, tensors))
        return outputs

    graph.settle()
    specs: Known = [(output._shape, output._dtype) for output in values]
    captured, repeat = _traced(graph, way_back, specs, count + len(inputs)) if isinstance(graph, Branch) else ([], None)
    record = Deferred("IdentityN", run, own_gradient=way_back)

    def outputs_of(name: str) -> Known:
        return specs

    outputs = graph.add_known(record, [*values, *inputs, *captured], {}, "IdentityN", outputs_of).outputs
    return pack_sequence_as(result, outputs)


def _traced(graph: Branch, way_back: WayBack, specs: Known, count: int) -> tuple[list[Any], Callable[..., list[Any]]]:
    """Returns a gradient function that can be repeated on values, because branches run again for their gradients.

    Args:
      graph: the branch.
      way_back: builds the gradients of the node's first inputs.
      specs: shape and dtype of each output.
      count: number of the node's inputs, without the tensors that `way_back` captures from the branch.

    Returns:
      The captured tensors, and a function from the node's inputs and output gradients to its input gradients.
    """
    back = Branch(graph)
    arriving = [back.add_input(shape, dtype) for shape, dtype in specs]
    flows = back.built(lambda: way_back(arriving), ())
    captured = back.sources()
    numbers = [number for number, flow in enumerate(flows) if flow is not None]

    def repeat(tensors: Sequence[Any], *grads: Any) -> list[Any]:
        values = dict(zip([*arriving, *back.taken.values()], [*grads, *tensors[count:]], strict=True))
        returned = dict(zip(numbers, back.run([flows[number] for number in numbers], values), strict=True))
        return [returned.get(number) for number in range(len(tensors))]

    return captured, repeat


def _variables_read(graph: Graph, first: int) -> list[Any]:
    """Returns the trainable variables that are used by nodes after the first `first` nodes of the graph."""
    variables = graph.variables_read_by(graph.get_operations()[first:])
    return [variable for variable in variables if variable.trainable]


Abilities.call_with_own_gradient = call_with_own_gradient
