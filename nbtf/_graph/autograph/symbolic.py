"""Branches and loops whose condition is a symbolic tensor: all paths are traced, and their results are joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import CellType
from typing import Any

from nbtf._graph.autograph.jumps import RESULT
from nbtf._graph.control_flow import Block, Spec, choose, repeat, repeat_for
from nbtf._graph.handles import tensors_described
from nbtf._graph.open_composites import closed, opened
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.arrays.creation import zeros
from nbtf._ops.arrays.shapes import shape as shape_of
from nbtf._ops.arrays.tensor_array import TensorArray, flow_of, with_flow_like
from nbtf._ops.math.logic import logical_and
from nbtf._ops.structure import assert_same_structure, flatten, map_structure, pack_sequence_as
from nbtf._runtime.context import open_graph
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape
from nbtf._types import bool_, int32, variant


class _Unbound:
    def __repr__(self) -> str:
        return "<unbound>"


UNBOUND: Any = _Unbound()
"""The value of an unbound variable."""


def is_symbolic(value: Any) -> bool:
    """Returns whether a value is a tensor that is only known when the traced function runs."""
    graph = open_graph()
    if not hasattr(graph, "add_composite"):
        return False
    return isinstance(value, GraphTensor | Tensor) or hasattr(value, "assign_add")


class State:
    """The variables that a branch or loop changes: named cells, attributes and items."""

    def __init__(self, readers: Sequence[Any]) -> None:
        """Stores the function that reads the variables, and the readers of attributes and items."""
        reader, *self._containers = readers
        self._cells: Sequence[CellType] = reader.__closure__ or ()
        self._parts: dict[int, tuple[Any, Any]] = {}
        """Composites and their parts, by the id of the composite."""
        self.names: list[str] = [*reader.__code__.co_freevars, *[item.title for item in self._containers]]

    def counts(self, number: int, live: Sequence[str]) -> bool:
        """Returns whether a variable is read later, given the live names; attributes and items always are."""
        return number >= len(self._cells) or self.names[number] in live

    def read(self) -> list[Any]:
        """Returns the values, `UNBOUND` for unbound variables; composites as `Parts`, the same ones each time."""
        return [self._opened(value) for value in (*map(_read_cell, self._cells), *[x.read() for x in self._containers])]

    def _opened(self, value: Any) -> Any:
        structure = opened(value)
        return value if structure is value else self._parts.setdefault(id(value), (value, structure))[1]

    def write(self, values: Sequence[Any]) -> None:
        """Sets the values."""
        values = [closed(value) for value in values]
        for cell, value in zip(self._cells, values, strict=False):
            if value is not UNBOUND:
                cell.cell_contents = value
            elif _read_cell(cell) is not UNBOUND:
                del cell.cell_contents
        for item, value in zip(self._containers, values[len(self._cells) :], strict=True):
            if item.read() is not value:
                item.write(value)


def _read_cell(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return UNBOUND


# Branches


def branch(
    test: Any, then: Callable[[], None], otherwise: Callable[[], None], state: State, live: Sequence[str]
) -> None:
    """Traces both branches, and sets the variables to the values from the branch that a run will take.

    Args:
      test: a boolean scalar.
      then: the branch for true.
      otherwise: the branch for false.
      state: the variables that the branches change.
      live: the names that are read afterwards.

    Raises:
      TypeError: if a variable's dtype or structure differs between the branches.
      ValueError: if only one branch sets a variable, or if the condition is not a boolean scalar.
    """
    test = as_condition(test, "if statement")
    values_before = state.read()
    blocks = [Block("cond"), Block("cond")]
    values: list[list[Any]] = []
    for block, function in zip(blocks, (then, otherwise), strict=True):
        try:
            block.trace(function)
            values.append(state.read())
        finally:
            state.write(values_before)
    joined = [
        number
        for number, by_branch in enumerate(zip(values_before, *values, strict=True))
        if state.counts(number, live) and not (by_branch[0] is by_branch[1] is by_branch[2])
    ]
    results = [
        [_owned(block, by_branch[number]) for number in joined] for block, by_branch in zip(blocks, values, strict=True)
    ]
    for number, first, other in zip(joined, results[0], results[1], strict=True):
        _check_branches(state.names[number], first, other)
    for block, result in zip(blocks, results, strict=True):
        block.finish(_tensors(result))
    outputs = iter(choose(test, blocks))
    values_after = list(values_before)
    for number, structure in zip(joined, results[0], strict=True):
        values_after[number] = _packed(structure, values[0][number], outputs)
    state.write(values_after)


def as_condition(test: Any, statement: str) -> Any:
    """Returns a condition as a boolean scalar.

    Raises:
      ValueError: if it is not a boolean scalar.
    """
    test = as_tensor(test)
    if test.dtype is not bool_ or test.shape.rank not in (0, None):
        raise ValueError(
            f"condition of {statement} expected to be `tf.bool` scalar, got {test}; to use as boolean Tensor, use "
            "`tf.cast`; to check for None, use `is not None`"
        )
    return test


def _owned(block: Block, value: Any) -> Any:
    """Returns a variable's value with its tensors owned by a block; other values are unchanged."""
    if value is UNBOUND or value is None:
        return value
    return map_structure(partial(_own_leaf, block), value)


def _own_leaf(block: Block, leaf: Any) -> Any:
    if leaf is None:
        return None
    try:
        return block.convert_result(leaf)
    except (TypeError, ValueError) as error:
        if isinstance(leaf, GraphTensor):
            raise
        return _Opaque(leaf, error)


class _Opaque:
    """A value that is not a tensor, such as an object or a function."""

    def __init__(self, value: Any, error: Exception) -> None:
        self.value, self.error = value, error


def _tensors(results: Sequence[Any]) -> list[GraphTensor]:
    return [leaf for leaf in flatten(list(results)) if isinstance(leaf, GraphTensor)]


def _packed(structure: Any, values: Any, outputs: Any) -> Any:
    """Returns a variable's value after a branch, given its structure in one of the branches."""
    if structure is UNBOUND or structure is None:
        return structure
    leaves = [
        with_flow_like(value, next(outputs)) if isinstance(leaf, GraphTensor) else _plain(leaf)
        for leaf, value in zip(flatten(structure), flatten(values), strict=True)
    ]
    return pack_sequence_as(structure, leaves)


def _plain(leaf: Any) -> Any:
    return leaf.value if isinstance(leaf, _Opaque) else leaf


def _check_branches(name: str, first: Any, other: Any) -> None:
    for value, counterpart, title in ((first, other, "main"), (other, first, "else")):
        if value is UNBOUND and counterpart is not UNBOUND:
            if name == RESULT:
                raise ValueError(f"the {title} branch must also have a return statement.")
            raise ValueError(f"'{name}' must also be initialized in the {title} branch")
        if value is None and counterpart is not None:
            raise ValueError(f"{_subject(name)} is None at the end of the {title} branch.")
    subject = _subject(name)
    try:
        assert_same_structure(first, other)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{subject} must have the same nested structure in the main and else branches:\n\n{error}"
        ) from None
    for a, b in zip(flatten(first), flatten(other), strict=True):
        _check_leaves(subject, a, b)


def _subject(name: str) -> str:
    return "the return value" if name == RESULT else f"'{name}'"


def _check_leaves(subject: str, a: Any, b: Any) -> None:
    if isinstance(a, _Opaque) and isinstance(b, _Opaque) and a.value is b.value:
        return
    for leaf in (a, b):
        if isinstance(leaf, _Opaque):
            raise TypeError(f"{subject} is {leaf.value!r} after a branch, not a tensor: {leaf.error}")
    if isinstance(a, GraphTensor) and isinstance(b, GraphTensor) and a.dtype is not b.dtype:
        raise TypeError(
            f"{subject} has dtype {a.dtype.name} in the main branch, but dtype {b.dtype.name} in the else branch"
        )


# Loops

_GOES_ON = GraphTensor | Tensor | TensorArray
"""The values that each iteration of a loop passes to the next."""


class _Loop:
    """The variables of a loop, whose tensors are passed from iteration to iteration."""

    def __init__(self, state: State, options: Any) -> None:
        self.state = state
        self.first_values = state.read()
        self.options: dict[str, Any] = options or {}
        self._invariants: dict[str, Any] = dict(self.options.get("shape_invariants") or ())
        self.starts: list[Any] = [
            value if value is UNBOUND else map_structure(_as_start, value) for value in self.first_values
        ]
        """The initial values, with tensors in place of numbers and arrays."""

    @property
    def tensors(self) -> list[Any]:
        """The initial tensors that are passed from iteration to iteration."""
        return [flow_of(leaf) for leaf in flatten(self.starts) if isinstance(leaf, _GOES_ON)]

    @property
    def specs(self) -> list[Spec]:
        """The shapes and dtypes of these tensors."""
        specs: list[Spec] = []
        for name, start in zip(self.state.names, self.starts, strict=True):
            for leaf in flatten(start):
                if isinstance(leaf, TensorArray):
                    specs.append((TensorShape(()), variant))
                elif isinstance(leaf, GraphTensor | Tensor):
                    specs.append((TensorShape(self._invariants.get(name, leaf.shape)), leaf.dtype))
        return specs

    def define(self, turn: Callable[[Block], None], leading: Sequence[Spec]) -> None:
        """Gives variables that only the body sets an initial value, with the shape and dtype that the body gives them.

        Raises:
          NotImplementedError: if the body returns.
          ValueError: if the body does not always set such a variable.
        """
        lacking = [number for number, start in enumerate(self.starts) if start is UNBOUND or start is None]
        if RESULT in [self.state.names[number] for number in lacking]:
            raise NotImplementedError(
                "a return statement cannot be placed inside this TensorFlow loop; this may happen if a return "
                "statement depends on a static Python condition such as a hyperparameter"
            )
        if not lacking:
            return
        block = Block("while", [*leading, *self.specs])
        name = self.state.names[lacking[0]]
        try:
            values = self.turn(block, turn)
            for number in lacking:
                self.starts[number] = _zeros_like(values[number])
        except ValueError as error:
            raise ValueError(
                f"'{name}' must be defined before the loop\nNote: AutoGraph tried to define it automatically, but ran "
                f"into a ValueError: {error}"
            ) from None

    def turn(self, block: Block, turn: Callable[[Block], Any]) -> list[Any]:
        """Returns the values after an iteration traced in a block."""
        arguments = iter(block.arguments[len(block.arguments) - len(self.tensors) :])
        try:
            self.state.write([_with_tensors(start, arguments) for start in self.starts])
            turn(block)
            return self.state.read()
        finally:
            self.state.write(self.first_values)

    def tests(self, continues: Callable[[Block], Any], leading: Sequence[Spec]) -> Block:
        """Returns the traced condition; its first arguments are not variables of the loop."""
        block = Block("while", [*leading, *self.specs])
        conditions: list[Any] = []
        self.turn(block, lambda block: conditions.append(block.trace(lambda: continues(block))))
        block.finish([block.convert_result(conditions[0])])
        return block

    def results(self, block: Block, values: Sequence[Any]) -> list[GraphTensor]:
        """Returns the tensors with which the next iteration starts.

        Raises:
          TypeError: if the iteration changes the dtype or structure of a variable.
          ValueError: if the iteration changes the shape of a variable.
        """
        tensors: list[GraphTensor] = []
        specs = iter(self.specs)
        for name, start, value in zip(self.state.names, self.starts, values, strict=True):
            if start is None and value is None:
                continue
            if value is UNBOUND:
                raise ValueError(f"'{name}' is no longer defined after one iteration")
            owned = _owned(block, value)
            try:
                assert_same_structure(start, owned)
            except (TypeError, ValueError) as error:
                text = f"'{name}' does not have the same nested structure after one iteration.\n\n{error}"
                raise TypeError(text) from None
            for first, leaf in zip(flatten(start), flatten(owned), strict=True):
                if isinstance(first, _GOES_ON):
                    tensors.append(self._check_leaf(name, next(specs), leaf))
                elif first is not _plain(leaf):
                    raise TypeError(f"'{name}' is {_plain(leaf)!r} after one iteration of a loop, not a tensor")
        return tensors

    def _check_leaf(self, name: str, spec: Spec, leaf: Any) -> GraphTensor:
        shape, dtype = spec
        if not isinstance(leaf, GraphTensor):
            raise TypeError(f"'{name}' is {_plain(leaf)!r} after one iteration of a loop, not a tensor")
        if leaf.dtype is not dtype:
            raise TypeError(
                f"'{name}' has dtype {dtype.name} before the loop, but dtype {leaf.dtype.name} after one iteration"
            )
        shape_after = TensorShape(leaf._shape._dims)
        if shape_after.is_subtype_of(shape):
            return leaf
        if name in self._invariants:
            raise ValueError(
                f"'{name}' has shape {shape_after} after one iteration, which does not conform with the "
                f"shape invariant {shape}."
            )
        raise ValueError(
            f"'{name}' has shape {shape} before the loop, but shape {shape_after} after one iteration. "
            "Use tf.autograph.experimental.set_loop_options to set shape invariants."
        )

    def leave(self, outputs: Sequence[Any]) -> None:
        """Sets the variables to their final values."""
        tensors = iter(outputs)
        self.state.write([_with_tensors(start, tensors) for start in self.starts])


def _as_start(value: Any) -> Any:
    """Returns an initial value as a tensor; tensor arrays and values that are not convertible are unchanged."""
    if value is None or isinstance(value, _GOES_ON):
        return value
    try:
        return as_tensor(value)
    except (TypeError, ValueError):
        return value


def _with_tensors(start: Any, tensors: Any) -> Any:
    """Returns a structure with its tensors replaced by others."""
    if start is UNBOUND or start is None:
        return start
    leaves = [with_flow_like(leaf, next(tensors)) if isinstance(leaf, _GOES_ON) else leaf for leaf in flatten(start)]
    return pack_sequence_as(start, leaves)


def _zeros_like(value: Any) -> Any:
    """Returns zeros for the tensors in a value; an iteration replaces them before they are read."""
    if value is UNBOUND or value is None:
        return value
    return map_structure(_zeros_for, value)


def _zeros_for(leaf: Any) -> Any:
    leaf = _as_start(leaf)
    if not isinstance(leaf, GraphTensor | Tensor):
        return leaf
    lengths = leaf.shape.as_list() if leaf.shape.rank is not None else []
    return zeros([length or 0 for length in lengths], leaf.dtype)


def loop_while(test: Callable[[], Any], body: Callable[[], None], state: State, options: Any) -> None:
    """Traces a loop with a condition, and sets its variables to their final values."""
    loop = _Loop(state, options)
    loop.define(lambda block: block.trace(body), [])
    tests = loop.tests(lambda block: as_condition(test(), "while loop"), [])
    bodies = Block("while", loop.specs)
    bodies.finish(loop.results(bodies, loop.turn(bodies, lambda block: block.trace(body))))
    loop.leave(repeat(tests, bodies, loop.tensors, loop.specs, loop.options.get("maximum_iterations")))


def loop_over(
    rows: Any, body: Callable[[Any], None], goes_on: Callable[[], Any] | None, state: State, options: Any
) -> None:
    """Traces a loop over the rows of a tensor."""
    rows = as_tensor(rows)
    count = shape_of(rows)[0]
    loop = _Loop(state, options)
    position: list[Spec] = [(TensorShape(()), int32)]

    def turn(block: Block) -> None:
        block.trace(lambda: body(rows[block.arguments[0]]))

    def continues(block: Block) -> Any:
        is_inside = block.arguments[0] < count
        return is_inside if goes_on is None else logical_and(is_inside, as_condition(goes_on(), "for loop"))

    loop.define(turn, position)
    tests = loop.tests(continues, position)
    bodies = Block("while", [*position, *loop.specs])
    values = loop.turn(bodies, turn)
    following = bodies.convert_result(bodies.trace(lambda: bodies.arguments[0] + 1))
    bodies.finish([following, *loop.results(bodies, values)])
    limit = loop.options.get("maximum_iterations")
    loop.leave(repeat(tests, bodies, [as_tensor(0), *loop.tensors], [*position, *loop.specs], limit)[1:])


def loop_over_elements(
    elements: Any, body: Callable[[Any], None], goes_on: Callable[[], Any] | None, state: State, options: Any
) -> None:
    """Traces a loop over the elements of a dataset, or over the remaining elements of an iterator."""
    specs, put_together = tensors_described(elements.element_spec)
    loop = _Loop(state, options)

    def turn(block: Block) -> None:
        block.trace(lambda: body(put_together(iter(block.arguments[: len(specs)]))))

    loop.define(turn, specs)
    tests = None if goes_on is None else loop.tests(lambda block: as_condition(goes_on(), "for loop"), [])
    bodies = Block("while", [*specs, *loop.specs])
    bodies.finish(loop.results(bodies, loop.turn(bodies, turn)))
    loop.leave(repeat_for(elements._handle, tests, bodies, loop.tensors, loop.specs))
