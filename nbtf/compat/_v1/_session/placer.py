"""The session placer, which assigns graph nodes to devices and records the reasons.

Source: placer.cc and colocation_graph.cc of TensorFlow 2.21.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from nbtf._devices.base import Device
from nbtf._devices.names import Fields, parse
from nbtf._graph.operation import CONST, Operation, Source, flat
from nbtf._record.events import Reason
from nbtf._runtime.placement import Machine
from nbtf._types import DType, string
from nbtf.compat._v1._session.colocation import Colocation, Group, Types, debug_info, is_generator, order_of
from nbtf.errors import InvalidArgumentError

_METADATA = frozenset({"Shape", "Size", "Rank"})
"""Ops that read only the shape of their input; they are placed on its device."""

_PRIORITIES = {"GPU": 210, "CPU": 70}
"""The priority of each device type. Source: `DeviceFactory::Register` of TensorFlow 2.21."""


class Placement(NamedTuple):
    """A device and the reason for choosing it."""

    device: Device
    reason: Reason


class _Choice(NamedTuple):
    """The devices allowed for a group, best first; `softly` if none of the requested devices is available."""

    devices: tuple[Device, ...]
    softly: bool = False


def place_nodes(
    nodes: Sequence[Operation],
    machine: Machine,
    placed: dict[Operation, Placement] | None = None,
    fixed: Mapping[Operation, Device] | None = None,
) -> dict[Operation, Placement]:
    """Returns the placement of each node, which depends only on the arguments.

    Nodes with no inputs and one output are placed last, on the device of their consumers if that is a single one.

    Args:
      nodes: nodes of a graph, in the order of their creation.
      machine: the devices, and whether soft placement is on.
      placed: receives the placements; after an error, it has those made before.
      fixed: devices of variables that already have a value; their groups stay on these devices.

    Raises:
      InvalidArgumentError: if a node cannot be placed.
    """
    return _Placer(nodes, machine, {} if placed is None else placed, fixed or {}).placed


def types_of(node: Operation, types: Types) -> Types:
    """Returns the device types, among `types`, that can run a node.

    Raises:
      InvalidArgumentError: if there are none.
    """
    tensors = flat(node.arguments) or node.outputs  # a node without inputs is placed according to its outputs
    dtypes = tuple([tensor._dtype for tensor in tensors])
    runnable = tuple([type for type in types if _has_kernel(node.record, type, dtypes)])
    if not runnable:
        raise InvalidArgumentError(None, node, _no_kernel_at_all(node, types))
    return runnable


def _has_kernel(record: Any, type: str, dtypes: Sequence[DType]) -> bool:
    if isinstance(record, Source):
        return type == "CPU" or record is not CONST or string not in dtypes
    return record.has_kernel(type, dtypes)


class _Placer:
    """Places one graph."""

    def __init__(
        self,
        nodes: Sequence[Operation],
        machine: Machine,
        placed: dict[Operation, Placement],
        fixed: Mapping[Operation, Device],
    ) -> None:
        self.placed = placed
        self._machine = machine
        self._named = sorted([(parse(device.name), device) for device in machine.devices], key=_best_first)
        self._has_gpu = self._named[0][1].type == "GPU"
        types: Types = tuple(dict.fromkeys([device.type for _, device in self._named]))
        self._choices: dict[tuple[Fields, Types], _Choice] = {}
        self._waiting_for = _waiting(nodes)
        self._colocation = Colocation(nodes, lambda node: types_of(node, types), machine.soft)
        known_nodes = set(nodes) if fixed else ()
        self._settled = {self._colocation.group(node): device for node, device in fixed.items() if node in known_nodes}
        """The devices of groups that are already placed; groups with one node are left out."""
        for node in order_of(nodes):
            placement = self.placed[node] = self._place_node(node)
            group = self._colocation.group(node)
            if group.several:
                self._settled[group] = placement.device

    def _place_node(self, node: Operation) -> Placement:
        group = self._colocation.group(node)
        choice = self._choice(group)
        if not choice.devices:
            raise _refusal(node, group, self._machine)
        usual = Placement(choice.devices[0], self._reason(node, group, choice))
        if len(choice.devices) == 1:
            return usual
        device, reason = self._beside_consumers(node) if is_generator(node) else self._beside_input(node)
        return Placement(device, reason) if device in choice.devices else usual

    def _choice(self, group: Group) -> _Choice:
        if group in self._settled:
            return _Choice((self._settled[group],))
        key = group.requested, group.types
        choice = self._choices.get(key)
        if choice is None:
            devices = self._devices_for(*key)
            softly = not devices and self._machine.soft
            if softly:
                devices = self._devices_for(group.requested._replace(device_type=None, device_index=None), group.types)
            choice = self._choices[key] = _Choice(devices, softly)
        return choice

    def _devices_for(self, request: Fields, types: Types) -> tuple[Device, ...]:
        return tuple([device for fields, device in self._named if device.type in types and fits(request, fields)])

    def _beside_consumers(self, node: Operation) -> tuple[Device | None, Reason]:
        """Returns the device that all consumers of a node share, or None, and the reason."""
        placements = [self.placed.get(consumer) for consumer in self._waiting_for.get(node, ())]
        devices = {None if placement is None else placement.device for placement in placements} or {None}
        device = devices.pop()
        several = len(set(self._waiting_for.get(node, ()))) > 1
        return (None if devices else device), (_WITH_CONSUMERS if several else _WITH_CONSUMER)

    def _beside_input(self, node: Operation) -> tuple[Device | None, Reason]:
        """Returns the device of a node's input if the node only reads its shape or passes its value on."""
        follows = node.type in _METADATA or (node.type == "Identity" and self._passes_on(node))
        placement = self.placed.get(node.inputs[0].op) if follows else None
        return (None if placement is None else placement.device), _WITH_INPUT

    def _passes_on(self, node: Operation) -> bool:
        """Returns whether a node without a requested device connects one source to at most one similar consumer."""
        consumers = self._waiting_for.get(node, ())
        if node.device or len(node.inputs) + len(node.control_inputs) != 1 or len(consumers) > 1:
            return False
        return node.inputs[0].op.device == (consumers[0].device if consumers else "")

    def _reason(self, node: Operation, group: Group, choice: _Choice) -> Reason:
        beside = _beside(node)
        if beside is not None:
            return Reason("session placer", f"colocated with {beside}")
        request, device = group.requested, choice.devices[0]
        if request.device_type is None:
            return self._usual_reason(node, device)
        if choice.softly:
            exists = any([fits(request, fields) for fields, _ in self._named])
            short = f"{request.device_type}:{'*' if request.device_index is None else request.device_index}"
            return Reason("no kernel on GPU", node.type) if exists else Reason("soft placement", short)
        if node.device:
            return _ASKED
        member_name = next((member.name for member in group.members if member.device), "a node that asked for it")
        return Reason("session placer", f"colocated with {member_name}")

    def _usual_reason(self, node: Operation, device: Device) -> Reason:
        if not self._has_gpu:
            return _NO_GPU
        return _FIRST_GPU if device.type == "GPU" else Reason("no kernel on GPU", node.type)


_ASKED = Reason("explicit scope")
_NO_GPU = Reason("no GPU")
_FIRST_GPU = Reason("lowest-numbered GPU")
_WITH_CONSUMER = Reason("session placer", "with its consumer")
_WITH_CONSUMERS = Reason("session placer", "with its consumers")
_WITH_INPUT = Reason("session placer", "with its input")


def _best_first(name_and_device: tuple[Fields, Device]) -> tuple[int, str]:
    """Sort key for devices: by type, then by name as a string, so that GPU:10 precedes GPU:2, as in TensorFlow."""
    device = name_and_device[1]
    return -_PRIORITIES.get(device.type, 0), device.name


def fits(request: Fields, fields: Fields) -> bool:
    """Returns whether a device matches all requested fields."""
    for requested_value, field_value in zip(request, fields, strict=True):
        if requested_value is not None and requested_value != field_value:
            return False
    return True


def _waiting(nodes: Sequence[Operation]) -> dict[Operation, list[Operation]]:
    """Maps each node to its consumers: once for each value they use, and once for a control dependency."""
    waiting_for: dict[Operation, list[Operation]] = {}
    for node in nodes:
        for source in [*[tensor.op for tensor in node.inputs], *node.control_inputs]:
            waiting_for.setdefault(source, []).append(node)
    return waiting_for


def _beside(node: Operation) -> str | None:
    """Returns the name of the node with which a node must be colocated."""
    for tensor in node.reference_inputs:
        return tensor.op.name
    return next((name for name in node.colocated_with if name != node.name), None)


# Errors for nodes that cannot be placed


def _refusal(node: Operation, group: Group, machine: Machine) -> InvalidArgumentError:
    names = ", ".join(sorted(machine.by_name))
    request = parse(node.device)
    head = f"Cannot assign a device for operation {node.name}: "
    unfit = f"{head}Could not satisfy explicit device specification '{node.device}'"
    tail = f"\n\t [[{{{{node {node.name}}}}}]]"
    if request != group.requested:
        text = (
            f"{unfit} because the node {{{{colocation_node {node.name}}}}} was colocated with a group of nodes that "
            f"required incompatible device '{group.requested.to_string()}'. All available devices [{names}]. "
        )
        return InvalidArgumentError(None, node, text + debug_info(group) + tail)
    if any([fits(request, parse(name)) for name in machine.by_name]):
        text = f"{unfit} because no supported kernel for {request.device_type} devices is available.{debug_info(group)}"
        return InvalidArgumentError(None, node, text + _kernels(node) + tail)
    text = (
        f"{head}{{{{node {node.name}}}}} was explicitly assigned to {node.device} but available devices are "
        f"[ {names} ]. Make sure the device specification refers to a valid device.\n\t [[{node.name}]]"
    )
    return InvalidArgumentError(text)


def _kernels(node: Operation) -> str:
    """Returns a node's attributes, and the dtypes for which its op has kernels."""
    letter, dtypes = next(iter(getattr(node.record, "sets", {}).items()), ("", ()))
    lines: list[str] = []
    for type in ("CPU", "GPU"):
        kernel_dtypes = [_attr(dtype) for dtype in dtypes if _has_kernel(node.record, type, (dtype,))]
        if kernel_dtypes or (not dtypes and _has_kernel(node.record, type, [tensor._dtype for tensor in node.outputs])):
            lines.append(
                f"  device='{type}'" + (f"; {letter} in [{', '.join(sorted(kernel_dtypes))}]" if kernel_dtypes else "")
            )
    return f"\nOp: {node.type}\nNode attrs: {_attrs(node)}\nRegistered kernels:\n" + "\n".join(lines) + "\n"


def _attrs(node: Operation) -> str:
    texts = {name: _attr(value) for name, value in sorted(node.attrs.items())}
    return ", ".join([f"{name}={text}" for name, text in texts.items()])


def _attr(value: Any) -> str:
    if isinstance(value, DType):
        return f"DT_{value.c_name.upper()}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _no_kernel_at_all(node: Operation, types: Types) -> str:
    return (
        f"No OpKernel was registered to support Op '{node.type}' used by {{{{node {node.name}}}}} with these attrs: "
        f"[{_attrs(node)}]\nRegistered devices: [{', '.join(types)}]\nRegistered kernels:\n"
        f"  <no registered kernels>\n\n\t [[{node.name}]]"
    )
