"""Control flow in graphs, such as `tf.cond` and `tf.while_loop`: each is one node that runs functions built before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import nbtf
from nbtf._graph.control_flow import as_start, check_turn
from nbtf._graph.operation import Operation
from nbtf._graph.shape_errors import shape_text
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.arrays.tensor_array import TensorArray, with_flow_like
from nbtf._ops.structure import assert_same_structure, flatten, is_nested, map_structure, pack_sequence_as
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape
from nbtf._types import DType, bool_
from nbtf.compat._v1._graph.branch import Branch, flat_results
from nbtf.compat._v1._graph.defaults import building, get_default_graph
from nbtf.compat._v1._graph.deferred import Deferred
from nbtf.compat._v1._surface.scoping import opened
from nbtf.compat._v1._surface.wrapping import one_of
from nbtf.compat._v1._variables.running import value_of

Values = Sequence[Tensor]
Known = Sequence[tuple[TensorShape, DType]]


def add_node(
    record: Deferred, inputs: Sequence[Any], outputs: Known, name: str, subgraphs: Sequence[Subgraph] = ()
) -> Operation:
    """Adds a node that runs a function to the default graph.

    Args:
      record: record of the function.
      inputs: tensors, and values that become constants.
      outputs: shape and dtype of each output.
      subgraphs: functions that the node runs; it inherits their dependencies.
    """
    graph = get_default_graph()
    tensors = [as_tensor(value) for value in inputs]
    graph.settle()
    waits_for = [node for subgraph in subgraphs for node in subgraph.branch.waits_for if node.graph is graph]
    with graph.control_dependencies(waits_for):
        return graph.add_known(record, tensors, {}, name, lambda node_name: list(outputs))


class Subgraph:
    """A function of tensors that is built once, and that a node runs whenever it needs the results."""

    def __init__(
        self,
        function: Callable[..., Any],
        specs: Known = (),
        arguments: Callable[[list[GraphTensor]], Sequence[Any]] = list,
    ) -> None:
        """Builds the function in a branch of the default graph.

        Args:
          function: the function.
          specs: shape and dtype of each input.
          arguments: returns the function's arguments for its inputs.
        """
        graph = get_default_graph()
        graph.settle()
        self.branch = Branch(graph)
        self._inputs = [self.branch.add_input(shape, dtype) for shape, dtype in specs]
        self.result: Any = self.branch.built(function, arguments(self._inputs))
        self.fetched = flat_results(self.result)
        self.sources = self.branch.sources()
        """The outer tensors that it uses."""

    def run(self, inputs: Sequence[Any], captured: Values) -> list[Any]:
        """Returns the results for values of the inputs and of the outer tensors."""
        values = dict(zip(self._inputs, inputs, strict=True))
        return self.branch.run(self.fetched, {**values, **dict(zip(self.branch.taken.values(), captured, strict=True))})


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """Returns the result of one of two functions, which a condition selects when a session runs; see `nbtf.cond`.

    Both functions are called once to build their ops, and a session runs only the ops of the selected one. Ops that a
    function uses but that were created outside it always run. A function can change variables but not create them.

    Args:
      strict: whether lists with one value stay lists.
      fn1: older name of `true_fn`.
      fn2: older name of `false_fn`.

    Raises:
      TypeError: if `pred` is a Python bool, or a function is not callable.
      ValueError: if the functions return different structures or dtypes.
      NotImplementedError: if a function creates a variable.

    >>> import nbtf.compat.v1 as tf1
    >>> x = tf1.placeholder(tf1.float32, [])
    >>> y = tf1.cond(x > 0, lambda: x * 2, lambda: -x)
    >>> with tf1.Session() as sess:
    ...     print(sess.run(y, {x: 3.0}), sess.run(y, {x: -3.0}))
    6.0 3.0
    """
    yes, no = one_of("true_fn", true_fn, "fn1", fn1), one_of("false_fn", false_fn, "fn2", fn2)
    if not callable(yes) or not callable(no):
        wrong = "true_fn" if not callable(yes) else "false_fn"
        raise TypeError(f"'{wrong}' must be callable.")
    if building() is None:
        return nbtf.cond(pred, yes, no)
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool")
    with opened("cond", name):
        condition: Any = as_tensor(pred)
        if condition._shape.rank:
            shape = shape_text(condition._shape.dims)
            raise ValueError(
                f"Shape must be rank 0 but is rank {condition._shape.rank} for 'cond/Switch' (op: 'Switch') with input "
                f"shapes: {shape}, {shape}."
            )
        return _choose_branch(condition, yes, no, strict)


def _choose_branch(pred: Any, yes: Callable[[], Any], no: Callable[[], Any], strict: bool) -> Any:
    subgraphs = [Subgraph(yes), Subgraph(no)]
    results, fetched = [subgraph.result for subgraph in subgraphs], [subgraph.fetched for subgraph in subgraphs]
    _check_alike(*results, *fetched)
    outputs = [_merge_results(*pair) for pair in zip(*fetched, strict=True)]
    count = len(subgraphs[0].sources)

    def run(values: Values) -> Sequence[Any]:
        takes_yes = bool(value_of(values[0], "cond").numpy())
        captured = values[1 : 1 + count] if takes_yes else values[1 + count :]
        chosen = subgraphs[0] if takes_yes else subgraphs[1]
        return [as_tensor(takes_yes) if result is None else result for result in chosen.run((), captured)]

    record = Deferred("Merge", run, takes_variables=True)
    node = add_node(record, [pred, *subgraphs[0].sources, *subgraphs[1].sources], outputs, "Merge", subgraphs)
    return _like(results[0], node, strict)


def _check_alike(first: Any, second: Any, yes: Sequence[Any], no: Sequence[Any]) -> None:
    if len(yes) != len(no):
        raise ValueError("Outputs of true_fn and false_fn must have the same structure.")
    if len(yes) > 1:
        assert_same_structure(first, second)
    for yes_result, no_result in zip(yes, no, strict=True):
        if _dtype(yes_result) is not _dtype(no_result):
            raise ValueError(
                "Outputs of 'true_fn' and 'false_fn' must have the same type(s). "
                f"Received {_dtype(yes_result).name} from 'true_fn' and {_dtype(no_result).name} from 'false_fn'."
            )


def _dtype(result: Any) -> DType:
    return result._dtype if isinstance(result, GraphTensor) else bool_


def _merge_results(yes_result: Any, no_result: Any) -> tuple[TensorShape, DType]:
    if not isinstance(yes_result, GraphTensor) or not isinstance(no_result, GraphTensor):
        return TensorShape(()), bool_
    return yes_result._shape.most_specific_compatible_shape(no_result._shape), yes_result._dtype


def _like(structure: Any, node: Operation, strict: bool) -> Any:
    """Returns a node's outputs in the structure of a function's result; a list with one value becomes the value."""
    outputs = iter(node.outputs)
    leaves = [None if leaf is None else with_flow_like(leaf, next(outputs)) for leaf in flatten(structure)]
    packed = pack_sequence_as(structure, leaves)
    if not strict and isinstance(structure, (list, tuple)) and len(leaves) == 1:
        return leaves[0]
    return packed


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: int | None = None,
    return_same_structure: bool = False,
) -> Any:
    """Repeats ops while a condition is true in the session; see `nbtf.while_loop`.

    Args:
      parallel_iterations, back_prop, swap_memory: accepted for compatibility and ignored.
      return_same_structure: whether a list with one value stays a list.

    Returns:
      The final values, in the list or tuple that `body` returns; a single value is returned alone.

    Raises:
      TypeError: if a function is not callable.
      ValueError: if `loop_vars` is empty, or one changes its dtype or shape.
    """
    if not callable(cond) or not callable(body):
        raise TypeError(f"'{'cond' if not callable(cond) else 'body'}' must be callable.")
    if not loop_vars:
        raise ValueError("'loop_vars' must be provided.")
    if building() is None:
        return _repeated_at_once(cond, body, loop_vars, maximum_iterations, return_same_structure)
    returned: list[Any] = [loop_vars]

    def noted(*values: Any) -> Any:
        returned[0] = body(*values)
        return returned[0]

    with opened("while", name):
        first: Any = map_structure(as_start, loop_vars)
        shapes: Any = None if shape_invariants is None else flatten(shape_invariants)
        outputs = _repeat(cond, noted, first, shapes, maximum_iterations, loop_vars)
    if len(outputs) == 1 and not return_same_structure:
        return outputs[0]
    packed: Any = _packed_like(loop_vars, outputs)
    outer: Any = returned[0].__class__
    sequences: tuple[Any, ...] = (list, tuple)
    return outer(packed) if outer in sequences and packed.__class__ in sequences else packed


def _repeated_at_once(cond: Any, body: Any, loop_vars: Any, limit: Any, return_same_structure: bool) -> Any:
    """Repeats ops while no graph is built; a single value that `body` returns outside a list is returned alone."""
    bare = [False]

    def listed(*values: Any) -> Any:
        result = body(*values)
        bare[0] = not (return_same_structure or is_nested(result))
        return (result,) if bare[0] else result

    values = nbtf.while_loop(cond, listed, loop_vars, maximum_iterations=limit)
    return values[0] if bare[0] else values


def _packed_like(structure: Any, tensors: Sequence[Any]) -> Any:
    """Returns tensors in a structure, with `TensorArray`s where the structure has them."""
    leaves = flatten(structure)
    return pack_sequence_as(
        structure, [with_flow_like(leaf, tensor) for leaf, tensor in zip(leaves, tensors, strict=True)]
    )


def _repeat(
    cond: Callable[..., Any], body: Callable[..., Any], first: Any, shapes: Any, limit: int | None, loop_vars: Any
) -> list[GraphTensor]:
    starts: list[GraphTensor] = flatten(first)
    specs = [(TensorShape(s), t._dtype) for s, t in zip(shapes or [t._shape for t in starts], starts, strict=True)]

    def arguments(inputs: list[GraphTensor]) -> Sequence[Any]:
        packed: Any = _packed_like(loop_vars, inputs)
        return [packed] if packed.__class__ is GraphTensor or isinstance(packed, dict | TensorArray) else packed

    test, turn = Subgraph(cond, specs, arguments), Subgraph(body, specs, arguments)
    _check_round(starts, specs, turn.fetched)
    count, captured = len(starts), len(starts) + len(test.sources)

    def run(values: Values) -> Sequence[Any]:
        state = [value_of(value, "while") for value in values[:count]]
        rounds = 0
        while (limit is None or rounds < limit) and test.run(state, values[count:captured])[0].numpy():
            state = turn.run(state, values[captured:])
            rounds += 1
        return state

    record = Deferred("Exit", run, takes_variables=True)
    return add_node(record, [*starts, *test.sources, *turn.sources], specs, "Exit", [test, turn]).outputs


def _check_round(starts: Sequence[GraphTensor], shapes_and_dtypes: Known, results: Sequence[Any]) -> None:
    if len(results) != len(starts):
        raise ValueError(
            "The number of inputs and outputs of a loop's body must be the same: "
            f"{len(starts)} variables, but body returned {len(results)} values."
        )
    for start, spec, result in zip(starts, shapes_and_dtypes, results, strict=True):
        check_turn(start, spec, result)
