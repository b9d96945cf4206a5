"""Branches and loops of a traced function: nodes that run, with values, the blocks that were traced for them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from nbtf._graph.composite import Composite
from nbtf._graph.function_graph import FunctionGraph
from nbtf._graph.handles import object_of, tensors_described, tensors_in
from nbtf._graph.operation import flat
from nbtf._graph.plan import Plan
from nbtf._graph.signature import leaf_types, parts_of, tensors_taken, type_of
from nbtf._graph.tensor import GraphTensor
from nbtf._graph.trial import inside
from nbtf._ops.arrays.joining import stack
from nbtf._ops.arrays.tensor_array import TensorArray, flow_of, with_flow_like
from nbtf._ops.control.flow import NO_MATCH, several_match
from nbtf._ops.debugging.values import Assert
from nbtf._ops.math.arithmetic import cast
from nbtf._ops.ragged_and_sparse.indexed_slices import IndexedSlices
from nbtf._ops.reductions.sums import reduce_sum
from nbtf._ops.reductions.truth import reduce_any
from nbtf._ops.structure import assert_same_structure, flatten, is_nested, map_structure, pack_sequence_as
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.scopes import EMPTY, SCOPE
from nbtf._shapes import TensorShape
from nbtf._types import DType, int32, int64

Spec = tuple[TensorShape, DType]


class Block:
    """A function traced for a branch or for the iterations of a loop: its graph and its results."""

    def __init__(self, name: str, specs: Sequence[Spec] = ()) -> None:
        """Starts a graph inside the open one.

        Args:
          name: prefix of the names in it.
          specs: shape and dtype of each argument.
        """
        scope = SCOPE() or EMPTY
        self.outer: FunctionGraph = scope.graph
        self.graph = FunctionGraph(self.outer.name, self.outer)
        self.graph.seeds = self.outer.seeds
        self._scope = scope.with_(graph=self.graph, tapes=(), request=None)
        self._name = name
        self.tensors: list[GraphTensor] = []
        """The tensors that the block returns."""
        with inside(self._scope), self.graph.name_scope(name):
            self.arguments = [self.graph.argument("Placeholder", shape, dtype) for shape, dtype in specs]

    def trace(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Runs a function, adds its ops to the graph, and returns its result."""
        with inside(self._scope), self.graph.name_scope(f"{self._name}/"):
            return function(*arguments)

    def convert_result(self, value: Any) -> GraphTensor:
        """Returns a value as a tensor of the graph."""
        with inside(self._scope):
            return self.graph._own(as_tensor(flow_of(value)))

    def convert_leaf(self, value: Any) -> Any:
        """Returns a value as a tensor of the graph; a composite as one of such tensors; None stays None."""
        return None if value is None else with_tensors(self.convert_result, value)

    def finish(self, tensors: Sequence[GraphTensor]) -> None:
        """Sets the results; nothing can be added to the block afterwards."""
        self.graph.settle()
        self.graph.is_finished = True
        self.tensors = list(tensors)
        inputs = [value for step in self.graph.steps for value in flat(step.inputs)]
        self._variables = list({id(value): value for value in inputs if is_variable(value)}.values())
        self._plan = Plan(self.graph, self.tensors, [*self.arguments, *self._variables])

    def take_inputs(self, inputs: dict[int, Any]) -> None:
        """Adds its captured tensors to the inputs of the node that runs it, by id."""
        outer_values = [*self._plan.captured, *self._variables]
        inputs.update({id(value): self.graph.handles.get(id(value), value) for value in outer_values})
        self.graph.handles.clear()
        keys = [*inputs]
        self._numbers = [keys.index(id(value)) for value in outer_values]

    def run(self, arguments: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
        """Runs the block.

        Args:
          arguments: values of its arguments.
          inputs: values of the node's inputs.
        """
        outer_values = [inputs[number] for number in self._numbers]
        count = len(self._plan.captured)
        return self._plan.run([*arguments, *outer_values[count:]], outer_values[:count])


def is_variable(value: Any) -> bool:
    """Returns whether a value is a variable."""
    return hasattr(value, "assign_add")


def with_tensors(convert: Callable[[Any], Any], value: Any) -> Any:
    """Returns a value, or each tensor of a composite such as an optional, as `convert` returns it."""
    if not is_composite(value):
        return convert(value)
    tensors: list[Any] = []
    put_together = tensors_taken(value, tensors)
    return put_together(iter([convert(tensor) for tensor in tensors]))


def is_composite(value: Any) -> bool:
    """Returns whether a leaf of a structure consists of several tensors, or of an object's handle."""
    return not isinstance(value, TensorArray) and not is_nested(value) and parts_of(value) is not None


def _takers(leaves: Sequence[Any]) -> tuple[list[Any], list[Callable[[Iterator[Any]], Any]]]:
    """Returns the tensors in converted leaves, and for each leaf a function that takes its tensors from an iterator."""
    tensors: list[Any] = []
    return tensors, [tensors_taken(leaf, tensors) for leaf in leaves]


def _spec_of(tensor: Any) -> Spec:
    return TensorShape(tensor._shape._dims if tensor.__class__ is GraphTensor else tensor.shape), tensor._dtype


def _add(
    type: str, blocks: Sequence[Block], leading: Sequence[Any], specs: Sequence[Spec], function: Callable[..., Any]
) -> list[GraphTensor]:
    """Adds a node that runs blocks, and returns its outputs.

    Args:
      type: the node's op type.
      blocks: the blocks that it runs.
      leading: its own inputs, which come first.
      specs: shape and dtype of each output.
      function: computes the outputs from the values of the inputs.
    """
    inputs: dict[int, Any] = {-1 - number: value for number, value in enumerate(leading)}
    for block in blocks:
        block.take_inputs(inputs)
    graph: Any = (SCOPE() or EMPTY).graph
    return graph.add_composite(Composite(type, function), [*inputs.values()], specs)


# Branches


def choose(index: Any, blocks: Sequence[Block]) -> list[GraphTensor]:
    """Returns the results of one of several blocks with equal result types.

    Args:
      index: a scalar: the block's number, or with two blocks a boolean, true for the first.
      blocks: the blocks to choose from; an index out of range chooses the last.
    """
    specs = [_common(results) for results in zip(*[block.tensors for block in blocks], strict=True)]
    is_test = index.dtype.name == "bool"

    def run(values: Sequence[Any]) -> Sequence[Any]:
        number = int(values[0])
        if is_test:
            number = 1 - number
        block = blocks[number if 0 <= number < len(blocks) else -1]
        return block.run((), values)

    return _add("If" if is_test else "Case", blocks, [index], specs, run)


def _common(tensors: Sequence[GraphTensor]) -> Spec:
    shape = TensorShape(tensors[0]._shape._dims)
    for tensor in tensors[1:]:
        shape = shape.most_specific_compatible_shape(TensorShape(tensor._shape._dims))
    return shape, tensors[0]._dtype


def cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """Returns the result of one of two functions; both are traced.

    Raises:
      TypeError: if their structures or dtypes differ.
    """
    return _choice(pred, [true_fn, false_fn], "true_fn and false_fn arguments to tf.cond", ("true_fn", "false_fn"))


def case(pairs: Sequence[Any], default: Callable[[], Any] | None, exclusive: bool) -> Any:
    """Returns the result of the function with the first true condition; all functions are traced."""
    chosen, _ = first_true(pairs, default, exclusive, cond, Assert)
    return chosen()


def first_true(
    pairs: Sequence[Any],
    default: Callable[[], Any] | None,
    exclusive: bool,
    choose: Callable[..., Any],
    check: Callable[..., Any],
) -> tuple[Callable[[], Any], list[Any]]:
    """Returns a function that adds nested conditions to the graph, and the nodes that check the conditions.

    Args:
      pairs: conditions and functions.
      default: function for no true condition; None makes that an error.
      exclusive: whether several true conditions are an error.
      choose: `cond` of the graph.
      check: `Assert` of the graph.
    """
    conditions = [as_tensor(condition) for condition, _ in pairs]
    checks: list[Any] = []
    holds: Any = stack(conditions) if exclusive or default is None else None
    if exclusive:
        text = several_match([condition.name for condition in conditions])
        checks.append(check(reduce_sum(cast(holds, int32)) < 2, [text, holds], len(pairs)))
    if default is None:
        checks.append(check(reduce_any(holds), [NO_MATCH, holds], len(pairs)))
        *pairs, (_, default) = pairs
    chosen: Any = default
    for condition, function in reversed(pairs):
        chosen = partial(choose, condition, function, chosen)
    return chosen, checks


def switch_case(index: Any, functions: Sequence[Callable[[], Any]]) -> Any:
    """Returns the result of the function at an index; all functions are traced.

    Raises:
      TypeError: if their structures or dtypes differ.
    """
    names = [f"branch {number}" for number in range(len(functions))]
    return _choice(index, functions, "branch_fns arguments to tf.switch_case", names)


def _choice(index: Any, functions: Sequence[Callable[[], Any]], title: str, names: Sequence[str]) -> Any:
    blocks = [Block("cond") for _ in functions]
    results: list[Any] = [block.trace(function) for block, function in zip(blocks, functions, strict=True)]
    results = _with_like_indices(blocks, results)
    owned: list[Any] = [
        map_structure(block.convert_leaf, result) for block, result in zip(blocks, results, strict=True)
    ]
    for number in range(1, len(owned)):
        _check_alike(owned[0], owned[number], title, names[0], names[number])
    for block, result in zip(blocks, owned, strict=True):
        block.finish(_takers(flatten(result))[0])
    outputs = iter(choose(as_tensor(index), blocks))
    leaves = [
        with_flow_like(value, take(outputs))
        for take, value in zip(_takers(flatten(owned[0]))[1], flatten(results[0]), strict=True)
    ]
    return pack_sequence_as(owned[0], leaves)


def _with_like_indices(blocks: Sequence[Block], results: Sequence[Any]) -> list[Any]:
    """Returns the branches' results; the indices of `IndexedSlices` become int64 where those of the branches differ.

    Source: TensorFlow, `cond_v2.py`.
    """
    columns = [flatten(result) for result in results]
    if len({len(column) for column in columns}) > 1:
        return [*results]
    for number, leaves in enumerate(zip(*columns, strict=True)):
        if all(isinstance(leaf, IndexedSlices) for leaf in leaves) and len({leaf.indices.dtype for leaf in leaves}) > 1:
            for block, column in zip(blocks, columns, strict=True):
                column[number] = block.trace(_with_int64, column[number])
    return [pack_sequence_as(result, column) for result, column in zip(results, columns, strict=True)]


def _with_int64(slices: IndexedSlices) -> IndexedSlices:
    return IndexedSlices(slices.values, cast(slices.indices, int64), slices.dense_shape)


def _check_alike(first: Any, other: Any, title: str, first_name: str, other_name: str) -> None:
    text = (
        f"{title} must have the same number, type, and overall structure of return values.\n\n"
        f"{first_name} output: {first}\n{other_name} output: {other}\n\nError details:\n"
    )
    try:
        assert_same_structure(first, other)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{text}{error}") from None
    for a, b in zip(flatten(first), flatten(other), strict=True):
        if _dtypes_in(a) != _dtypes_in(b):
            raise TypeError(f"{text}{a} and {b} have different types")


def _dtypes_in(leaf: Any) -> list[Any]:
    """Returns the class of a leaf, and the dtypes of its tensors."""
    return [leaf.__class__ if is_composite(leaf) else None, *[tensor._dtype for tensor in _takers([leaf])[0]]]


# Loops


def repeat(test: Block, body: Block, starts: Sequence[Any], specs: Sequence[Spec], limit: Any = None) -> list[Any]:
    """Returns the final values of a loop's variables.

    Args:
      test: takes the variables, and returns whether to run another iteration.
      body: takes the variables, and returns their next values.
      starts: initial values of the variables.
      specs: shapes and dtypes of the variables, in every iteration.
      limit: maximum number of iterations; None for no limit.
    """
    count = len(starts)
    has_limit = limit is not None

    def run(values: Sequence[Any]) -> Sequence[Any]:
        state = list(values[:count])
        turns = int(values[count]) if has_limit else -1
        while turns and test.run(state, values)[0]:
            state = body.run(state, values)
            turns -= 1
        return state

    return _add("While", [test, body], [*starts, *([as_tensor(limit)] if has_limit else [])], specs, run)


def repeat_for(
    handle: Any, tests: Block | None, body: Block, starts: Sequence[Any], specs: Sequence[Spec]
) -> list[Any]:
    """Returns the final values of a loop's variables; each iteration takes an element of a dataset or iterator.

    Args:
      handle: handle of the dataset or iterator; the tensors of an element are the first arguments of `body`.
      tests: takes the variables, and returns whether to run another iteration; None for all elements.
      body: takes an element and the variables, and returns their next values.
      starts: initial values of the variables.
      specs: shapes and dtypes of the variables, in every iteration.
    """

    def run(values: Sequence[Any]) -> Sequence[Any]:
        state = list(values[: len(starts)])
        elements = iter(object_of(values[len(starts)]))
        while tests is None or tests.run(state, values)[0]:
            try:
                element = next(elements)
            except StopIteration:
                break
            state = body.run([*tensors_in(element), *state], values)
        return state

    return _add("ForEach", [body] if tests is None else [tests, body], [*starts, handle], specs, run)


def while_loop(
    test: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, shape_invariants: Any, limit: Any
) -> Any:
    """Returns the final values of a loop's variables, in their structure; both functions are traced once.

    Raises:
      TypeError: if a variable changes its dtype.
      ValueError: if a variable changes its shape, or if the structure changes.
    """
    starts: Any = map_structure(as_start, loop_vars)

    tensors, takers = _takers(flatten(starts))

    def packed(values: Sequence[Any]) -> Any:
        iterator = iter(values)
        leaves = zip(flatten(loop_vars), takers, strict=True)
        return pack_sequence_as(starts, [with_flow_like(value, take(iterator)) for value, take in leaves])

    shapes = _invariants(flatten(starts), shape_invariants)
    specs = [(shape, tensor._dtype) for shape, tensor in zip(shapes, tensors, strict=True)]
    test_block, body_block = Block("while", specs), Block("while", specs)
    condition = test_block.trace(test, *packed(test_block.arguments))
    test_block.finish([test_block.convert_result(condition)])
    results: Any = body_block.trace(body, *packed(body_block.arguments))
    results = [*results] if is_nested(results) else [results]
    assert_same_structure([*starts], results)
    owned, _ = _takers([with_tensors(body_block.convert_result, leaf) for leaf in flatten(results)])
    for tensor, spec, result in zip(tensors, specs, owned, strict=True):
        check_turn(tensor, spec, result)
    body_block.finish(owned)
    return packed(repeat(test_block, body_block, tensors, specs, limit))


def as_start(value: Any) -> Any:
    """Returns the initial value of a loop's variable as a tensor, or as a composite of tensors."""
    return with_tensors(lambda tensor: as_tensor(flow_of(tensor)), value)


def _invariants(starts: Sequence[Any], invariants: Any) -> list[TensorShape]:
    """Returns the shapes that the tensors of the loop's variables keep.

    Args:
      starts: the initial values.
      invariants: a shape or spec for each variable; None for the shapes of the initial values, whose ragged and sparse
        tensors may change their number of values.
    """
    shapes = [None] * len(starts) if invariants is None else flatten(invariants)
    kept: list[TensorShape] = []
    for start, shape in zip(starts, shapes, strict=True):
        if is_composite(start):
            named = leaf_types(type_of(start, []), "") if shape is None else tensors_described(shape)[0]
            kept += [TensorShape(_lengths_of(entry)) for entry in named]
        else:
            kept.append(TensorShape(getattr(shape, "shape", shape)) if invariants is not None else _spec_of(start)[0])
    return kept


def _lengths_of(entry: Any) -> Any:
    """Returns the lengths in a pair of a name and a type, or in a pair of a shape and a dtype."""
    first, second = entry
    return second.lengths if isinstance(first, str) else first


def check_turn(start: Any, spec: Spec, result: GraphTensor) -> None:
    """Raises an error if a loop's variable has another dtype or shape after an iteration."""
    shape, dtype = spec
    name = start.name if start.__class__ is GraphTensor else "Const:0"
    if result._dtype is not dtype:
        raise TypeError(
            f"Input tensor '{name}' enters the loop with type {dtype!r}, "
            f"but has type {result._dtype!r} after 1 iteration."
        )
    shape_after = TensorShape(result._shape._dims)
    if not shape_after.is_subtype_of(shape):
        raise ValueError(
            f"Input tensor '{name}' enters the loop with shape {shape}, but has shape {shape_after} after one "
            "iteration. To allow the shape to vary across iterations, use the `shape_invariants` argument of "
            "tf.while_loop to specify a less-specific shape."
        )


FunctionGraph.control_flow = sys.modules[__name__]
