"""What a session prints of its devices and of where its nodes are placed, in the forms of several releases."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

from nbtf._devices.base import Device
from nbtf._runtime.context import CURRENT, Context
from nbtf._runtime.placement import Machine


class Placed(NamedTuple):
    """A node, and where it was placed. `inputs` are the names of the nodes it waits for, control inputs included."""

    name: str
    type: str
    device: str
    generator: bool
    inputs: tuple[str, ...] = ()


class SessionLog:
    """The placement log of one session, in the style that `tf.runtime.placement_log_style` says."""

    def mapping(self, machine: Machine) -> None:
        """Prints which card each GPU is; where there is none, says so on stderr."""
        context = CURRENT.context
        style = context.settings.placement_log_style
        lines = [_mapping_line(device, context, style) for device in machine.by_name.values() if device.type == "GPU"]
        if lines:
            sys.stdout.write("".join([f"{line}\n" for line in ("Device mapping:", *lines)]))
        else:
            sys.stderr.write("Device mapping: no known devices.\n")

    def placed(self, nodes: Sequence[Placed], machine: Machine) -> None:
        """Prints a line for each node.

        Args:
          nodes: all nodes of the graph, in the order of their creation.
          machine: where they were placed.
        """
        style = CURRENT.context.settings.placement_log_style
        sys.stdout.write("".join([f"{_node_line(node, style)}\n" for node in _in_order(nodes, style)]))


def _spelled(device: str, style: str) -> str:
    """Returns a full name as a release wrote it: before 1.4 `/gpu:0`."""
    if style not in ("0.12", "1.0"):
        return device
    task, _, own = device.rpartition("/device:")
    return f"{task}/{own.lower()}"


def _mapping_line(device: Device, context: Context, style: str) -> str:
    physical = context.made_from[device.name]
    card = context.configuration.cards[physical]
    number = physical.name.rpartition(":")[2]
    line = f"{_spelled(device.name, style)} -> device: {number}, name: {card.card.name}, pci bus id: {card.bus_id}"
    if style not in ("0.12", "1.0"):
        line += f", compute capability: {'.'.join(map(str, card.card.compute_capability))}"
    return f"{line} (simulated)" if card.simulated and style == "2.21" else line


def _node_line(node: Placed, style: str) -> str:
    kind = "" if style == "0.12" else f"({node.type}): "
    return f"{node.name}: {kind}{_spelled(node.device, style)}"


def _in_order(nodes: Sequence[Placed], style: str) -> list[Placed]:
    """Returns nodes in the order in which a release placed them: generators last, but in 0.12."""
    rebuilt = list(nodes) if style == "2.21" else _as_rebuilt(nodes)
    return rebuilt if style == "0.12" else sorted(rebuilt, key=lambda node: node.generator)


def _as_rebuilt(nodes: Sequence[Placed]) -> list[Placed]:
    """Returns nodes in the order in which older releases rebuilt a graph: of those that can be made the last one.

    Source: GraphConstructor of TensorFlow 0.x and early 1.x, whose list of ready nodes is a stack.
    """
    waiting = {node.name: len(set(node.inputs)) for node in nodes}
    readers: dict[str, list[Placed]] = {}
    for node in nodes:
        for name in dict.fromkeys(node.inputs):
            readers.setdefault(name, []).append(node)
    ready = [node for node in nodes if not node.inputs]
    found: list[Placed] = []
    while ready:
        node = ready.pop()
        found.append(node)
        for reader in readers.get(node.name, ()):
            waiting[reader.name] -= 1
            if not waiting[reader.name]:
                ready.append(reader)
    return found
