"""Where a session runs a node: the device that the node asks for, if it is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbtf._devices.names import Fields, parse
from nbtf._runtime.placement import Machine
from nbtf._runtime.scopes import Request
from nbtf.compat.v1._graph.operation import Operation
from nbtf.errors import InvalidArgumentError


def request_of(node: Operation, machine: Machine, soft: bool) -> Request | None:
    """Returns the request for the first device that a node's own fits; None where it asks for none.

    With soft placement a device that is not there is as good as none, if it could be in this process.

    Raises:
      InvalidArgumentError: there is no such device.
    """
    if not node.device:
        return None
    asked = parse(node.device)
    for device in machine.devices:
        there = parse(device.name)
        if _fits(asked, there):
            return Request(device.name, there)
    if soft and _fits(asked._replace(device_type=None, device_index=None), parse(machine.host.name)):
        return None
    raise InvalidArgumentError(None, None, _missing(node, sorted(machine.by_name)))


def requests_of(nodes: Sequence[Operation], machine: Machine, soft: bool) -> dict[Operation, Request | None]:
    """Returns the request of each node; what has inputs is looked at first, so that errors name it before constants."""
    sources = [node for node in nodes if not node.inputs]
    return {node: request_of(node, machine, soft) for node in (*[node for node in nodes if node.inputs], *sources)}


def _fits(asked: Fields, there: Fields) -> bool:
    """Tells whether a device has everything that is asked for."""
    pairs: list[tuple[Any, Any]] = list(zip(asked, there, strict=True))
    return all([wanted is None or wanted == found for wanted, found in pairs])


def _missing(node: Operation, available: list[str]) -> str:
    return (
        f"Cannot assign a device for operation {node.name}: {{{{node {node.name}}}}} was explicitly assigned to "
        f"{node.device} but available devices are [ {', '.join(available)} ]. "
        f"Make sure the device specification refers to a valid device.\n\t [[{node.name}]]"
    )
