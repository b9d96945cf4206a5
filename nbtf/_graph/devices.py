"""The open `device` blocks of a graph, strings and functions, which determine the device that a new node requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbtf._devices.names import DeviceSpec, parse


class DeviceBlock:
    """One `device` block: a function, a full or partial device, or None to ignore the outer blocks."""

    __slots__ = ("forgets", "function", "text")

    def __init__(self, device: Any) -> None:
        """Reads a string, a spec, a function of the node, or None.

        Raises:
          ValueError: if a string is not a valid device string.
          AttributeError: if the device is of another type.
        """
        self.forgets = device is None
        self.function: Callable[[Any], Any] | None = None
        self.text = ""
        if isinstance(device, str):
            self.text = parse(device).to_string()
        elif callable(device) and not isinstance(device, DeviceSpec):
            self.function = device
        elif device is not None:
            self.text = device.to_string()


def ask_for_devices(operation: Any, blocks: Sequence[DeviceBlock]) -> None:
    """Sets the device that a new node requests, from the innermost block to the outermost.

    A function sees the device set by the inner blocks, and its result replaces it. A string fills the parts still open.
    """
    for block in reversed(blocks):
        if block.forgets:
            return
        if block.function is not None:
            operation.ask_for_device(_as_text(block.function(operation)))
        elif block.text:
            operation.ask_for_device(parse(block.text).merged_with(parse(operation.device)).to_string())


def _as_text(device: Any) -> str:
    if isinstance(device, DeviceSpec):
        return device.to_string()
    if isinstance(device, bytes):
        return device.decode()
    if not isinstance(device, str):
        raise TypeError(f"Expected binary or unicode string, got {device!r}")
    return device
