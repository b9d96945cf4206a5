"""A node of a graph: an op with its inputs, recorded instead of run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from nbtf._graph.node_def import NodeDef, attrs_of
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.attributes import KnownInput

if TYPE_CHECKING:
    from nbtf._graph.graph import SymbolicGraph


class Source:
    """The record of a node without inputs that is not in the op table: `Const`, `Placeholder`, `NoOp`."""

    __slots__ = ("type",)

    def __init__(self, type: str) -> None:
        """Stores the op type."""
        self.type = type

    def __repr__(self) -> str:
        """Returns a text with the op type."""
        return f"<source {self.type}>"


CONST = Source("Const")
PLACEHOLDER = Source("Placeholder")
NO_OP = Source("NoOp")


class Operation:
    """One node of a graph. Ops create nodes while a graph is open.

    `record` is the op to run. For an op of the table, `attrs` and `arguments` hold its attributes and its inputs as the
    op takes them, including lists. For a `Source`, a constant has its value in `attrs["value"]`.
    """

    def __init__(
        self,
        graph: SymbolicGraph,
        name: str,
        record: Any,
        arguments: Sequence[Any],
        attrs: Mapping[str, Any],
        control_inputs: Sequence[Operation],
    ) -> None:
        """Creates a node without outputs; the graph adds them."""
        self.graph = graph
        self.name = name
        self.record = record
        self.arguments: tuple[Any, ...] = tuple(arguments)
        self.attrs: dict[str, Any] = dict(attrs)
        self.inputs: tuple[GraphTensor, ...] = tuple(flat(arguments))
        self.control_inputs: list[Operation] = list(control_inputs)
        self.outputs: list[GraphTensor] = []
        self.colocated_with: tuple[str, ...] = ()
        self.late_attrs: dict[str, GraphTensor] = {}
        """The inputs that are attributes of the op, such as its shape or its axis."""
        self.attrs_known: frozenset[str] = frozenset()
        """Those of them with a value known to the graph, which is in `attrs`."""
        self.on_variables: bool = any([tensor._link is not None for tensor in self.inputs])
        """Whether it represents a variable, or uses a variable or a value read from one."""
        self.number = 0
        """The number of nodes that the graph had before it."""
        self._device = ""

    @property
    def type(self) -> str:
        """The type of the op, such as `MatMul`."""
        return self.record.type

    @property
    def device(self) -> str:
        """The requested device; empty if none was requested. Running the node does not change it."""
        return self._device

    def ask_for_device(self, device: str) -> None:
        """Sets the requested device, in the given spelling."""
        self._device = device

    def attrs_with(self, values: Mapping[GraphTensor, Any]) -> dict[str, Any]:
        """Returns the attributes for one run.

        Args:
          values: the values so far, by tensor; used for attributes that are inputs.
        """
        if not self.late_attrs:
            return self.attrs
        attrs_found = {name: values[tensor].numpy() for name, tensor in self.late_attrs.items() if tensor in values}
        return {**self.attrs, **attrs_found} if attrs_found else self.attrs

    @property
    def needed_inputs(self) -> list[GraphTensor]:
        """The inputs that need a value before the node runs: all except attributes that the graph knows."""
        late_tensors = [tensor for name, tensor in self.late_attrs.items() if name not in self.attrs_known]
        return [*flat(self.arguments), *late_tensors]

    @property
    def reference_inputs(self) -> tuple[GraphTensor, ...]:
        """The inputs that refer to a variable itself, not to its value: the node must run on the variable's device."""
        if not getattr(self.record, "resource", False):
            return ()
        return tuple([tensor for tensor in self.inputs[:1] if tensor._link is not None])

    def known_part(self) -> Any:
        """Returns the known part of the first output: an array, a list with None for other elements, or None."""
        if self.record is CONST:
            return self.attrs["value"]
        static = self.record.form.static if hasattr(self.record, "form") else False
        if not static or set(self.late_attrs) - self.attrs_known:
            return None
        inputs: list[Any] = [
            [_known(item) for item in value] if value.__class__ is list else _known(value) for value in self.arguments
        ]
        if all([isinstance(item.value, np.ndarray | np.generic) for item in flat(inputs)]):
            values = [[item.value for item in item] if item.__class__ is list else item.value for item in inputs]
            return self.record.kernel(np, *values, **self.attrs)
        part = None if static is True else static(*inputs, **self.attrs)
        if part is None or (isinstance(part, list) and None in part):
            return cast("Any", part)
        return np.asarray(part, self.outputs[0]._dtype.np_dtype)

    def values(self) -> tuple[GraphTensor, ...]:
        """Returns the outputs."""
        return tuple(self.outputs)

    def colocation_groups(self) -> list[bytes]:
        """Returns the nodes that it is colocated with, as `loc:@name`; the node itself if there are none."""
        return [f"loc:@{name}".encode() for name in self.colocated_with or (self.name,)]

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Runs the node in the given session or in the default session.

        Raises:
          ValueError: if no session is open, or if the session has another graph.
        """
        self.graph.run_operation(self, feed_dict, session)

    def get_attr(self, name: str) -> Any:
        """Returns an attribute.

        Raises:
          ValueError: if the node has no attribute of this name.
        """
        attrs = attrs_of(self)
        if name not in attrs:
            raise ValueError(f"Operation '{self.name}' has no attr named '{name}'.")
        return attrs[name]

    @property
    def node_def(self) -> NodeDef:
        """The node's description, in the form in which TensorFlow writes graphs."""
        return NodeDef(self)

    def __str__(self) -> str:
        """Returns the text of `node_def`."""
        return str(self.node_def)

    def __repr__(self) -> str:
        """Returns `<tf.Operation 'a' type=Const>`."""
        return f"<tf.Operation '{self.name}' type={self.type}>"


def _known(tensor: GraphTensor) -> KnownInput:
    return KnownInput(tensor._shape._dims, tensor.known_part())


def flat(values: Sequence[Any]) -> list[Any]:
    """Returns the inputs or attributes of an op one by one, including those in lists and tuples."""
    items: list[Any] = []
    for value in values:
        if value.__class__ is list or value.__class__ is tuple:
            items += flat(value)
        else:
            items.append(value)
    return items


def mapped(change: Callable[[Any], Any], value: Any) -> Any:
    """Returns the result of a function for a value; for a list or tuple, the same structure with the results."""
    if value.__class__ is list or value.__class__ is tuple:
        items: Any = value
        return items.__class__([mapped(change, item) for item in items])
    return change(value)
