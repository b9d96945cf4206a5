"""`tf.device`: a block that requests a device for its ops."""

from __future__ import annotations

from functools import partial
from sys import getrefcount
from typing import Any, cast
from weakref import ref

from nbtf._devices.names import DeviceSpec
from nbtf._record.events import Reason
from nbtf._runtime.blocks import NOBODY_ELSE, close, leaving
from nbtf._runtime.changes import ChangingBlock, changing
from nbtf._runtime.configuration import LogicalDevice
from nbtf._runtime.context import CURRENT, open_graph
from nbtf._runtime.scopes import HERE, SCOPE, OutermostScope, new_scope, reset_scope, set_scope


class device(ChangingBlock):  # noqa: N801  # TensorFlow's name
    """Runs the ops of a block on a device.

    Blocks nest. The inner block wins field by field: `tf.device("GPU")` inside `CPU:2` means GPU:2. At top level a
    partial name is completed from CPU:0, so `tf.device("")` is CPU:0. If a device does not exist, the first op runs
    elsewhere (soft placement, the default) or raises an error. New threads start outside all blocks.

    Calling `tf.device` initializes the devices: `tf.config` cannot change them afterwards.

    Args:
      device_name: a string such as `/GPU:0` or `/job:localhost/replica:0/task:0/device:CPU:1`, a `tf.DeviceSpec`, a
        `tf.config.LogicalDevice`, or None, which overrides all open blocks, the cell's device and the session's.

    Raises:
      RuntimeError: if `device_name` is a function.
      ValueError: if `device_name` is not a valid device string; raised when the block is entered.

    >>> with tf.device("/CPU:0"):
    ...     a = tf.constant([1.0])
    >>> a.device
    '/job:localhost/replica:0/task:0/device:CPU:0'
    """

    __slots__ = ("_name", "_owner", "_token")

    def __init__(self, device_name: Any) -> None:
        """Stores the name, which is read when the block is entered; in a graph, opens the graph's block."""
        self._exit = self._owner = self._token = None
        context = CURRENT.context
        if SCOPE() is not None or context.default_graph is not None:
            graph_block = getattr(open_graph(), "device", None)
            if graph_block is not None:
                self._name = graph_block(device_name)
                return
        if device_name.__class__ is not str:
            device_name = _as_text(device_name)
        if context.machine is None:
            context.freeze()
        self._name = device_name

    def __enter__(self) -> None:
        """Opens the block."""
        name = self._name
        if name.__class__ is not str and name is not None:
            if isinstance(name, changing):
                self.begin(cast("changing[None]", name).plan())
                return
            if not isinstance(name, str):
                raise ValueError(f"Expecting a string device name. Got {type(name)}({name!s})")
        scopes = CURRENT.context.device_scopes
        if SCOPE() is not None or self._exit is None or getrefcount(self._exit) == NOBODY_ELSE:
            scope = scopes.scope_of(name)
            self.enter(scope)
            self._owner, self._token = scope.owner, None
            return
        # `ScopeStack.enter`, inlined for the most common case: a `with` inside no other block.
        scope = new_scope(OutermostScope)
        scope.request, scope.lane = scopes.requested.get(name) or scopes.request_of(name, scopes.of_cell())
        scope.tapes, scope.tape = (), None
        if (lane := scope.lane) is HERE.device or lane is None:
            scope.owner = self._owner = ref(self._exit)
        else:
            scope.owner = self._owner = ref(self._exit, partial(setattr, scope, "lane"))
        self._exit = None
        self._token = set_scope(scope)

    @leaving
    def __exit__(self, error_type: object = None, error: object = None, trace: object = None) -> None:
        """Closes the block, even after an error."""
        scope, token = SCOPE(), self._token
        if scope is None or scope.owner is None or scope.owner is not self._owner:
            self.leave("Exiting device scope without proper scope nesting")
        elif token is None:
            self._exit = None
            close(scope)
        else:  # `close_alone`, inlined because the call takes as long as the rest
            self._exit = self._token = None
            try:
                reset_scope(token)
                scope.owner = None
            except ValueError:
                close(scope)


class placed(device):  # noqa: N801  # named like a block
    """Runs nbtf's own ops on a device, with a reason that names what the program wrote instead of `tf.device`."""

    __slots__ = ("_reason",)

    def __init__(self, device_name: str, reason: Reason) -> None:
        """Stores the full name and the reason."""
        super().__init__(device_name)
        self._reason = reason

    def __enter__(self) -> None:
        """Opens the block."""
        if self._name.__class__ is not str:  # the block of a graph
            super().__enter__()
            return
        scope = CURRENT.context.device_scopes.scope_of(self._name, self._reason)
        self.enter(scope)
        self._owner, self._token = scope.owner, None


def _as_text(device: Any) -> Any:
    if isinstance(device, DeviceSpec):
        return device.to_string()
    if isinstance(device, LogicalDevice):
        return device.name
    if callable(device):
        raise RuntimeError("tf.device does not support functions.")
    return device
