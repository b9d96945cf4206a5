"""Execution plans: the nodes to run for given fetches, their order, their copies, and when values can be freed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal, NamedTuple, TypeAlias

from nbtf._devices.base import Device
from nbtf._graph.operation import CONST, NO_OP, PLACEHOLDER, Operation, Source, flat
from nbtf._graph.tensor import GraphTensor
from nbtf._record.events import CopyKind, Reason
from nbtf._runtime.scopes import NodeScope, Scope
from nbtf._types import HOST_DTYPES
from nbtf.compat._v1._graph.deferred import Deferred
from nbtf.compat._v1._session.placer import Placement

Key: TypeAlias = "GraphTensor | tuple[GraphTensor, Device]"
"""A value of a run: a graph tensor, or its copy on another device."""

Keys: TypeAlias = "tuple[Key | list[Key], ...]"


_FED = Reason("session placer", "fed, with its consumer")


class Copy(NamedTuple):
    """A copy to make before a node runs."""

    source: GraphTensor
    key: Key
    scope: NodeScope
    copy_kind: CopyKind


Kind: TypeAlias = Literal["op", "constant", "variable", "deferred", "placeholder", "nothing"]
"""How a node is executed."""


@dataclass(slots=True)
class Step:
    """A node to run, with its scope, its inputs, and the values that are not needed afterwards.

    `late_attrs` are the attributes whose values are known only during the run.
    """

    node: Operation
    role: Kind
    scope: NodeScope
    keys: Keys
    late_attrs: tuple[tuple[str, GraphTensor], ...]
    copies: tuple[Copy, ...]
    done_with: list[Key]


class Plan(NamedTuple):
    """The steps for some fetches and, for each fetch, its tensor and the scope in which it is read."""

    steps: list[Step]
    fetches: Sequence[tuple[GraphTensor, Scope | None] | None]


def needed(fetches: Sequence[GraphTensor | Operation], fed: Collection[GraphTensor]) -> list[Operation]:
    """Returns the nodes that the fetches depend on, in execution order; fed tensors are not computed.

    The order of creation is an execution order, because every node is created after its inputs.
    """
    pending = [fetch if isinstance(fetch, Operation) else fetch.op for fetch in fetches if fetch not in fed]
    nodes: set[Operation] = set()
    while pending:
        node = pending.pop()
        if node not in nodes:
            nodes.add(node)
            inputs = node.needed_inputs if node.late_attrs else node.inputs
            pending += [tensor.op for tensor in inputs if tensor not in fed]
            pending += node.control_inputs
    return sorted(nodes, key=attrgetter("number"))


def plan(
    fetches: Sequence[GraphTensor | Operation],
    fed: Collection[GraphTensor],
    placed: Mapping[Operation, Placement],
    host: Device,
) -> Plan:
    """Returns the steps that compute the fetches.

    Args:
      fetches: the requested tensors and nodes.
      fed: tensors that already have a value, on the host.
      placed: placements of the nodes.
      host: CPU:0.
    """
    nodes = needed(fetches, fed)
    copies = _Copies(nodes, fed, placed, host)
    steps = [_step(node, placed[node], fed, copies) for node in nodes]
    fetched = [fetch if isinstance(fetch, GraphTensor) else None for fetch in fetches]
    fetched_with_scopes = [None if tensor is None else (tensor, _scope(tensor.op, placed)) for tensor in fetched]
    _end(steps, {tensor for tensor in fetched if tensor is not None})
    return Plan(steps, fetched_with_scopes)


def _scope(node: Operation, placed: Mapping[Operation, Placement]) -> NodeScope | None:
    return NodeScope(node.name, *placed[node]) if node in placed else None


def _step(node: Operation, placement: Placement, fed: Collection[GraphTensor], copies: _Copies) -> Step:
    scope = NodeScope(node.name, *placement)
    role = _role_of(node)
    keys = copies.keys(node, placement.device) if role == "op" else node.arguments
    late_attrs = [
        (name, source) for name, source in node.late_attrs.items() if source in fed or name not in node.attrs_known
    ]
    return Step(node, role, scope, keys, tuple(late_attrs), tuple(copies.new(keys, scope)), [])


_SOURCES: dict[Source, Kind] = {CONST: "constant", PLACEHOLDER: "placeholder", NO_OP: "nothing"}


def _role_of(node: Operation) -> Kind:
    if isinstance(node.record, Source):
        return _SOURCES[node.record]
    if node.on_variables and not _takes_values(node):
        return "variable"
    return "deferred" if isinstance(node.record, Deferred) else "op"


def _takes_values(node: Operation) -> bool:
    """Returns whether a node is an op of the table that uses only values, possibly those of variables."""
    leads_on = any([tensor._link is not None for tensor in node.outputs])
    return not (isinstance(node.record, Source | Deferred) or node.reference_inputs or leads_on)


def _end(steps: Sequence[Step], fetched: Collection[GraphTensor]) -> None:
    """Adds to each step the values that are not needed after it."""
    last: dict[Any, Step] = {}
    for step in steps:
        for key in (*step.node.outputs, *step.node.inputs, *_flat(step.keys)):
            last[key] = step
    for key, step in last.items():
        if key not in fetched:
            step.done_with.append(key)


class _Copies:
    """The tensors that are copied before the ops that need them.

    An op that finds an input on another device copies it itself. A tensor that several ops on a device need is copied
    once, as in TensorFlow, and a fed tensor is copied to a device as a value that comes from the program.
    """

    def __init__(
        self,
        nodes: Sequence[Operation],
        fed: Collection[GraphTensor],
        placed: Mapping[Operation, Placement],
        host: Device,
    ) -> None:
        readers: dict[tuple[GraphTensor, Device], int] = {}
        for node in nodes:
            device = placed[node].device
            for tensor in dict.fromkeys(flat(node.arguments)) if _wants_copies(node) else ():
                source_device = host if tensor in fed else placed[tensor.op].device
                if source_device is not device and tensor._dtype not in HOST_DTYPES:
                    readers[tensor, device] = readers.get((tensor, device), 0) + 1
        self._wanted = {copy_key for copy_key, count in readers.items() if count > 1 or copy_key[0] in fed}
        self._made: set[Key] = set()
        self._fed = fed

    def keys(self, node: Operation, device: Device) -> Keys:
        """Returns the inputs of a node on a device, with copies made beforehand where there are any."""
        if not self._wanted or not _wants_copies(node):
            return node.arguments
        return tuple(
            [
                [self._key(tensor, device) for tensor in value] if value.__class__ is list else self._key(value, device)
                for value in node.arguments
            ]
        )

    def _key(self, tensor: GraphTensor, device: Device) -> Key:
        copy_key = tensor, device
        return copy_key if copy_key in self._wanted else tensor

    def new(self, keys: Keys, scope: NodeScope) -> list[Copy]:
        """Returns the copies that a node is the first to need."""
        copy_keys = [key for key in dict.fromkeys(_flat(keys)) if isinstance(key, tuple) and key not in self._made]
        self._made.update(copy_keys)
        return [self._copy(copy_key, scope) for copy_key in copy_keys]

    def _copy(self, copy_key: tuple[GraphTensor, Device], scope: NodeScope) -> Copy:
        tensor, device = copy_key
        if tensor in self._fed:
            return Copy(tensor, copy_key, NodeScope(tensor.op.name, device, _FED), "upload")
        return Copy(tensor, copy_key, scope, "move")


def _wants_copies(node: Operation) -> bool:
    """Returns whether a node needs its input values on its own device."""
    return _takes_values(node) and not node.record.host_outputs


def _flat(keys: Keys) -> list[Key]:
    return [item for key in keys for item in (key if isinstance(key, list) else [key])]
