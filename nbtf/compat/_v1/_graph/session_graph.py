"""The graph of TensorFlow 1: nodes, collections, seeds, and rules for feeding and fetching."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NoReturn

from nbtf._graph.graph import GraphScope, SymbolicGraph
from nbtf._graph.node_def import NodeDef, message_lines
from nbtf._graph.operation import Operation
from nbtf._graph.seeds import seeds_of
from nbtf._graph.shapes import Known
from nbtf._graph.tensor import GraphTensor
from nbtf._runtime.changes import Change
from nbtf._runtime.scopes import SCOPE
from nbtf._shapes import TensorShape
from nbtf.compat._v1._graph.deferred import Deferred
from nbtf.compat._v1._graph.dimension import DimensionedShape, shape_text
from nbtf.compat._v1._graph.process import process
from nbtf.compat._v1._session.defaults import evaluate_in_session, run_operation
from nbtf.compat._v1._surface.removed import without_attributes
from nbtf.version import GRAPH_DEF_VERSION


class Collections:
    """Lists of arbitrary values, by name."""

    def __init__(self) -> None:
        self._collections: dict[Hashable, list[Any]] = {}

    @property
    def collections(self) -> list[Hashable]:
        """The names of the collections."""
        return list(self._collections)

    def get_all_collection_keys(self) -> list[str]:
        """Returns the collection names that are strings."""
        return [name for name in self._collections if isinstance(name, str)]

    def add_to_collection(self, name: Hashable, value: Any) -> None:
        """Adds a value to a collection, which is created if necessary."""
        self.get_collection_ref(name).append(value)

    def add_to_collections(self, names: str | Iterable[Hashable], value: Any) -> None:
        """Adds a value to several collections, once to each even if a name is repeated."""
        for name in dict.fromkeys([names] if isinstance(names, str) else names):
            self.add_to_collection(name, value)

    def get_collection(self, name: Hashable, scope: str | None = None) -> list[Any]:
        """Returns the values in a collection, in insertion order.

        Args:
          name: name of the collection; a collection that does not exist is empty.
          scope: a regular expression; only values whose name starts with a match are returned.
        """
        values = self._collections.get(name, [])
        if scope is None:
            return list(values)
        pattern = re.compile(scope)
        return [value for value in values if hasattr(value, "name") and pattern.match(value.name)]

    def get_collection_ref(self, name: Hashable) -> list[Any]:
        """Returns the list behind a collection; changing it changes the collection."""
        return self._collections.setdefault(name, [])

    def clear_collection(self, name: Hashable) -> None:
        """Empties a collection."""
        self._collections.pop(name, None)


class GraphDef:
    """The nodes of a graph as text."""

    __slots__ = ("_producer", "node")

    def __init__(self, nodes: Sequence[Any] | None = None) -> None:
        self.node: list[NodeDef] = [NodeDef(node) for node in nodes or ()]
        self._producer = None if nodes is None else GRAPH_DEF_VERSION

    def __repr__(self) -> str:
        lines = [line for node in self.node for line in message_lines("node", node.lines())]
        if self._producer is not None:
            lines += message_lines("versions", [f"producer: {self._producer}"])
        return "".join(f"{line}\n" for line in lines)


class Abilities:
    """Functions of graphs from files above this one, which set them; `graph.py` loads these files."""

    block: Callable[..., Change[None]]
    """The change that lasts while a graph is the default one."""
    note_node: Callable[[Any, Operation, Sequence[Any]], None]
    """Lets a tape record a node."""
    flow_back: Callable[[Any, Any, Any, Any], list[Any]]
    """Returns the gradients through the nodes of a tape."""
    call_with_own_gradient: Callable[[Graph, Any, Any, Any], Any]
    """Calls a function that has a custom gradient."""
    jacobians: Callable[[Graph, Any, Any, Any, Any], list[Any]]
    """Returns the Jacobians of a target whose shape is known only in a run."""
    variable: Callable[..., Any]
    """Creates a resource variable."""
    group: Callable[..., Any]
    """Returns a node that waits for others."""


@without_attributes("Graph")
class Graph(SymbolicGraph, Collections):
    """Nodes and the tensors between them. While a graph is the default, ops are added to it instead of being run.

    Only one thread at a time may build a graph, because open blocks belong to the graph and not to the thread.
    """

    def __init__(self) -> None:
        """Creates a graph without nodes."""
        super().__init__()
        Collections.__init__(self)
        self._finalized = False
        self._unfeedable: set[GraphTensor] = set()
        self.refuses_changes = 0
        """The number of branches being built; meanwhile, ops that change variables are rejected."""
        self.seed: int | None = None
        self._unseeded = 0
        """The number of random ops without their own seed that were created while the graph had one."""
        self.variable_of: dict[GraphTensor, Any] = {}
        """The resource variables by their handles."""
        self.variable_scopes: Any = None
        """The open variable scope, and those opened before; see `_variables/scope.py`."""
        self.variable_store: Any = None
        """The variables of `tf.get_variable`, by name."""

    def as_default(self) -> AbstractContextManager[Any]:
        """Returns a block in which this graph is the default."""
        return GraphScope(self, Abilities.block)

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
            variables = self.variables_read_by([node])
            for tape in scope.tapes:
                Abilities.note_node(tape, node, variables)

    def variables_read_by(self, nodes: Sequence[Operation]) -> list[Any]:
        """Returns the resource variables whose handles are inputs of some nodes, without duplicates."""
        inputs = [self.origin_of(tensor) for node in nodes for tensor in node.inputs if tensor._link == "handle"]
        variables = [getattr(tensor._graph, "variable_of", {}).get(tensor) for tensor in dict.fromkeys(inputs)]
        return [variable for variable in variables if variable is not None]

    def flow_back(self, tape: Any, targets: Any, seeds: Any, sources: Any) -> list[Any]:
        """Returns gradients through the nodes that a tape has recorded; called by `tf.GradientTape`."""
        return Abilities.flow_back(tape, targets, seeds, sources)

    def call_with_own_gradient(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Calls a function that has a custom gradient; called by `tf.custom_gradient`."""
        return Abilities.call_with_own_gradient(self, function, args, kwargs)

    def jacobians(self, way_back: Any, target: Any, sources: Any, of: Any) -> list[Any]:
        """Returns the Jacobians of a target whose shape is known only in a run; called by `tf.GradientTape`."""
        return Abilities.jacobians(self, way_back, target, sources, of)

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

    # Methods for other parts of nbtf

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> GraphDef:
        """Returns the nodes in TensorFlow's text format for graphs.

        Args:
          from_version: number of nodes to skip, a former value of `version`.
          add_shapes: accepted and ignored.
        """
        return GraphDef(self.get_operations()[from_version or 0 :])

    def variable(self, **arguments: Any) -> Any:
        """Creates a variable of the graph for `nbtf.Variable`; a resource variable, as in TensorFlow 2.

        Args:
          **arguments: arguments of `nbtf.Variable`.
        """
        arguments.pop("experimental_enable_variable_lifting", None)
        return Abilities.variable(**arguments)

    def together(self, inputs: Sequence[Any], name: str | None) -> Any:
        """Returns a node that waits for others, for `nbtf.group`.

        Args:
          inputs: nodes, tensors, and lists of them.
        """
        return Abilities.group(*inputs, name=name)

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
