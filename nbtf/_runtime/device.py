"""`tf.device`: a block whose ops are asked to run on one device."""

from __future__ import annotations

from typing import Any, cast

from nbtf._devices.names import DeviceSpec
from nbtf._runtime.blocks import leaving
from nbtf._runtime.changes import ChangingBlock, changing
from nbtf._runtime.configuration import LogicalDevice
from nbtf._runtime.context import CURRENT, open_graph


class device(ChangingBlock):  # noqa: N801  # TensorFlow's name
    """Runs the ops of a block on a device.

    Blocks nest, the inner one wins field by field: `tf.device("GPU")` inside `CPU:2` means GPU:2. At top level a
    partial name is completed from CPU:0, so `tf.device("")` is CPU:0. A device that does not exist is noticed by the
    first op, which then runs elsewhere (soft placement, the default) or raises. Threads start without blocks.

    Calling `tf.device` fixes the devices: `tf.config` cannot change them afterwards.

    Args:
      device_name: a string such as `/GPU:0` or `/job:localhost/replica:0/task:0/device:CPU:1`, a `tf.DeviceSpec`, a
        `tf.config.LogicalDevice`, or None, which leaves all open blocks, the cell's device and the session's.

    Raises:
      RuntimeError: `device_name` is a function.
      ValueError: when the block is entered: not a device string.

    >>> with tf.device("/CPU:0"):
    ...     a = tf.constant([1.0])
    >>> a.device
    '/job:localhost/replica:0/task:0/device:CPU:0'
    """

    __slots__ = ("_name",)

    def __init__(self, device_name: Any) -> None:
        """Keeps the name; it is read when the block is entered. In a graph it is the graph's block."""
        graph = open_graph()
        graph_block = getattr(graph, "device", None)
        if graph_block is not None:
            self._exit, self._name = None, graph_block(device_name)
            return
        if device_name.__class__ is not str:
            device_name = _as_text(device_name)
        if CURRENT.context.machine is None:
            CURRENT.context.freeze()
        self._exit, self._name = None, device_name

    def __enter__(self) -> None:
        """Opens the block."""
        name = self._name
        if name.__class__ is not str and name is not None:
            if isinstance(name, changing):
                self.begin(cast("changing[None]", name).plan())
                return
            if not isinstance(name, str):
                raise ValueError(f"Expecting a string device name. Got {type(name)}({name!s})")
        self.enter(CURRENT.context.device_scopes.scope_of(name))

    @leaving
    def __exit__(self, *error: object) -> None:
        """Closes the block, also after an error."""
        self.leave("Exiting device scope without proper scope nesting")


def _as_text(device: Any) -> Any:
    if isinstance(device, DeviceSpec):
        return device.to_string()
    if isinstance(device, LogicalDevice):
        return device.name
    if callable(device):
        raise RuntimeError("tf.device does not support functions.")
    return device
