"""`tf.foldl`, `tf.foldr`, `tf.scan` and `tf.map_fn` in graphs, each as one node that processes slices in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import nbtf
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.structure import flatten, map_structure, pack_sequence_as
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape
from nbtf.compat._v1._graph.defaults import building
from nbtf.compat._v1._graph.deferred import Deferred
from nbtf.compat._v1._surface.control import Known, Subgraph, Values, add_node
from nbtf.compat._v1._surface.scoping import opened
from nbtf.compat._v1._variables.running import value_of

Step = Callable[..., Any]


def _folding(name: str, reverse: bool) -> Callable[..., Any]:
    """Returns `foldl` or `foldr`."""
    eager = getattr(nbtf, name)

    def fold(
        fn: Step,
        elems: Any,
        initializer: Any = None,
        parallel_iterations: int = 10,
        back_prop: bool = True,
        swap_memory: bool = False,
        name: str | None = None,
    ) -> Any:
        if building() is None:
            return eager(fn, elems, initializer)
        return _fold(eager.__name__, fn, elems, initializer, reverse=reverse, stacked=False, name=name)

    fold.__name__, fold.__qualname__, fold.__doc__ = name, name, eager.__doc__
    return fold


foldl: Callable[..., Any] = _folding("foldl", reverse=False)
foldr: Callable[..., Any] = _folding("foldr", reverse=True)


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


def map_fn(
    fn: Step,
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
        stacks: list[GraphTensor] = flatten(rows)
        subgraph, count = (
            Subgraph(fn, _slice_specs(stacks), lambda inputs: [pack_sequence_as(rows, inputs)]),
            len(stacks),
        )

        def run(values: Values) -> Sequence[Any]:
            return _stacked([subgraph.run(row, values[count:]) for row in _slices(values[:count])])

        return _node("Map", "TensorArrayStack", subgraph, stacks, run, stacked=True)


def _fold(type: str, fn: Step, elems: Any, initializer: Any, reverse: bool, stacked: bool, name: str | None) -> Any:
    with opened(type, name):
        rows: Any = map_structure(as_tensor, elems)
        start: Any = None if initializer is None else map_structure(as_tensor, initializer)
        stacks: list[GraphTensor] = flatten(rows)
        starts: list[GraphTensor] = [] if start is None else flatten(start)
        slices = _slice_specs(stacks)
        state_specs = [(tensor._shape, tensor._dtype) for tensor in starts] or slices
        count, captured = len(state_specs), len(stacks) + len(starts)

        def arguments(inputs: list[GraphTensor]) -> list[Any]:
            state: Any = pack_sequence_as(rows if start is None else start, inputs[:count])
            return [state, pack_sequence_as(rows, inputs[count:])]

        subgraph = Subgraph(fn, [*state_specs, *slices], arguments)

        def run(values: Values) -> Sequence[Any]:
            steps = _slices(values[: len(stacks)])[:: -1 if reverse else 1]
            state = list(values[len(stacks) : captured]) or list(steps.pop(0))
            states = [] if starts else [state]
            for row in steps:
                state = subgraph.run([*state, *row], values[captured:])
                states.append(state)
            return _stacked(states[:: -1 if reverse else 1]) if stacked else state

        return _node(type, type, subgraph, [*stacks, *starts], run, stacked)


def _slice_specs(stacks: Sequence[GraphTensor]) -> Known:
    return [(TensorShape(stack._shape[1:]), stack._dtype) for stack in stacks]


def _slices(values: Values) -> list[tuple[Tensor, ...]]:
    return list(zip(*[nbtf.unstack(value_of(value, "slices")) for value in values], strict=True))


def _stacked(results: Sequence[Sequence[Any]]) -> list[Any]:
    return [nbtf.stack(column) for column in zip(*results, strict=True)]


def _node(type: str, name: str, subgraph: Subgraph, inputs: Sequence[GraphTensor], run: Any, stacked: bool) -> Any:
    """Returns the results of a node that runs a subgraph for each slice; stacked results have an additional axis."""
    shape = inputs[0]._shape
    prefix = TensorShape([shape[0] if shape.rank else None] if stacked else [])
    outputs = [(prefix.concatenate(tensor._shape), tensor._dtype) for tensor in subgraph.fetched]
    record = Deferred(type, run, takes_variables=True)
    node = add_node(record, [*inputs, *subgraph.sources], outputs, name, [subgraph])
    return pack_sequence_as(subgraph.result, node.outputs)
