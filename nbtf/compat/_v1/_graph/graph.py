"""The graph of TensorFlow 1: nodes, with collections, seeds, and what may be fed and fetched."""

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
    """Nodes and the tensors between them; while it is the default, ops are added to it instead of being run.

    One thread at a time may build it: its open blocks are its own, not the thread's.
    """

    def __init__(self) -> None:
        """Makes a graph without nodes."""
        super().__init__()
        Collections.__init__(self)
        self._finalized = False
        self._unfeedable: set[GraphTensor] = set()
        self._unfetchable: set[Any] = set()
        self.refuses_changes = 0
        """How many branches are being built: what changes variables would not wait for its turn."""
        self.seed: int | None = None
        self._unseeded = 0
        """How many random ops had no seed of their own while the graph had one."""
        self.variable_of: dict[GraphTensor, Any] = {}
        """The resource variables, by their handles."""

    def as_default(self) -> AbstractContextManager[Any]:
        """Makes this graph the one that ops are added to, inside a `with`."""
        from nbtf.compat._v1._surface.everywhere import graphs_everywhere

        return GraphScope(self, graphs_everywhere)

    def __reduce__(self) -> NoReturn:
        """Refuses, in TensorFlow's words."""
        raise TypeError("cannot pickle 'Graph' object")

    def seeds_for(self, op_seed: int | None) -> tuple[int | None, int | None]:
        """Returns the two seeds of a random op that is made now; two None where no seed is set."""
        counts = self.seed is not None and op_seed is None
        self._unseeded += counts
        return seeds_of(self.seed, op_seed, self._unseeded - counts)

    def note(self, node: Operation) -> None:
        """Has the open tapes hear of a new node."""
        scope = SCOPE()
        if scope is not None and scope.tapes:
            from nbtf.compat._v1._graph.taping import note_node

            variables = self.variables_read_by([node])
            for tape in scope.tapes:
                note_node(tape, node, variables)

    def variables_read_by(self, nodes: Sequence[Operation]) -> list[Any]:
        """Returns the resource variables whose handles some nodes take, each once."""
        inputs = [self.origin_of(tensor) for node in nodes for tensor in node.inputs if tensor._link == "handle"]
        variables = [getattr(tensor._graph, "variable_of", {}).get(tensor) for tensor in dict.fromkeys(inputs)]
        return [variable for variable in variables if variable is not None]

    def flow_back(self, tape: Any, targets: Any, seeds: Any, sources: Any) -> list[Any]:
        """Returns gradients through the nodes that a tape has heard; `tf.GradientTape` calls this."""
        from nbtf.compat._v1._graph.taping import flow_back

        return flow_back(tape, targets, seeds, sources)

    def call_with_own_gradient(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Calls a function that brings its own gradient; `tf.custom_gradient` calls this."""
        from nbtf.compat._v1._graph.custom_gradients import call_with_own_gradient

        return call_with_own_gradient(self, function, args, kwargs)

    def jacobians(self, way_back: Any, target: Any, sources: Any, of: Any) -> list[Any]:
        """Returns the jacobians of a target whose lengths are known only in a run; `tf.GradientTape` calls this."""
        from nbtf.compat._v1._graph.jacobians import open_jacobians

        return open_jacobians(self, way_back, target, sources, of)

    def origin_of(self, tensor: GraphTensor) -> GraphTensor:
        """Returns the tensor that another one of this graph stands for: itself, except in a branch."""
        return tensor

    def stand_in_for(self, tensor: GraphTensor) -> GraphTensor:
        """Returns the tensor of this graph for a tensor: itself, except in a branch that takes it from outside."""
        return tensor

    # What its tensors and nodes ask it

    def evaluate(self, tensor: GraphTensor, feed_dict: Any, session: Any) -> Any:
        """Returns the value of a tensor, in a session or the default one."""
        return evaluate_in_session(tensor, feed_dict, session)

    def run_operation(self, operation: Operation, feed_dict: Any, session: Any) -> None:
        """Runs a node in a session or the default one."""
        run_operation(operation, feed_dict, session)

    def shown_shape(self, shape: TensorShape) -> TensorShape:
        """Returns a shape as its reader wants it: programs get `Dimension`s, ops of `nbtf` plain lengths.

        To be called by the property itself, which stands one frame below.
        """
        if process().v2_shapes:
            return shape
        reader = sys._getframe(2).f_globals.get("__name__", "")
        return shape if reader.startswith("nbtf.") else DimensionedShape(shape)

    def read_shape(self, shape: Any) -> TensorShape:
        """Returns the shape that a program has described, with `Dimension`s in it."""
        return TensorShape(DimensionedShape(shape))

    def shape_text(self, shape: TensorShape) -> str:
        """Returns a shape as TensorFlow 1 prints it: `(?, 2)`."""
        return shape_text(shape)

    def run_later(
        self, type: str, run: Callable[[Sequence[Any]], Sequence[Any]], inputs: Sequence[Any], specs: Known
    ) -> list[GraphTensor]:
        """Returns the outputs of a node that runs a function of values in a session.

        Args:
          type: what it is called.
          run: takes and returns tensors.
          inputs: tensors of the graph.
          specs: lengths and dtype of each output.
        """
        outputs = [(TensorShape(dims), dtype) for dims, dtype in specs]
        self.settle()  # constants get nodes of their own
        with self.inside():
            return self.add_known(Deferred(type, run), inputs, {}, type, lambda name: outputs).outputs

    # What may be done with it

    def finalize(self) -> None:
        """Refuses new nodes from now on."""
        self.settle()
        self._finalized = True

    @property
    def finalized(self) -> bool:
        """Whether new nodes are refused."""
        return self._finalized

    def _check_open(self, record: Any = None) -> None:
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")
        if self.refuses_changes and record is not None:
            _check_unconditional(record)

    def prevent_feeding(self, tensor: GraphTensor) -> None:
        """Says that no value may be fed for a tensor."""
        self._unfeedable.add(tensor)

    def is_feedable(self, tensor: GraphTensor) -> bool:
        """Tells whether a value may be fed for a tensor."""
        return tensor not in self._unfeedable

    def prevent_fetching(self, op: Operation) -> None:
        """Says that a node must not be fetched."""
        self._unfetchable.add(op)

    def check_fetchable(self, elements: Sequence[GraphTensor | Operation]) -> None:
        """Raises `ValueError` for tensors and nodes that must not be fetched."""
        if not self._unfetchable:
            return
        for element in elements:
            if not self.is_fetchable(element):
                raise ValueError(f"Operation {element.name} has been marked as not fetchable.")

    def is_fetchable(self, tensor_or_op: Any) -> bool:
        """Tells whether a tensor or node may be fetched."""
        node = tensor_or_op.op if isinstance(tensor_or_op, GraphTensor) else tensor_or_op
        return node not in self._unfetchable


def _check_unconditional(record: Any) -> None:
    """Raises `NotImplementedError` for an op that makes a variable, or trains one."""
    if getattr(record, "resource", False) or record.type in ("VariableV2", "VarHandleOp"):
        if record.type in _READING:
            return
        raise NotImplementedError(
            f"{record.type} inside a branch of tf.cond or the body of tf.while_loop: in nbtf those cannot make or "
            "train variables, only assign to them. Make the variable before."
        )


_READING = frozenset({"ReadVariableOp", "ResourceGather", "IsVariableInitialized", "VarIsInitializedOp", "Merge"})
