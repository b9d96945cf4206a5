"""What a session prints of its devices and of where its nodes are placed, in the forms of several releases."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple, TextIO

from nbtf._devices.base import Device
from nbtf._devices.cards import PhysicalGPU
from nbtf._devices.sites import warn
from nbtf._runtime.context import CURRENT, Context
from nbtf._runtime.log_styles import STYLES, LogStyle
from nbtf._runtime.placement import Machine


class Placed(NamedTuple):
    """A node, and where it was placed. `inputs` are the names of the nodes it waits for, control inputs included."""

    name: str
    type: str
    device: str
    generator: bool
    inputs: tuple[str, ...] = ()


class SessionLog:
    """The placement log of one session, in the style that `tf.runtime.placement_log_style` says at the moment."""

    def mapping(self, machine: Machine) -> None:
        """Prints which card each GPU is; where there is none, says so on stderr."""
        context, style = CURRENT.context, _style()
        lines = [_mapping_line(device, context, style) for device in machine.by_name.values() if device.type == "GPU"]
        if lines:
            _write(sys.stdout, ["Device mapping:", *lines])
        else:
            _write(sys.stderr, ["Device mapping: no known devices."])

    def placed(self, nodes: Sequence[Placed], machine: Machine) -> None:
        """Prints a line for each node.

        Args:
          nodes: all nodes of the graph, in the order of their creation.
          machine: where they were placed.
        """
        style = _style()
        _write(sys.stdout, [_node_line(node, style) for node in _in_order(nodes, style)])


def card_in_words(device: Device, context: Context) -> str:
    """Returns which card a GPU is on: `device: 0, name: Tesla K40c, pci bus id: 0000:05:00.0, compute capability: 3.5`.

    The number is that of the card among those that the process sees. A simulated card is called so.
    """
    card = _card(device, context)
    return _described(device, context, STYLES["2.21"]) + (" (simulated)" if card.simulated else "")


def _style() -> LogStyle:
    return STYLES[CURRENT.context.settings.placement_log_style]


def _write(stream: TextIO | None, lines: list[str]) -> None:
    """Writes lines at once, so that nothing comes between them."""
    try:
        if stream is not None:  # a program without a window has none
            stream.write("".join([f"{line}\n" for line in lines]))
    except (OSError, ValueError) as error:  # full or closed: no reason to stop computing
        warn(f"the placement log of a session could not be written: {type(error).__name__}: {error}")


def _spelled(device: str, style: LogStyle) -> str:
    """Returns a full name as a release wrote it: before 1.4 `/gpu:0`."""
    if not style.short_devices:
        return device
    task, slash, number = device.replace("/device:", "/").rpartition("/")
    return f"{task}{slash}{number.lower()}"


def _card(device: Device, context: Context) -> PhysicalGPU:
    return context.configuration.cards[context.logical_devices.made_from[device.name]]


def _described(device: Device, context: Context, style: LogStyle) -> str:
    card = _card(device, context)
    number = context.logical_devices.made_from[device.name].name.rpartition(":")[2]
    text = f"device: {number}, name: {card.card.name}, pci bus id: {card.bus_id}"
    if style.capability:
        text += f", compute capability: {'.'.join(map(str, card.card.compute_capability))}"
    return text


def _mapping_line(device: Device, context: Context, style: LogStyle) -> str:
    text = card_in_words(device, context) if style.simulated else _described(device, context, style)
    return f"{_spelled(device.name, style)} -> {text}"


def _node_line(node: Placed, style: LogStyle) -> str:
    op_type_text = f"({node.type}): " if style.op_types else ""
    return f"{node.name}: {op_type_text}{_spelled(node.device, style)}"


def _in_order(nodes: Sequence[Placed], style: LogStyle) -> list[Placed]:
    """Returns nodes in the order in which a release placed them."""
    ordered = list(nodes) if style.creation_order else _as_rebuilt(nodes)
    return sorted(ordered, key=lambda node: node.generator) if style.generators_last else ordered


def _as_rebuilt(nodes: Sequence[Placed]) -> list[Placed]:
    """Returns nodes in the order in which older releases rebuilt a graph: of those that can be made, the last one.

    Source: the list of ready nodes in GraphConstructor of TensorFlow 0.x and early 1.x, which is a stack.
    """
    waiting = {node.name: len(set(node.inputs)) for node in nodes}
    readers: dict[str, list[Placed]] = {}
    for node in nodes:
        for name in dict.fromkeys(node.inputs):
            readers.setdefault(name, []).append(node)
    makeable = [node for node in nodes if not node.inputs]
    ordered: list[Placed] = []
    while makeable:
        node = makeable.pop()
        ordered.append(node)
        for reader in readers.get(node.name, ()):
            waiting[reader.name] -= 1
            if not waiting[reader.name]:
                makeable.append(reader)
    return ordered
