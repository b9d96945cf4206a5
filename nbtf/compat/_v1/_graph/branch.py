"""Parts of a graph that run only on demand: a branch of `tf.cond` or the body of `tf.while_loop`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from nbtf._graph.operation import CONST, NO_OP, PLACEHOLDER, Operation
from nbtf._graph.seeds import GraphStream
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.arrays.tensor_array import flow_of, with_flow_like
from nbtf._ops.structure import flatten, map_structure
from nbtf._runtime.changes import Change, block
from nbtf._runtime.conversion import as_tensor, constant_of
from nbtf._runtime.execute import execute
from nbtf._runtime.seeds import Stream
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape
from nbtf._types import DType
from nbtf.compat._v1._graph.deferred import Deferred
from nbtf.compat._v1._graph.session_graph import Graph
from nbtf.compat._v1._variables.branches import outputs_in_branch
from nbtf.compat._v1._variables.ops import MAKES
from nbtf.compat._v1._variables.running import inputs_of_deferred, value_of

Made = dict[GraphTensor, Tensor]


class Branch(Graph):
    """A graph inside another one; outer tensors that it uses become inputs of the node that runs the branch."""

    def __init__(self, outer: Graph) -> None:
        """Creates an empty branch."""
        super().__init__()
        self.outer = outer
        self.seed = outer.seed
        self.taken: dict[GraphTensor, GraphTensor] = {}
        """Tensors of the outer graph, mapped to the branch's own."""
        self._origins: dict[GraphTensor, GraphTensor] = {}
        """The inverse of `taken`."""
        self.waits_for: dict[Operation, None] = {}
        """Nodes of the outer graph that the node of this branch waits for."""
        self._streams: dict[Operation, Stream] = {}

    def add_input(self, shape: TensorShape, dtype: DType) -> GraphTensor:
        """Returns a tensor that receives its value when the branch runs."""
        return self.add_source(PLACEHOLDER, "given", {"dtype": dtype, "shape": shape}, [(shape, dtype)]).outputs[0]

    def reaches(self, graph: Any) -> bool:
        """Returns whether a graph is this branch or one that contains it."""
        return graph is self or graph is self.outer or (isinstance(self.outer, Branch) and self.outer.reaches(graph))

    def built(self, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """Builds the branch by calling a function, and returns the function's result with its values as tensors."""
        self.outer.refuses_changes += 1
        try:
            with self.as_default():
                return map_structure(self._result, function(*arguments))
        finally:
            self.outer.refuses_changes -= 1

    def _result(self, value: Any) -> Any:
        if isinstance(value, Operation) and value.graph is not self:
            self._wait_for(value)
            return self.add_source(NO_OP, "NoOp", {}, [])
        if value is None or isinstance(value, Operation):
            return value
        tensor: Any = as_tensor(flow_of(value))
        inner = self._own(tensor)
        if inner._node is None:
            inner.called("Const")
        return with_flow_like(value, inner)

    # Capturing outer tensors

    @block
    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> Change[None]:
        """Makes the nodes inside wait for others; for outer nodes, the whole branch waits."""
        inner: list[Any] = []
        for node in control_inputs or ():
            element = node._as_graph_element() if hasattr(node, "_as_graph_element") else node
            if element.graph is self:
                inner.append(element)
            else:
                self._wait_for(element if isinstance(element, Operation) else element.op)
        return super().control_dependencies(None if control_inputs is None else inner).plan()

    def _wait_for(self, node: Operation) -> None:
        self.waits_for[node] = None
        if node.graph is not self.outer and isinstance(self.outer, Branch):
            self.outer._wait_for(node)

    def add(self, op: Any, inputs: Sequence[Any], attrs: dict[str, Any], name: str | None) -> Any:
        """Adds an op to the branch and captures the outer tensors that it uses."""
        return super().add(op, inputs, {key: self._taken_in(value) for key, value in attrs.items()}, name)

    def _taken_in(self, value: Any) -> Any:
        if isinstance(value, GraphTensor):
            return self._own(value)
        return [self._taken_in(element) for element in value] if value.__class__ is list else value

    def add_known(self, record: Any, arguments: Sequence[Any], *positional: Any, **keywords: Any) -> Operation:
        """Adds a node outside the op table; one that creates a variable goes to the outer graph, which rejects it."""
        if record not in MAKES:
            return super().add_known(record, arguments, *positional, **keywords)
        with self.outer.as_default():
            return self.outer.add_known(record, arguments, *positional, **keywords)

    def _owner_of(self, inputs: Sequence[Any]) -> Any:
        for value in inputs:
            if value.__class__ is GraphTensor and not self.reaches(value.graph):
                return super()._owner_of(inputs)
        return self

    def _own(self, value: Any) -> Any:
        if value.__class__ is not GraphTensor or value.graph is self:
            return super()._own(value)
        own = self.taken.get(value)
        if own is None:
            own = self.taken[value] = self.add_input(value._shape, value._dtype)
            own._link = value._link
            self._origins[own] = value
        return own

    def origin_of(self, tensor: GraphTensor) -> GraphTensor:
        """Returns the outer tensor that a tensor of the branch represents; other tensors are returned unchanged."""
        return self._origins.get(tensor, tensor)

    def stand_in_for(self, tensor: GraphTensor) -> GraphTensor:
        """Returns the branch's tensor for an outer tensor; other tensors are returned unchanged."""
        return self.taken.get(tensor, tensor)

    def sources(self) -> list[GraphTensor]:
        """Returns the captured tensors of the outer graph, which in turn captures those from further out."""
        tensors: list[GraphTensor] = []
        for tensor in self.taken:
            tensors.append(self.outer._own(tensor) if tensor.graph is not self.outer else tensor)
        return tensors

    # Running

    def run(self, fetches: Sequence[Any], values: Made) -> list[Any]:
        """Returns the values of tensors; None for nodes, which are only run.

        Args:
          fetches: tensors and nodes of this graph.
          values: values of the inputs; those of the branch's nodes are added.
        """
        for node in _needed(fetches, values):
            for tensor, value in zip(node.outputs, self._outputs(node, values), strict=True):
                values[tensor] = value
        return [value_of(values[fetch], fetch.op.name) if isinstance(fetch, GraphTensor) else None for fetch in fetches]

    def _outputs(self, node: Operation, values: Made) -> list[Any]:
        record = node.record
        if record is CONST:
            return [constant_of(node.attrs["value"], node.outputs[0]._dtype)]
        if record is NO_OP:
            return []
        if node.on_variables and (record.resource or node.outputs[0]._link == "alias"):
            return outputs_in_branch(node, values)
        if isinstance(record, Deferred):
            return record.run(node.name, inputs_of_deferred(node, values))
        inputs = [
            [value_of(values[output], node.name) for output in value]
            if value.__class__ is list
            else value_of(values[value], node.name)
            for value in node.arguments
        ]
        attrs = dict(node.attrs_with(values))
        seeds = attrs.get("stream")
        if isinstance(seeds, GraphStream):
            attrs["stream"] = self._streams.get(node) or self._streams.setdefault(node, seeds.started())
        result = execute(record, inputs, attrs, node.name)
        return result if record.many else [result]


def _needed(fetches: Sequence[Any], values: Mapping[GraphTensor, Any]) -> list[Operation]:
    """Returns the nodes that the fetches depend on, in execution order."""
    waiting = [fetch.op if isinstance(fetch, GraphTensor) else fetch for fetch in fetches if fetch not in values]
    needed: set[Operation] = set()
    while waiting:
        node = waiting.pop()
        if node not in needed:
            needed.add(node)
            waiting += [tensor.op for tensor in node.needed_inputs if tensor not in values]
            waiting += node.control_inputs
    return sorted(needed, key=lambda node: node.number)


def flat_results(structure: Any) -> list[Any]:
    """Returns the tensors and nodes in a branch's result, in order."""
    return [flow_of(tensor) for tensor in flatten(structure) if tensor is not None]
