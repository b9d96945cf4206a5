"""`tf.map_fn` in graphs: one node that runs a function for every slice."""

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
from nbtf.compat._v1._surface.control import Values, add_node
from nbtf.compat._v1._surface.scoping import opened
from nbtf.compat._v1._variables.running import value_of


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
    """Applies a function to every slice along the first axis, and stacks the results; see `nbtf.map_fn`.

    Args:
      dtype, parallel_iterations, back_prop, swap_memory, infer_shape, fn_output_signature: accepted for TensorFlow's
        sake, without effect.
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
        self._given = [self.branch.given(stack._shape[1:], stack._dtype) for stack in tensors]
        self.result: Any = self.branch.built(function, [pack_sequence_as(rows, self._given)])
        self.fetched = flat_results(self.result)
        self.sources = self.branch.sources()

    def run(self, values: Values) -> Sequence[Any]:
        """Returns the stacked results for stacks of slices, which stand in front of what is taken from outside."""
        count = len(self._given)
        captured = dict(zip(self.branch.taken.values(), values[count:], strict=True))
        results: list[list[Any]] = []
        for row in zip(*[nbtf.unstack(value_of(value, "map")) for value in values[:count]], strict=True):
            feeds = {**captured, **dict(zip(self._given, row, strict=True))}
            results.append(self.branch.run(self.fetched, feeds))
        return [nbtf.stack(column) for column in zip(*results, strict=True)]
