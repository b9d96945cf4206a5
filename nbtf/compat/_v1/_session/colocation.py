"""Groups of graph nodes that must share a device, their requested devices, and the device types that can run them.

Source: colocation_graph.cc and device_name_utils.cc of TensorFlow 2.21.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext, suppress

from nbtf._devices.names import Fields, parse
from nbtf._graph.operation import Operation
from nbtf.errors import InvalidArgumentError

Types = tuple[str, ...]
"""Device types, best first."""

_FIELDS = ("jobs", "replicas", "tasks", "types", "ids")


class Group:
    """Nodes that must share a device. `requested` is the requested device, `of_variable` that of its variables."""

    __slots__ = ("_first", "_others", "of_variable", "rank", "requested", "types")

    def __init__(self, node: Operation, requested: Fields, types: Types) -> None:
        self._first = node
        self._others: list[Operation] | None = None  # most groups have one node; creating a list for each is slow
        self.rank = 0
        self.requested = requested
        self.of_variable = requested if _is_variable(node) else _ANYTHING
        self.types = types

    @property
    def members(self) -> list[Operation]:
        """The nodes in the group."""
        return [self._first, *(self._others or ())]

    @property
    def several(self) -> bool:
        """Whether the group has more than one node."""
        return self._others is not None

    def take(self, members: list[Operation]) -> None:
        """Adds the members of another group."""
        if self._others is None:
            self._others = []
        self._others += members


_ANYTHING = Fields()


def _is_variable(node: Operation) -> bool:
    """Returns whether a node is itself a variable."""
    return not node.inputs and len(node.outputs) == 1 and node.outputs[0]._link in ("reference", "handle")


class ConflictError(Exception):
    """Raised if two requested devices cannot be the same."""


def merge_requests(request: Fields, added: Fields, soft: bool) -> Fields:
    """Returns a request that combines two others.

    With soft placement, two different types or numbers cancel each other out; jobs, replicas and tasks never do.

    Raises:
      ConflictError: if the requests contradict each other.
    """
    values = list(request)
    for number, (requested_value, added_value) in enumerate(zip(request, added, strict=True)):
        if added_value is None:
            continue
        if requested_value is None or requested_value == added_value:
            values[number] = added_value
        elif soft and number >= _TYPE:
            values[number:] = [None] * (len(_FIELDS) - number)
            break
        else:
            raise ConflictError(
                f"Cannot merge devices with incompatible {_FIELDS[number]}: "
                f"'{Fields._make(values).to_string()}' and '{added.to_string()}'"
            )
    return Fields._make(values)


_TYPE = _FIELDS.index("types")


class Colocation:
    """The colocation groups of a graph."""

    def __init__(self, nodes: Iterable[Operation], types_of: Callable[[Operation], Types], soft: bool) -> None:
        """Groups nodes that must share a device.

        Args:
          nodes: all nodes, in the order of their creation.
          types_of: returns the device types that can run a node.
          soft: whether contradictory requests cancel each other out.

        Raises:
          InvalidArgumentError: if nodes in a group request different devices, or no device type can run them all.
        """
        self._soft = soft
        self._nodes = list(nodes)
        self._groups = {node: Group(node, _request(node), types_of(node)) for node in self._nodes}
        self._join_at_references()
        self._join_by_name()

    def group(self, node: Operation) -> Group:
        """Returns the group of a node."""
        return self._groups[node]

    def _join_at_references(self) -> None:
        """Groups variables with the nodes that use them; the variable's device takes precedence."""
        for node in self._nodes:
            for tensor in node.reference_inputs:
                source = tensor.op
                variable, reader = self._groups[source], self._groups[node]
                if not _agree(variable.requested, reader.requested):
                    reader.requested = variable.requested
                self._join(source, node, _CONNECTED)

    def _join_by_name(self) -> None:
        """Groups nodes with those that `colocate_with` named; the first node with a name represents it."""
        firsts: dict[str, Operation] = {}
        for node in self._nodes:
            for name in (*node.colocated_with, node.name):
                first = firsts.setdefault(name, node)
                if first is not node:
                    # With soft placement, conflicting nodes stay separate.
                    with suppress(InvalidArgumentError) if self._soft else nullcontext():
                        self._join(node, first, "")

    def _join(self, node: Operation, partner: Operation, prefix: str) -> None:
        group, partner_group = self._groups[node], self._groups[partner]
        if group is partner_group:
            return
        larger, smaller = (partner_group, group) if group.rank < partner_group.rank else (group, partner_group)
        try:
            of_variable = merge_requests(larger.of_variable, smaller.of_variable, False)
            requested = merge_requests(larger.requested, smaller.requested, self._soft).merged_with(of_variable)
        except ConflictError as error:
            raise _not_together(node, partner, f": {error}", prefix) from None
        types = tuple([device_type for device_type in larger.types if device_type in smaller.types])
        if not types:
            problem = " because no device type supports both of those nodes and the other nodes colocated with them."
            raise _not_together(node, partner, problem + debug_info(group) + debug_info(partner_group), prefix)
        larger.rank += larger.rank == smaller.rank
        larger.requested, larger.of_variable, larger.types = requested, of_variable, types
        for member in smaller.members:
            self._groups[member] = larger
        larger.take(smaller.members)


_CONNECTED = (
    "Nodes were connected by a reference or resource connection (requiring them to be on the same device), "
    "but the two nodes were assigned two different devices: "
)


def _request(node: Operation) -> Fields:
    try:
        return parse(node.device)
    except ValueError:
        text = f"Malformed device specification '{node.device}' in node: {node.name}\n\t [[{node.name}]]"
        raise InvalidArgumentError(text) from None


def _agree(request: Fields, added: Fields) -> bool:
    return all(
        [
            requested_value is None or added_value is None or requested_value == added_value
            for requested_value, added_value in zip(request, added, strict=True)
        ]
    )


def _not_together(node: Operation, partner: Operation, problem: str, prefix: str) -> InvalidArgumentError:
    text = (
        f"{prefix}Cannot colocate nodes {{{{colocation_node {node.name}}}}} and {{{{colocation_node {partner.name}}}}}"
        f"{problem}"
    )
    return InvalidArgumentError(None, node, f"{text}\n\t [[{{{{node {node.name}}}}}]]")


def debug_info(group: Group) -> str:
    """Returns TensorFlow's description of a group that cannot be placed."""
    members = sorted(group.members, key=lambda node: node.number)
    types = "\n".join([f"{type}: {' '.join(group.types)} " for type in dict.fromkeys([node.type for node in members])])
    requests = "\n".join([f"  {node.name} ({node.type}) {node.device}" for node in members])
    return (
        "\nColocation Debug Info:\nColocation group had the following types and supported devices: \n"
        "Root Member(assigned_device_name_index_=-1 "
        f"requested_device_name_='{group.requested.to_string()}' assigned_device_name_='' "
        f"resource_device_name_='{group.of_variable.to_string()}' "
        f"supported_device_types_=[{', '.join(group.types)}] possible_devices_=[]\n{types}\n\n"
        f"Colocation members, user-requested devices, and framework assigned devices, if any:\n{requests}\n"
    )


def order_of(nodes: Sequence[Operation]) -> list[Operation]:
    """Returns nodes in placement order: generators, which have no inputs, come last."""
    return sorted(nodes, key=is_generator)


def is_generator(node: Operation) -> bool:
    """Returns whether a node has no inputs and one output, like a constant, and is not a variable."""
    return not node.inputs and len(node.outputs) == 1 and node.outputs[0]._link != "reference"
