"""Which devices are used, how they are split, and where ops run that cannot run where they should."""

from __future__ import annotations

from typing import Any

from nbtf._runtime.configuration import LogicalDevice, LogicalDeviceConfiguration, PhysicalDevice
from nbtf._runtime.context import CURRENT


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Returns the devices of this machine, before they are split; fixes nothing.

    Args:
      device_type: `"CPU"` or `"GPU"`, spelled just so; another text gives an empty list. None: all.

    >>> tf.config.list_physical_devices("CPU")
    [PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]
    """
    physical = CURRENT.context.configuration.physical
    return [device for device in physical if device_type is None or device.device_type == device_type]


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """Returns the devices that ops can be placed on. From then on they cannot be changed.

    Args:
      device_type: `"CPU"` or `"GPU"`; None: all.

    Raises:
      ValueError: memory growth differs between GPUs.

    >>> tf.config.list_logical_devices("CPU")
    [LogicalDevice(name='/device:CPU:0', device_type='CPU')]
    """
    return CURRENT.context.list_logical(device_type)


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Returns the physical devices that are used, all or of one type."""
    return CURRENT.context.configuration.list_visible(device_type)


def set_visible_devices(devices: PhysicalDevice | list[PhysicalDevice], device_type: str | None = None) -> None:
    """Uses these physical devices only; the GPUs among them are numbered from GPU:0, in the machine's order.

    Args:
      devices: one device or a list, from `list_physical_devices`.
      device_type: replaces the visible devices of this type only.

    Raises:
      ValueError: not a device of this machine, or not of `device_type`.
      RuntimeError: the devices are in use already.
    """
    CURRENT.context.configuration.set_visible(devices, device_type)


def get_logical_device_configuration(device: PhysicalDevice) -> list[LogicalDeviceConfiguration] | None:
    """Returns how a physical device was asked to be split; None if it was not."""
    return CURRENT.context.configuration.get_logical(device)


def set_logical_device_configuration(device: PhysicalDevice, logical_devices: list[LogicalDeviceConfiguration]) -> None:
    """Splits a physical device into several logical ones.

    Args:
      device: from `list_physical_devices`.
      logical_devices: one entry for each; `memory_limit` in MiB, needed for GPUs.

    Raises:
      ValueError: an unknown device, a GPU without limit, a CPU with one.
      RuntimeError: the devices are in use already.
    """
    CURRENT.context.configuration.set_logical(device, logical_devices)


def get_soft_device_placement() -> bool:
    """Returns whether ops run elsewhere when the device asked for cannot run them. True at the start."""
    return CURRENT.context.settings.soft_placement


def set_soft_device_placement(enabled: bool | None) -> None:
    """Lets ops run elsewhere, or not, when the device asked for cannot run them; at any time.

    Args:
      enabled: False makes such an op raise an error that is both `InvalidArgumentError` and `RuntimeError`.

    Raises:
      TypeError: not a truth value.
    """
    CURRENT.context.change(soft_placement=True if enabled is None else _flag(enabled))


def _flag(value: Any) -> bool:
    if not hasattr(value, "__index__"):
        raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer: give True or False")
    return bool(value)


def functions_run_eagerly() -> bool:
    """Tells whether `run_functions_eagerly(True)` was called, so that a `tf.function` is not traced."""
    return CURRENT.context.settings.functions_eager


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Has the Python code of a `tf.function` run in each call, or not; what it returns stays as it is."""
    CURRENT.context.settings.functions_eager = bool(run_eagerly)
