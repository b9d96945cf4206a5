"""A node of a graph: an op with its inputs, noted down instead of run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nbtf._graph.node_def import NodeDef, attrs_of
from nbtf._graph.tensor import GraphTensor

if TYPE_CHECKING:
    from nbtf._graph.graph import SymbolicGraph


class Source:
    """What a node without inputs is, besides the ops of the table: `Const`, `Placeholder`, `NoOp`."""

    __slots__ = ("type",)

    def __init__(self, type: str) -> None:
        """Takes the op type."""
        self.type = type

    def __repr__(self) -> str:
        """Names the op type."""
        return f"<source {self.type}>"


CONST = Source("Const")
PLACEHOLDER = Source("Placeholder")
NO_OP = Source("NoOp")


class Operation:
    """One node of a graph. Ops make them while a graph is open.

    `record` says what to run: an op of the table with `attrs` and `arguments`, its inputs as the op takes them, lists
    included; or a `Source`, whose value a constant has in `attrs["value"]`.
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
        """Makes a node that has no outputs yet; the graph gives it those."""
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
        """The inputs that are attributes of the op: its shape, its axis."""
        self.attrs_known: frozenset[str] = frozenset()
        """Those of them whose value the graph knows; `attrs` has it."""
        self.on_variables: bool = any([tensor._link is not None for tensor in self.inputs])
        """Whether it stands for a variable, or takes one or what was read of one."""
        self.number = 0
        """How many nodes the graph had before it."""
        self._device = ""

    @property
    def type(self) -> str:
        """The type of the op, such as `MatMul`."""
        return self.record.type

    @property
    def device(self) -> str:
        """The device asked for; empty when none was. Running does not change it."""
        return self._device

    def ask_for_device(self, device: str) -> None:
        """Sets the device asked for, as it is spelled."""
        self._device = device

    def attrs_with(self, values: Mapping[GraphTensor, Any]) -> dict[str, Any]:
        """Returns the attributes for one run.

        Args:
          values: the values there are so far, by tensor; they count for attributes that are inputs.
        """
        if not self.late_attrs:
            return self.attrs
        attrs_found = {name: values[tensor].numpy() for name, tensor in self.late_attrs.items() if tensor in values}
        return {**self.attrs, **attrs_found} if attrs_found else self.attrs

    @property
    def needed_inputs(self) -> list[GraphTensor]:
        """The inputs that must have a value before it runs: not those attributes that the graph knows."""
        late_tensors = [tensor for name, tensor in self.late_attrs.items() if name not in self.attrs_known]
        return [*flat(self.arguments), *late_tensors]

    @property
    def reference_inputs(self) -> tuple[GraphTensor, ...]:
        """The inputs through which it reaches a variable itself, not its value: it must run where that lives."""
        if not getattr(self.record, "resource", False):
            return ()
        return tuple([tensor for tensor in self.inputs[:1] if tensor._link is not None])

    def values(self) -> tuple[GraphTensor, ...]:
        """Returns the outputs."""
        return tuple(self.outputs)

    def colocation_groups(self) -> list[bytes]:
        """Returns the nodes that it must stand beside, as `loc:@name`; itself when there are none."""
        return [f"loc:@{name}".encode() for name in self.colocated_with or (self.name,)]

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Runs it in a session or the default one.

        Raises:
          ValueError: there is no session, or it has another graph.
        """
        self.graph.run_operation(self, feed_dict, session)

    def get_attr(self, name: str) -> Any:
        """Returns an attribute.

        Raises:
          ValueError: there is none of that name.
        """
        attrs = attrs_of(self)
        if name not in attrs:
            raise ValueError(f"Operation '{self.name}' has no attr named '{name}'.")
        return attrs[name]

    @property
    def node_def(self) -> NodeDef:
        """What it is, in the form in which TensorFlow writes graphs."""
        return NodeDef(self)

    def __str__(self) -> str:
        """Returns the text of `node_def`."""
        return str(self.node_def)

    def __repr__(self) -> str:
        """Returns `<tf.Operation 'a' type=Const>`."""
        return f"<tf.Operation '{self.name}' type={self.type}>"


def flat(arguments: Sequence[Any]) -> list[Any]:
    """Returns the inputs of an op one by one, those in lists as well."""
    tensors: list[Any] = []
    for value in arguments:
        if value.__class__ is list or value.__class__ is tuple:
            tensors += value
        else:
            tensors.append(value)
    return tensors
