"""`tf.foldl`, `tf.foldr`, `tf.scan` and `tf.map_fn` in graphs, each as one node that processes slices in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import nbtf
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.structure import flatten, map_structure, pack_sequence_as
from nbtf._runtime.conversion import as_tensor
from nbtf._shapes import TensorShape
from nbtf.compat._v1._graph.branch import Branch, flat_results
from nbtf.compat._v1._graph.defaults import building, get_default_graph
from nbtf.compat._v1._graph.deferred import Deferred
from nbtf.compat._v1._graph.graph import Graph
from nbtf.compat._v1._surface.control import Known, Values, add_node
from nbtf.compat._v1._surface.scoping import opened
from nbtf.compat._v1._variables.running import value_of

Step = Callable[..., Any]


def foldl(
    fn: Step,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Applies a function to the slices along the first axis in turn, and returns the last result; see `nbtf.foldl`.

    Args:
      parallel_iterations, back_prop, swap_memory: accepted for compatibility and ignored.
    """
    if building() is None:
        return nbtf.foldl(fn, elems, initializer)
    return _fold("foldl", fn, elems, initializer, reverse=False, stacked=False, name=name)


def foldr(
    fn: Step,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Applies a function to the slices from last to first, and returns the last result; see `nbtf.foldr`.

    Args:
      parallel_iterations, back_prop, swap_memory: accepted for compatibility and ignored.
    """
    if building() is None:
        return nbtf.foldr(fn, elems, initializer)
    return _fold("foldr", fn, elems, initializer, reverse=True, stacked=False, name=name)


def scan(
    fn: Step,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """Applies a function to the slices along the first axis in turn, and stacks all results; see `nbtf.scan`.

    Args:
      parallel_iterations, back_prop, swap_memory, infer_shape: accepted for compatibility and ignored.
    """
    if building() is None:
        return nbtf.scan(fn, elems, initializer, reverse=reverse)
    return _fold("scan", fn, elems, initializer, reverse=reverse, stacked=True, name=name)


def _fold(op_type: str, fn: Step, elems: Any, initializer: Any, reverse: bool, stacked: bool, name: str | None) -> Any:
    with opened(op_type, name):
        rows: Any = map_structure(as_tensor, elems)
        start: Any = None if initializer is None else map_structure(as_tensor, initializer)
        fold = _Fold(fn, rows, start, reverse, stacked)
        record = Deferred(op_type, fold.run, takes_variables=True)
        node = add_node(record, fold.inputs, fold.infer_outputs(), op_type, [fold.branch])
        return pack_sequence_as(fold.result, node.outputs)


class _Fold:
    """A function of the previous result and a slice, built once."""

    def __init__(self, function: Step, rows: Any, start: Any, reverse: bool, stacked: bool) -> None:
        graph = get_default_graph()
        graph.settle()
        self.branch = Branch(graph)
        self._reverse, self._stacked = reverse, stacked
        self._rows: list[GraphTensor] = flatten(rows)
        self._start: list[GraphTensor] = [] if start is None else flatten(start)
        first: Known = [(TensorShape(stack._shape[1:]), stack._dtype) for stack in self._rows]
        state: Known = first if start is None else [(tensor._shape, tensor._dtype) for tensor in self._start]
        self._slices = [self.branch.add_input(shape, dtype) for shape, dtype in first]
        self._state = [self.branch.add_input(shape, dtype) for shape, dtype in state]
        arguments = [
            pack_sequence_as(rows if start is None else start, self._state),
            pack_sequence_as(rows, self._slices),
        ]
        self.result: Any = self.branch.built(function, arguments)
        self._fetched = flat_results(self.result)
        self.inputs = [*self._rows, *self._start, *self.branch.sources()]

    def infer_outputs(self) -> Known:
        """Returns the shape and dtype of each output."""
        if not self._stacked:
            return [(tensor._shape, tensor._dtype) for tensor in self._fetched]
        length = self._rows[0]._shape[0] if self._rows[0]._shape.rank else None
        return [(TensorShape([length]).concatenate(tensor._shape), tensor._dtype) for tensor in self._fetched]

    def run(self, values: Values) -> Sequence[Any]:
        """Returns the outputs for values of `inputs`."""
        count, captured_start = len(self._rows), len(self._rows) + len(self._start)
        steps = list(zip(*[nbtf.unstack(value_of(value, "fold")) for value in values[:count]], strict=True))
        if self._reverse:
            steps.reverse()
        state: list[Any] = list(values[count:captured_start]) if self._start else list(steps[0])
        states = [] if self._start else [state]
        captured = dict(zip(self.branch.taken.values(), values[captured_start:], strict=True))
        for row in steps if self._start else steps[1:]:
            feeds = {**captured, **dict(zip([*self._state, *self._slices], [*state, *row], strict=True))}
            state = self.branch.run(self._fetched, feeds)
            states.append(state)
        if not self._stacked:
            return state
        return [nbtf.stack(column) for column in zip(*(states[::-1] if self._reverse else states), strict=True)]


def map_fn(
    fn: Callable[..., Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """Applies a function to each slice along the first axis and stacks the results; see `nbtf.map_fn`.

    Args:
      dtype, parallel_iterations, back_prop, swap_memory, infer_shape, fn_output_signature: accepted for compatibility
        and ignored.
    """
    if building() is None:
        return nbtf.map_fn(fn, elems, dtype if fn_output_signature is None else fn_output_signature)
    with opened("map", name):
        rows: Any = map_structure(as_tensor, elems)
        graph = get_default_graph()
        graph.settle()
        stacks: list[GraphTensor] = flatten(rows)
        mapped = _Mapped(graph, fn, rows)
        length = stacks[0]._shape[0] if stacks[0]._shape.rank else None
        outputs = [(TensorShape([length]).concatenate(tensor._shape), tensor._dtype) for tensor in mapped.fetched]
        record = Deferred("Map", mapped.run, takes_variables=True)
        node = add_node(record, [*stacks, *mapped.sources], outputs, "TensorArrayStack", [mapped.branch])
        return pack_sequence_as(mapped.result, node.outputs)


class _Mapped:
    """A function of slices, built once."""

    def __init__(self, graph: Graph, function: Callable[..., Any], rows: Any) -> None:
        self.branch = Branch(graph)
        tensors: list[GraphTensor] = flatten(rows)
        self._given = [self.branch.add_input(stack._shape[1:], stack._dtype) for stack in tensors]
        self.result: Any = self.branch.built(function, [pack_sequence_as(rows, self._given)])
        self.fetched = flat_results(self.result)
        self.sources = self.branch.sources()

    def run(self, values: Values) -> Sequence[Any]:
        """Returns the stacked results; `values` are the stacked slices, followed by captured tensors."""
        count = len(self._given)
        captured = dict(zip(self.branch.taken.values(), values[count:], strict=True))
        results: list[list[Any]] = []
        for row in zip(*[nbtf.unstack(value_of(value, "map")) for value in values[:count]], strict=True):
            feeds = {**captured, **dict(zip(self._given, row, strict=True))}
            results.append(self.branch.run(self.fetched, feeds))
        return [nbtf.stack(column) for column in zip(*results, strict=True)]
