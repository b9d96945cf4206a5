"""A graph: nodes recorded by ops, with their names, scopes and devices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from nbtf._graph import operators as operators  # gives graph tensors their operators
from nbtf._graph.controls import to_wait_for
from nbtf._graph.devices import ask_for_devices
from nbtf._graph.elements import element_of
from nbtf._graph.graph_blocks import GraphBlocks
from nbtf._graph.host_inputs import late_attrs, node_inputs, read_attrs
from nbtf._graph.names import check_node_name
from nbtf._graph.operation import CONST, Operation, flat
from nbtf._graph.reference_types import Link
from nbtf._graph.shape_errors import misfit
from nbtf._graph.shapes import Known, outputs_of
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.op import Op
from nbtf._runtime.blocks import current_scope, leaving
from nbtf._runtime.changes import Change, ChangingBlock
from nbtf._runtime.scopes import EMPTY, SCOPE
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape
from nbtf._types import DType, as_dtype
from nbtf.errors import InvalidArgumentError


class GraphScope(ChangingBlock):
    """The block of `Graph.as_default()`."""

    __slots__ = ("_graph", "_plan")

    def __init__(self, graph: SymbolicGraph, plan: Callable[[], Change[Any]] | None = None) -> None:
        """Stores the graph.

        Args:
          graph: the graph.
          plan: returns a further change that lasts while the block is open.
        """
        super().__init__()
        self._graph, self._plan = graph, plan

    def __enter__(self) -> SymbolicGraph:
        """Opens the block."""
        graph = self._graph
        outside: dict[str, Any] = {} if graph.building_function else {"strategy": None, "replica": None, "creators": ()}
        inner = (current_scope() or EMPTY).with_(graph=graph, **outside)
        if self._plan is None:
            self.enter(inner)
        else:
            self.begin(self._plan(), inner)
        return self._graph

    @leaving
    def __exit__(self, *error: object) -> None:
        """Closes the block."""
        self._graph.settle()
        self.leave("Exiting graph scope without proper scope nesting")


class SymbolicGraph(GraphBlocks):
    """Nodes and the tensors between them; while it is the default graph, ops are added to it instead of run.

    Only one thread at a time may build it: its open blocks belong to the graph, not to the thread.
    """

    building_function = False
    """Whether it is the body of a function, in which `==` between tensors is an op; always false here."""

    def __init__(self) -> None:
        """Creates a graph without nodes."""
        super().__init__()
        self._nodes: dict[str, Operation] = {}
        self._unnamed: list[GraphTensor] = []

    # The default graph

    def as_default(self) -> AbstractContextManager[SymbolicGraph]:
        """Returns a `with` block in which ops are added to this graph."""
        return GraphScope(self)

    def inside(self) -> AbstractContextManager[Any]:
        """Returns `as_default()`, or a block that does nothing if this graph is already the default."""
        scope = SCOPE()
        return nullcontext() if scope is not None and scope.graph is self else GraphScope(self)

    def reaches(self, graph: SymbolicGraph) -> bool:
        """Returns whether nodes here may use tensors of a graph: of this graph only, but branches override this."""
        return graph is self

    # Adding nodes

    def add(self, op: Op, inputs: Sequence[Any], attrs: dict[str, Any], name: str | None) -> Any:
        """Records an op instead of running it; the road calls this while the graph is open.

        Args:
          op: the op.
          inputs: tensors of a graph, eager tensors, and values, which become constants; lists where it takes lists.
          attrs: its attributes.
          name: name of the node; None for the op's own name.

        Returns:
          The output, or a list of outputs, as the op returns eagerly.
        """
        owner = self._owner_of(flat(inputs))
        if owner is not self:
            with owner.as_default():
                return owner.add(op, inputs, attrs, name)
        arguments = [self._own(value) for value in convert_inputs(op, inputs)]
        self._check_open()
        full_name = self.scoped_name(name or op.form.node_name or op.type)
        check_node_name(full_name)
        read = read_attrs(op, attrs)
        attrs_later = late_attrs(self, op, arguments, attrs, read, full_name, in_front=True)
        self._name_constants(arguments, full_name, getattr(op, "inputs", ()))
        attrs_later |= late_attrs(self, op, arguments, attrs, read, full_name, in_front=False)
        everything = node_inputs(op, flat(arguments), attrs_later)
        try:
            specs = outputs_of(op, arguments, read.attrs, read.unknown)
        except InvalidArgumentError as error:
            raise ValueError(misfit(op, full_name, arguments, everything, read.attrs, error.message)) from None
        node = self._made(op, arguments, read.attrs, full_name, specs, inputs=everything)
        node.late_attrs = attrs_later
        node.attrs_known = frozenset(attrs_later).difference(read.unknown)
        if not op.results:
            return node
        return list(node.outputs) if op.many else node.outputs[0]

    def _constant_named(self, name: str, array: Any) -> GraphTensor:
        tensor = GraphTensor(self, as_dtype(array.dtype), TensorShape(array.shape))
        tensor._value = array
        self._make_constant(tensor, name)
        return tensor

    def constant(self, array: Any, dtype: DType, value: Any = None, requested: DType | None = None) -> GraphTensor:
        """Returns a constant whose name comes from the op that uses it; the road calls this while the graph is open.

        Args:
          array: its values.
          dtype: their dtype.
          value: the Python value that it was made from.
          requested: the dtype that was requested.
        """
        self._check_open()
        tensor = GraphTensor(self, dtype, TensorShape(array.shape))
        tensor._value = array
        self._unnamed.append(tensor)
        return tensor

    def add_source(self, record: Any, name: str, attrs: Mapping[str, Any], specs: Known) -> Operation:
        """Adds a node without inputs, such as a constant, a placeholder, or a `NoOp`.

        Args:
          record: its kind; see `Source`.
          name: its name.
          attrs: its attributes.
          specs: shape and dtype of each output.
        """
        self._check_open()
        self.settle()
        full_name = self.scoped_name(name)
        check_node_name(full_name)
        return self._made(record, (), attrs, full_name, specs)

    def add_known(
        self,
        record: Any,
        arguments: Sequence[Any],
        attrs: Mapping[str, Any],
        name: str,
        specs: Callable[[str], Known],
        link: Link | None = None,
    ) -> Operation:
        """Adds a node with outputs known in advance: one that represents a variable or uses it.

        Args:
          record: its kind.
          arguments: tensors of this graph, and eager ones.
          attrs: its attributes.
          name: its name.
          specs: returns shape and dtype of each output, or raises, once the name is decided.
          link: how the outputs lead to a variable.
        """
        self._check_open(record)
        self._owner_of(arguments)  # raises if they belong to several graphs
        arguments = [self._own(value) for value in arguments]
        full_name = self.scoped_name(name)
        check_node_name(full_name)
        self._name_constants(arguments, full_name, record.inputs)
        node = self._made(record, arguments, attrs, full_name, specs(full_name), link)
        return node

    def settle(self) -> None:
        """Gives unused constants nodes named `Const`, in the order in which they were made."""
        unnamed, self._unnamed = self._unnamed, []
        for tensor in unnamed:
            self._make_constant(tensor, self.scoped_name("Const"))

    def name_constant(self, tensor: GraphTensor, name: str) -> None:
        """Gives an unused constant a node of this name, in the open scope."""
        full_name = self.scoped_name(name)
        check_node_name(full_name)
        self._unnamed = [item for item in self._unnamed if item is not tensor]
        self._make_constant(tensor, full_name)

    def _name_constants(self, arguments: Sequence[Any], node: str, names: Sequence[str]) -> None:
        """Names a node's constants after it, such as `add/y`; other unnamed constants become `Const`."""
        if not self._unnamed:
            return
        constant_names: dict[GraphTensor, str] = {}
        for value, name in zip(arguments, names, strict=True):
            if value.__class__ is list:
                stem = "" if name == "values" and len(arguments) == 1 and len(names) == 1 else f"{name}_"
                constant_names.update({item: f"{stem}{number}" for number, item in enumerate(value)})
            else:
                constant_names.setdefault(value, name)
        unnamed, self._unnamed = self._unnamed, []
        for tensor in unnamed:
            name = constant_names.get(tensor)
            full_name = self.scoped_name("Const") if name is None else self._names.unique(f"{node}/{name}")
            self._make_constant(tensor, full_name)

    def _make_constant(self, tensor: GraphTensor, name: str) -> None:
        node = self._made(CONST, (), {"value": tensor._value, "dtype": tensor.dtype}, name, ())
        node.outputs.append(tensor)
        tensor._node = node

    def _made(
        self,
        record: Any,
        arguments: Sequence[Any],
        attrs: Mapping[str, Any],
        name: str,
        specs: Any,
        link: Link | None = None,
        inputs: Sequence[GraphTensor] | None = None,
    ) -> Operation:
        """Creates a node and its outputs with the settings of the open blocks."""
        inputs = flat(arguments) if inputs is None else inputs
        sources = [tensor.op for tensor in inputs]
        node = Operation(self, name, record, arguments, attrs, to_wait_for(self._around.controls, sources))
        node.inputs = tuple(inputs)
        for number, (shape, dtype) in enumerate(specs):
            tensor = GraphTensor(self, dtype, shape, number)
            tensor._node = node
            tensor._link = link
            node.on_variables |= link is not None
            node.outputs.append(tensor)
        for tensor in dict.fromkeys(node.inputs):
            tensor._consumers.append(node)
        node.number = len(self._nodes)
        self._nodes[name] = node
        for waiting in self._around.controls:
            waiting.take(node)
        ask_for_devices(node, self._around.devices)
        self._stand_beside(node)
        self.note(node)
        return node

    def note(self, node: Operation) -> None:
        """Called with each new node; graphs that tapes record override it."""

    def _stand_beside(self, node: Operation) -> None:
        references = [tensor.op for tensor in node.reference_inputs if tensor._link == "reference"]
        beside = [*self._around.colocated, *references]
        groups = [name[5:].decode() for neighbour in beside for name in neighbour.colocation_groups()]
        node.colocated_with = tuple(sorted({*groups, *self._around.groups}))
        for reference in references:  # as TensorFlow 1, which ignores `device` blocks here
            node.ask_for_device(reference.device)
        for reference in self._around.colocated:
            if reference.device:
                node.ask_for_device(reference.device)

    def _owner_of(self, inputs: Sequence[Any]) -> SymbolicGraph:
        """Returns the graph that the inputs belong to; without inputs, this graph.

        Raises:
          ValueError: if they belong to several graphs.
        """
        first: GraphTensor | None = None
        for value in inputs:
            if value.__class__ is GraphTensor:
                if first is None:
                    first = value
                elif value.graph is not first.graph:
                    raise ValueError(
                        f"{value} must be from the same graph as {first} (graphs are {value.graph} and {first.graph})."
                    )
        return self if first is None else first.graph

    def _own(self, value: Any) -> Any:
        """Returns an input as a tensor of this graph; an eager tensor becomes a constant."""
        if value.__class__ is list:
            return [self._own(item) for item in value]
        if value.__class__ is Tensor:
            return self.constant(value.numpy(), value.dtype)
        if value.__class__ is not GraphTensor:
            raise TypeError(f"Can not convert a {type(value).__name__} into a Tensor of a graph.")
        return value

    def _check_open(self, record: Any = None) -> None:
        """Raises an error if the graph accepts no more nodes, or none with this record."""

    # Looking up elements

    def as_graph_element(self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        """Returns the tensor or node that a name, a tensor or a node refers to.

        Raises:
          TypeError: if `obj` is of another type.
          ValueError: if it is of a disallowed kind or belongs to another graph.
          KeyError: if the name does not exist.
        """
        self.settle()
        return element_of(obj, self, self._nodes, allow_tensor, allow_operation)

    def get_operations(self) -> list[Operation]:
        """Returns the nodes in the order in which they were made."""
        self.settle()
        return list(self._nodes.values())

    def get_operation_by_name(self, name: str) -> Operation:
        """Returns the node with this name; raises `KeyError` if it does not exist."""
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not checked
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=False)

    def get_tensor_by_name(self, name: str) -> GraphTensor:
        """Returns the tensor with a name such as `a:0`; raises `KeyError` if it does not exist."""
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not checked
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_operation=False)

    @property
    def version(self) -> int:
        """A number that grows with each node; 0 for an empty graph."""
        self.settle()
        return len(self._nodes)

    # Values, which only graphs with sessions have

    def evaluate(self, tensor: GraphTensor, feed_dict: Any, session: Any) -> Any:
        """Returns the value of a tensor; subclasses with sessions override this."""
        raise NotImplementedError(f"{tensor!r} is symbolic: it has no value while a function is traced.")

    def run_operation(self, operation: Operation, feed_dict: Any, session: Any) -> None:
        """Runs a node; subclasses with sessions override this."""
        raise NotImplementedError(f"{operation!r} is symbolic: it cannot run while a function is traced.")

    def advice(self, instead: str) -> str:
        """Returns advice for code that needs a tensor's value before a run."""
        return f"Its value exists only when a session runs the graph: fetch it with `Session.run`, or {instead}."

    @property
    def advice_on_arrays(self) -> str:
        """Advice for passing a graph tensor to NumPy."""
        return self.advice("use a tf function instead of a NumPy function")

    def refuse(self, tensor: GraphTensor) -> TypeError:
        """Returns the error for using a graph tensor in an eager op."""
        return TypeError(
            f"{tensor!r} belongs to a graph: it has no value before a session runs. Ops run eagerly here. To add ops "
            "to the graph, use `with graph.as_default():`, `disable_eager_execution()`, or "
            "`import nbtf.compat.v1 as tf`."
        )

    def shown_shape(self, shape: TensorShape) -> TensorShape:
        """Returns a shape as the `shape` property of a tensor shows it."""
        return shape

    def read_shape(self, shape: Any) -> TensorShape:
        """Returns the shape that a program described."""
        return TensorShape(shape)

    def shape_text(self, shape: TensorShape) -> str:
        """Returns a shape as tensors print it."""
        return str(shape)


def convert_inputs(op: Op, inputs: Sequence[Any]) -> Sequence[Any]:
    """Returns the inputs as tensors; if all are graph tensors already, their dtypes are checked later."""
    if all([value.__class__ is GraphTensor for value in flat(inputs)]):
        return [list(value) if value.__class__ is tuple else value for value in inputs]
    return op.convert(inputs)
