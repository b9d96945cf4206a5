"""Strategies without copies: everything on one device, or all variables on one device."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from nbtf._runtime.device import placed
from nbtf._runtime.logger import get_logger
from nbtf._runtime.placement import STRATEGY_VARIABLE
from nbtf.distribute.mirrored import _full_names
from nbtf.distribute.reduction import CPU
from nbtf.distribute.strategy import Strategy


class OneDeviceStrategy(Strategy):
    """Places variables and replicas on one device, so that a program for many devices can be tried on one.

    >>> strategy = tf.distribute.OneDeviceStrategy("/CPU:0")
    >>> with strategy.scope():
    ...     v = tf.Variable(1.0)
    >>> strategy.run(lambda: v + 1.0).numpy()
    np.float32(2.0)
    """

    _replicas_meet = False

    def __init__(self, device: str) -> None:
        """Resolves the name of the device."""
        super().__init__(_full_names([device]))

    def _create(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        with placed(self.extended.worker_devices[0], STRATEGY_VARIABLE):
            return next_creator(**kwargs)


class CentralStorageStrategy(Strategy):
    """Keeps a single copy of each variable, and computes on all devices.

    Args:
      compute_devices: names of the devices that compute. By default all GPUs or, without GPUs, the CPU.
      parameter_device: device that stores the variables. By default CPU:0, or the compute device if there is only one.
    """

    def __init__(self, compute_devices: Iterable[Any] | None = None, parameter_device: str | None = None) -> None:
        """Resolves the devices."""
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
        with placed(self._home, STRATEGY_VARIABLE):
            return next_creator(**kwargs)
