"""The placement log of sessions: their devices and the devices of their nodes, in the formats of several releases."""

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
    """A placed node and its device. `inputs` are the names of the nodes it waits for, including control inputs."""

    name: str
    type: str
    device: str
    generator: bool
    inputs: tuple[str, ...] = ()


class SessionLog:
    """The placement log of one session, in the current style of `tf.runtime.placement_log_style`."""

    def mapping(self, machine: Machine) -> None:
        """Prints the card of each GPU, or a message on standard error if there are no GPUs."""
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
          machine: the devices on which they were placed.
        """
        style = _style()
        _write(sys.stdout, [_node_line(node, style) for node in _in_order(nodes, style)])


def card_in_words(device: Device, context: Context) -> str:
    """Returns a GPU's card: `device: 0, name: Tesla K40c, pci bus id: 0000:05:00.0, compute capability: 3.5`.

    The number counts the cards that are visible to the process. A simulated card is labelled as such.
    """
    card = _card(device, context)
    return _described(device, context, STYLES["2.21"]) + (" (simulated)" if card.simulated else "")


def _style() -> LogStyle:
    return STYLES[CURRENT.context.settings.placement_log_style]


def _write(stream: TextIO | None, lines: list[str]) -> None:
    """Writes all lines in one call, so that no other output comes between them."""
    try:
        if stream is not None:  # a program without a console has no stream
            stream.write("".join([f"{line}\n" for line in lines]))
    except (OSError, ValueError) as error:  # the disk is full or the stream closed, which must not stop the program
        warn(f"could not write the placement log of a session: {type(error).__name__}: {error}")


def _spelled(device: str, style: LogStyle) -> str:
    """Returns a full device name in a release's format: `/gpu:0` before 1.4."""
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
    """Returns nodes in a release's placement order."""
    ordered = list(nodes) if style.creation_order else _as_rebuilt(nodes)
    return sorted(ordered, key=lambda node: node.generator) if style.generators_last else ordered


def _as_rebuilt(nodes: Sequence[Placed]) -> list[Placed]:
    """Returns nodes in the order in which older releases rebuilt a graph: always the last node that is ready.

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
