"""The graph of TensorFlow 1: nodes, collections, seeds, and rules for feeding and fetching."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NoReturn

from nbtf._graph.graph import GraphScope, SymbolicGraph
from nbtf._graph.operation import Operation
from nbtf._graph.seeds import seeds_of
from nbtf._graph.shapes import Known
from nbtf._graph.tensor import GraphTensor
from nbtf._runtime.scopes import SCOPE
from nbtf._shapes import TensorShape
from nbtf.compat._v1._graph.collections import Collections
from nbtf.compat._v1._graph.deferred import Deferred
from nbtf.compat._v1._graph.dimension import DimensionedShape, shape_text
from nbtf.compat._v1._graph.process import process
from nbtf.compat._v1._graph.requests import Requests
from nbtf.compat._v1._session.defaults import evaluate_in_session, run_operation


class Graph(SymbolicGraph, Collections, Requests):
    """Nodes and the tensors between them. While a graph is the default, ops are added to it instead of being run.

    Only one thread at a time may build a graph, because open blocks belong to the graph and not to the thread.
    """

    def __init__(self) -> None:
        """Creates a graph without nodes."""
        super().__init__()
        Collections.__init__(self)
        self._finalized = False
        self._unfeedable: set[GraphTensor] = set()
        self._unfetchable: set[Any] = set()
        self.refuses_changes = 0
        """The number of branches being built; meanwhile, ops that change variables are rejected."""
        self.seed: int | None = None
        self._unseeded = 0
        """The number of random ops without their own seed that were created while the graph had one."""
        self.variable_of: dict[GraphTensor, Any] = {}
        """The resource variables by their handles."""

    def as_default(self) -> AbstractContextManager[Any]:
        """Returns a block in which this graph is the default."""
        from nbtf.compat._v1._surface.everywhere import graphs_everywhere

        return GraphScope(self, graphs_everywhere)

    def __reduce__(self) -> NoReturn:
        """Raises TensorFlow's error, because graphs cannot be pickled."""
        raise TypeError("cannot pickle 'Graph' object")

    def seeds_for(self, op_seed: int | None) -> tuple[int | None, int | None]:
        """Returns the two seeds for a new random op; both are None if no seed is set."""
        counts = self.seed is not None and op_seed is None
        self._unseeded += counts
        return seeds_of(self.seed, op_seed, self._unseeded - counts)

    def note(self, node: Operation) -> None:
        """Lets the open tapes record a new node."""
        scope = SCOPE()
        if scope is not None and scope.tapes:
            from nbtf.compat._v1._graph.taping import note_node

            variables = self.variables_read_by([node])
            for tape in scope.tapes:
                note_node(tape, node, variables)

    def variables_read_by(self, nodes: Sequence[Operation]) -> list[Any]:
        """Returns the resource variables whose handles are inputs of some nodes, without duplicates."""
        inputs = [self.origin_of(tensor) for node in nodes for tensor in node.inputs if tensor._link == "handle"]
        variables = [getattr(tensor._graph, "variable_of", {}).get(tensor) for tensor in dict.fromkeys(inputs)]
        return [variable for variable in variables if variable is not None]

    def flow_back(self, tape: Any, targets: Any, seeds: Any, sources: Any) -> list[Any]:
        """Returns gradients through the nodes that a tape has recorded; called by `tf.GradientTape`."""
        from nbtf.compat._v1._graph.taping import flow_back

        return flow_back(tape, targets, seeds, sources)

    def call_with_own_gradient(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Calls a function that has a custom gradient; called by `tf.custom_gradient`."""
        from nbtf.compat._v1._graph.custom_gradients import call_with_own_gradient

        return call_with_own_gradient(self, function, args, kwargs)

    def jacobians(self, way_back: Any, target: Any, sources: Any, of: Any) -> list[Any]:
        """Returns the Jacobians of a target whose shape is known only in a run; called by `tf.GradientTape`."""
        from nbtf.compat._v1._graph.jacobians import open_jacobians

        return open_jacobians(self, way_back, target, sources, of)

    def origin_of(self, tensor: GraphTensor) -> GraphTensor:
        """Returns the tensor that a tensor of this graph represents: itself, except in a branch."""
        return tensor

    def stand_in_for(self, tensor: GraphTensor) -> GraphTensor:
        """Returns this graph's tensor for a tensor: itself, except in a branch that captures it from outside."""
        return tensor

    # Methods for its tensors and nodes

    def evaluate(self, tensor: GraphTensor, feed_dict: Any, session: Any) -> Any:
        """Returns the value of a tensor in a session, by default the default session."""
        return evaluate_in_session(tensor, feed_dict, session)

    def run_operation(self, operation: Operation, feed_dict: Any, session: Any) -> None:
        """Runs a node in a session, by default the default session."""
        run_operation(operation, feed_dict, session)

    def shown_shape(self, shape: TensorShape) -> TensorShape:
        """Returns a shape in the form for its reader: `Dimension` objects for programs, plain lengths for `nbtf`.

        Must be called by the property itself, because it checks the frame that reads the property.
        """
        if process().v2_shapes:
            return shape
        reader = sys._getframe(2).f_globals.get("__name__", "")
        return shape if reader.startswith("nbtf.") else DimensionedShape(shape)

    def read_shape(self, shape: Any) -> TensorShape:
        """Returns a program's description of a shape, which may contain `Dimension` objects, as a shape."""
        return TensorShape(DimensionedShape(shape))

    def shape_text(self, shape: TensorShape) -> str:
        """Returns a shape in TensorFlow 1's format, such as `(?, 2)`."""
        return shape_text(shape)

    def run_later(
        self, type: str, run: Callable[[Sequence[Any]], Sequence[Any]], inputs: Sequence[Any], specs: Known
    ) -> list[GraphTensor]:
        """Returns the outputs of a node that runs a function of values in a session.

        Args:
          type: type of the node.
          run: function from tensors to tensors.
          inputs: tensors of the graph.
          specs: shape and dtype of each output.
        """
        outputs = [(TensorShape(dims), dtype) for dims, dtype in specs]
        self.settle()  # creates nodes for pending constants
        with self.inside():
            return self.add_known(Deferred(type, run), inputs, {}, type, lambda name: outputs).outputs

    # Restrictions

    def finalize(self) -> None:
        """Rejects new nodes from now on."""
        self.settle()
        self._finalized = True

    @property
    def finalized(self) -> bool:
        """Whether new nodes are rejected."""
        return self._finalized

    def _check_open(self, record: Any = None) -> None:
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")
        if self.refuses_changes and record is not None:
            _check_unconditional(record)

    def prevent_feeding(self, tensor: GraphTensor) -> None:
        """Forbids feeding a tensor."""
        self._unfeedable.add(tensor)

    def is_feedable(self, tensor: GraphTensor) -> bool:
        """Returns whether a tensor may be fed."""
        return tensor not in self._unfeedable

    def prevent_fetching(self, op: Operation) -> None:
        """Forbids fetching a node."""
        self._unfetchable.add(op)

    def check_fetchable(self, elements: Sequence[GraphTensor | Operation]) -> None:
        """Raises `ValueError` for tensors and nodes that may not be fetched."""
        if not self._unfetchable:
            return
        for element in elements:
            if not self.is_fetchable(element):
                raise ValueError(f"Operation {element.name} has been marked as not fetchable.")

    def is_fetchable(self, tensor_or_op: Any) -> bool:
        """Returns whether a tensor or node may be fetched."""
        node = tensor_or_op.op if isinstance(tensor_or_op, GraphTensor) else tensor_or_op
        return node not in self._unfetchable


def _check_unconditional(record: Any) -> None:
    """Raises `NotImplementedError` for an op that creates or trains a variable."""
    if getattr(record, "resource", False) or record.type in ("VariableV2", "VarHandleOp"):
        if record.type in _READING:
            return
        raise NotImplementedError(
            "nbtf cannot create or train variables inside a branch of tf.cond or the body of tf.while_loop: "
            f"{record.type}. Create the variable outside; inside, only assign to it."
        )


_READING = frozenset({"ReadVariableOp", "ResourceGather", "IsVariableInitialized", "VarIsInitializedOp", "Merge"})
