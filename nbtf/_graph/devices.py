"""Which device a new node asks for: the open `device` blocks of a graph, strings and functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbtf._devices.names import DeviceSpec, parse


class DeviceBlock:
    """What one `device` block says: a function, a device in part or in full, or that outer blocks are forgotten."""

    __slots__ = ("forgets", "function", "text")

    def __init__(self, device: Any) -> None:
        """Reads a string, a spec, a function of the node, or None.

        Raises:
          ValueError: a string that is no device string.
          AttributeError: something else.
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
    """Sets the device that a new node asks for, by the blocks from the innermost to the outermost.

    A function sees what the inner blocks said, and what it returns stands as it is; a string fills what is still open.
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
