"""Which devices are used, how are they split, and where do ops run if the requested device cannot run them?"""

from __future__ import annotations

from nbtf._runtime.arguments import check_flag
from nbtf._runtime.configuration import LogicalDevice, LogicalDeviceConfiguration, PhysicalDevice
from nbtf._runtime.context import CURRENT


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Returns the devices of this machine, before they are split; fixes no configuration.

    Args:
      device_type: `"CPU"` or `"GPU"`, in upper case; any other string gives an empty list. None for all.

    Raises:
      ValueError: if `NBTF_SIMULATED_GPUS` is invalid.

    >>> tf.config.list_physical_devices("CPU")
    [PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]
    """
    physical = CURRENT.context.configuration.physical
    return [device for device in physical if device_type is None or device.device_type == device_type]


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """Returns the devices that ops can be placed on. Their configuration cannot be changed afterwards.

    Args:
      device_type: `"CPU"` or `"GPU"`; any other string gives an empty list. None for all.

    Raises:
      ValueError: if memory growth differs between GPUs, or `NBTF_SIMULATED_GPUS` is invalid.

    >>> tf.config.list_logical_devices("CPU")
    [LogicalDevice(name='/device:CPU:0', device_type='CPU')]
    """
    return CURRENT.context.list_logical(device_type)


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Returns the physical devices in use, all or of one type.

    Args:
      device_type: `"CPU"` or `"GPU"`; any other string gives an empty list. None for all.

    Raises:
      ValueError: if `NBTF_SIMULATED_GPUS` is invalid.

    >>> tf.runtime.restart()
    >>> _ = tf.runtime.simulate_gpus(2)
    2 simulated GPUs (Tesla V100-SXM2-16GB, 16 GiB each): NumPy on this computer's CPU. No GPU is used.
    >>> tf.config.set_visible_devices([], "GPU")
    >>> tf.config.get_visible_devices()
    [PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]
    """
    return CURRENT.context.configuration.list_visible(device_type)


def set_visible_devices(devices: PhysicalDevice | list[PhysicalDevice], device_type: str | None = None) -> None:
    """Restricts the process to these physical devices; their GPUs are numbered from GPU:0, in the machine's order.

    Args:
      devices: one device or a list, from `list_physical_devices`.
      device_type: the type whose visible devices are replaced; None for all.

    Raises:
      ValueError: if a device is not one of this machine, or not of `device_type`.
      RuntimeError: if the devices are already in use.

    >>> tf.runtime.restart()
    >>> _ = tf.runtime.simulate_gpus(2)
    2 simulated GPUs (Tesla V100-SXM2-16GB, 16 GiB each): NumPy on this computer's CPU. No GPU is used.
    >>> gpus = tf.config.list_physical_devices("GPU")
    >>> tf.config.set_visible_devices(gpus[1], "GPU")
    >>> tf.config.list_logical_devices("GPU")
    [LogicalDevice(name='/device:GPU:0', device_type='GPU')]
    """
    CURRENT.context.configuration.set_visible(devices, device_type)


def get_logical_device_configuration(device: PhysicalDevice) -> list[LogicalDeviceConfiguration] | None:
    """Returns the requested split of a physical device; None if none was requested.

    Args:
      device: from `list_physical_devices`.

    Raises:
      ValueError: if it is not a device of this machine.

    >>> tf.runtime.restart()
    >>> cpu = tf.config.list_physical_devices("CPU")[0]
    >>> tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    >>> len(tf.config.get_logical_device_configuration(cpu) or [])
    2
    """
    return CURRENT.context.configuration.get_logical(device)


def set_logical_device_configuration(device: PhysicalDevice, logical_devices: list[LogicalDeviceConfiguration]) -> None:
    """Splits a physical device into several logical ones.

    Args:
      device: from `list_physical_devices`.
      logical_devices: one entry per logical device; `memory_limit`, in MiB, is required for GPUs.

    Raises:
      ValueError: if the device is unknown, a GPU has no limit, or a CPU has one.
      RuntimeError: if the devices are already in use.

    >>> tf.runtime.restart()
    >>> _ = tf.runtime.simulate_gpus(1)
    1 simulated GPU (Tesla V100-SXM2-16GB, 16 GiB): NumPy on this computer's CPU. No GPU is used.
    >>> gpu = tf.config.list_physical_devices("GPU")[0]
    >>> half = tf.config.LogicalDeviceConfiguration(memory_limit=8192)
    >>> tf.config.set_logical_device_configuration(gpu, [half, half])
    >>> tf.config.list_logical_devices("GPU")
    [LogicalDevice(name='/device:GPU:0', device_type='GPU'), LogicalDevice(name='/device:GPU:1', device_type='GPU')]
    """
    CURRENT.context.configuration.set_logical(device, logical_devices)


def get_soft_device_placement() -> bool:
    """Returns whether an op may run elsewhere if the requested device cannot run it. True by default.

    >>> tf.config.get_soft_device_placement()
    True
    """
    return CURRENT.context.settings.soft_placement


def set_soft_device_placement(enabled: bool | None) -> None:
    """Sets whether an op may run elsewhere if the requested device cannot run it; works at any time.

    Args:
      enabled: if False, such an op raises an error that is both `InvalidArgumentError` and `RuntimeError`.

    Raises:
      TypeError: if `enabled` is not a Boolean.

    >>> with tf.device("GPU:7"):
    ...     x = tf.constant([1.0])
    >>> x.device
    '/job:localhost/replica:0/task:0/device:CPU:0'
    >>> tf.config.set_soft_device_placement(False)
    >>> with tf.device("GPU:7"):
    ...     x = tf.constant([1.0])
    Traceback (most recent call last):
    nbtf.errors.MissingDeviceError: Could not satisfy device specification ...
    """
    CURRENT.context.change(soft_placement=True if enabled is None else check_flag(enabled))


def functions_run_eagerly() -> bool:
    """Returns whether `run_functions_eagerly(True)` was called, so that no `tf.function` is traced.

    >>> tf.config.functions_run_eagerly()
    False
    """
    return CURRENT.context.settings.functions_eager


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Sets whether a `tf.function` runs its Python code in every call; its results stay the same.

    Args:
      run_eagerly: False traces functions, as by default.

    Raises:
      TypeError: if `run_eagerly` is not a Boolean.

    >>> @tf.function
    ... def double(x):
    ...     print("in Python")
    ...     return 2 * x
    >>> _ = double(1), double(1)
    in Python
    >>> tf.config.run_functions_eagerly(True)
    >>> _ = double(1), double(1)
    in Python
    in Python
    """
    CURRENT.context.settings.functions_eager = check_flag(run_eagerly)
