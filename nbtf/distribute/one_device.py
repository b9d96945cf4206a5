"""Strategies without copies: everything on one device, or the variables in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from nbtf._runtime.device import device
from nbtf._runtime.logger import get_logger
from nbtf.distribute.mirrored import _full_names
from nbtf.distribute.reduction import CPU
from nbtf.distribute.strategy import Strategy


class OneDeviceStrategy(Strategy):
    """Puts variables and replicas on one device: a program for many can be tried on one.

    >>> strategy = tf.distribute.OneDeviceStrategy("/CPU:0")
    >>> with strategy.scope():
    ...     v = tf.Variable(1.0)
    >>> strategy.run(lambda: v + 1.0).numpy()
    np.float32(2.0)
    """

    _replicas_meet = False

    def __init__(self, device: str) -> None:
        """Takes the name of the device."""
        super().__init__(_full_names([device]))

    def _create(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        with device(self.extended.worker_devices[0]):
            return next_creator(**kwargs)


class CentralStorageStrategy(Strategy):
    """Keeps each variable once, and computes on all devices.

    Args:
      compute_devices: all GPUs when None, and where there are none the CPU.
      parameter_device: where variables live; CPU:0 when None, and with a single compute device that one.
    """

    def __init__(self, compute_devices: Iterable[Any] | None = None, parameter_device: str | None = None) -> None:
        """Looks the devices up."""
        devices = _full_names(compute_devices)
        super().__init__(devices)
        self._home = (
            _full_names([parameter_device])[0] if parameter_device else devices[0] if len(devices) == 1 else CPU
        )
        get_logger().info(
            "ParameterServerStrategy (CentralStorageStrategy if you are using a single machine) with compute_devices = "
            "%r, variable_device = %r",
            list(devices),
            self._home,
        )

    def _create(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        with device(self._home):
            return next_creator(**kwargs)
