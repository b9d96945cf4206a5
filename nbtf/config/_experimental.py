"""Memory growth, memory figures, device details, and older names of functions that are no longer experimental."""

from __future__ import annotations

from typing import Any

from nbtf._devices.patterns import matching
from nbtf._runtime.arguments import check_flag
from nbtf._runtime.configuration import LogicalDeviceConfiguration, PhysicalDevice
from nbtf._runtime.context import CURRENT
from nbtf.config import _devices


class experimental:  # noqa: N801  # TensorFlow's name
    """`tf.config.experimental`: memory growth, memory figures, device details, and older names.

    >>> tf.runtime.restart()
    >>> _ = tf.runtime.simulate_gpus(1)
    1 simulated GPU (Tesla V100-SXM2-16GB, 16 GiB): NumPy on this computer's CPU. No GPU is used.
    >>> for gpu in tf.config.experimental.list_physical_devices("GPU"):
    ...     tf.config.experimental.set_memory_growth(gpu, True)
    """

    VirtualDeviceConfiguration = LogicalDeviceConfiguration
    list_physical_devices = staticmethod(_devices.list_physical_devices)
    list_logical_devices = staticmethod(_devices.list_logical_devices)
    get_visible_devices = staticmethod(_devices.get_visible_devices)
    set_visible_devices = staticmethod(_devices.set_visible_devices)
    get_virtual_device_configuration = staticmethod(_devices.get_logical_device_configuration)
    set_virtual_device_configuration = staticmethod(_devices.set_logical_device_configuration)

    @staticmethod
    def get_memory_growth(device: PhysicalDevice) -> bool | None:
        """Returns whether memory growth was requested; None if it was not set.

        Args:
          device: a GPU from `list_physical_devices`.

        Raises:
          KeyError: if the device is a CPU.
          ValueError: if it is not a device of this machine.

        >>> tf.runtime.restart()
        >>> _ = tf.runtime.simulate_gpus(1)
        1 simulated GPU (Tesla V100-SXM2-16GB, 16 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> gpu = tf.config.list_physical_devices("GPU")[0]
        >>> tf.config.experimental.set_memory_growth(gpu, True)
        >>> tf.config.experimental.get_memory_growth(gpu)
        True
        """
        return CURRENT.context.configuration.get_growth(device)

    @staticmethod
    def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
        """Lets a GPU start with little memory and allocate more when needed; all visible GPUs must agree.

        Args:
          device: a GPU from `list_physical_devices`.
          enable: False reserves the memory at once.

        Raises:
          ValueError: if it is not a GPU of this machine, or it has logical devices.
          RuntimeError: if the devices are already in use.

        >>> tf.runtime.restart()
        >>> _ = tf.runtime.simulate_gpus(1)
        1 simulated GPU (Tesla V100-SXM2-16GB, 16 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> for gpu in tf.config.list_physical_devices("GPU"):
        ...     tf.config.experimental.set_memory_growth(gpu, True)
        >>> x = tf.zeros([256])
        >>> tf.runtime.devices()[1].pool / 2**20
        2.0
        """
        CURRENT.context.configuration.set_growth(device, enable)

    @staticmethod
    def get_device_details(device: Any) -> dict[str, Any]:
        """Returns the details of a physical GPU: `device_name`, `compute_capability`; `{}` for a CPU.

        Args:
          device: from `list_physical_devices`.

        Raises:
          ValueError: if it is not a device from `list_physical_devices`.

        >>> tf.runtime.restart()
        >>> _ = tf.runtime.simulate_gpus(1)
        1 simulated GPU (Tesla V100-SXM2-16GB, 16 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> gpu = tf.config.list_physical_devices("GPU")[0]
        >>> tf.config.experimental.get_device_details(gpu)
        {'device_name': 'Tesla V100-SXM2-16GB (simulated)', 'compute_capability': (7, 0)}
        """
        if not isinstance(device, PhysicalDevice):
            raise ValueError(f"device must be a tf.config.PhysicalDevice, but got: {device}")
        configuration = CURRENT.context.configuration
        if device not in configuration.physical:
            raise ValueError(
                "The PhysicalDevice must be one obtained from calling `tf.config.list_physical_devices`, "
                f"but got: {device}"
            )
        card = configuration.cards.get(device)
        if card is None:
            return {}
        label = f"{card.card.name} (simulated)" if card.simulated else card.card.name
        return {"device_name": label, "compute_capability": card.card.compute_capability}

    @staticmethod
    def get_memory_info(device: str) -> dict[str, int]:
        """Returns the `current` and `peak` memory that tensors use on a GPU, in bytes.

        Args:
          device: a name with type and index, `"GPU:0"`.

        Raises:
          ValueError: if the device does not exist, is not a full name, or is a CPU, which has no memory account.
          TypeError: if it is not a string.

        >>> tf.runtime.restart()
        >>> _ = tf.runtime.simulate_gpus(1)
        1 simulated GPU (Tesla V100-SXM2-16GB, 16 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> x = tf.zeros([1024, 1024])
        >>> tf.config.experimental.get_memory_info("GPU:0")["current"] // 2**20
        4
        >>> tf.config.experimental.get_memory_info("CPU:0")
        Traceback (most recent call last):
        ValueError: Allocator stats not available for device 'CPU:0'
        """
        memory = _device_named(device).memory
        if memory is None:
            raise ValueError(f"Allocator stats not available for device '{device}'")
        stats = memory.stats()
        return {"current": stats.in_use, "peak": stats.peak}

    @staticmethod
    def reset_memory_stats(device: str) -> None:
        """Resets the peak of a GPU to its current use.

        Args:
          device: a name with type and index, `"GPU:0"`.

        Raises:
          ValueError: as for `get_memory_info`.
          TypeError: if it is not a string.

        >>> tf.runtime.restart()
        >>> _ = tf.runtime.simulate_gpus(1)
        1 simulated GPU (Tesla V100-SXM2-16GB, 16 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> x = tf.zeros([1024, 1024])
        >>> del x
        >>> tf.config.experimental.reset_memory_stats("GPU:0")
        >>> info = tf.config.experimental.get_memory_info("GPU:0")
        >>> info["peak"] == info["current"]
        True
        """
        memory = _device_named(device).memory
        if memory is None:
            raise ValueError(f"Cannot reset memory stats for device '{device}'")
        memory.reset_peak()

    @staticmethod
    def get_memory_usage(device: str) -> int:
        """Returns the memory that tensors use on a GPU, in bytes: `get_memory_info(device)["current"]`.

        Args:
          device: a name with type and index, `"GPU:0"`.

        Raises:
          ValueError: as for `get_memory_info`.
          TypeError: if it is not a string.

        >>> tf.runtime.restart()
        >>> _ = tf.runtime.simulate_gpus(1)
        1 simulated GPU (Tesla V100-SXM2-16GB, 16 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> x = tf.zeros([1024, 1024])
        >>> tf.config.experimental.get_memory_usage("GPU:0") // 2**20
        4
        """
        return experimental.get_memory_info(device)["current"]

    @staticmethod
    def get_device_policy() -> str:
        """Returns the policy for inputs on another device; the default, `"silent"`, copies them.

        >>> tf.config.experimental.get_device_policy()
        'silent'
        """
        return CURRENT.context.settings.device_policy

    @staticmethod
    def set_device_policy(device_policy: str | None) -> None:
        """Sets the policy for inputs on another device.

        Args:
          device_policy: `"silent"` copies them, `"warn"` copies them with a warning, `"explicit"` rejects them,
            `"silent_for_int32"` rejects all but int32. None for the default.

        Raises:
          ValueError: if the string is not one of these.

        >>> tf.runtime.restart()
        >>> _ = tf.runtime.simulate_gpus(1)
        1 simulated GPU (Tesla V100-SXM2-16GB, 16 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> with tf.device("CPU:0"):
        ...     x = tf.constant([1.0])
        >>> tf.config.experimental.set_device_policy("explicit")
        >>> with tf.device("GPU:0"):
        ...     y = x + x
        Traceback (most recent call last):
        nbtf.errors.InvalidArgumentError: Tensors on conflicting devices: cannot compute AddV2 as input #0 ...
        """
        policy = "silent" if device_policy is None else device_policy
        if policy not in ("silent", "silent_for_int32", "warn", "explicit"):
            raise ValueError(
                f"Invalid argument `device_policy`: {device_policy!r}. Please refer to "
                "https://www.tensorflow.org/api_docs/python/tf/config/experimental/set_device_policy "
                "for valid `device_policy` arguments."
            )
        CURRENT.context.change(device_policy=policy)

    @staticmethod
    def tensor_float_32_execution_enabled() -> bool:
        """Returns the setting of `enable_tensor_float_32_execution`; True by default.

        >>> tf.config.experimental.tensor_float_32_execution_enabled()
        True
        """
        return CURRENT.context.settings.tensor_float_32

    @staticmethod
    def enable_tensor_float_32_execution(enabled: bool) -> None:
        """Stores whether products may be computed in TensorFloat-32; it changes no result.

        Simulated GPUs and the CPU compute in float32. On real GPUs, CuPy does so as well, unless the environment
        variable `CUPY_TF32` is 1 when it is imported.

        Args:
          enabled: whether it is allowed.

        Raises:
          TypeError: if `enabled` is not a Boolean.

        >>> tf.config.experimental.enable_tensor_float_32_execution(False)
        >>> tf.config.experimental.tensor_float_32_execution_enabled()
        False
        """
        CURRENT.context.change(tensor_float_32=check_flag(enabled))

    @staticmethod
    def get_synchronous_execution() -> bool:
        """Returns True: as far as Python can observe, an op has finished when it returns.

        >>> tf.config.experimental.get_synchronous_execution()
        True
        """
        return True

    @staticmethod
    def set_synchronous_execution(enable: bool | None) -> None:
        """Accepts a setting without effect: ops always run one after another.

        Args:
          enable: has no effect.

        >>> tf.config.experimental.set_synchronous_execution(False)
        >>> tf.config.experimental.get_synchronous_execution()
        True
        """


def _device_named(name: str) -> Any:
    """Returns the only device that matches a name; initialises the devices, as TensorFlow does."""
    machine = CURRENT.context.devices
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # users pass device objects
        raise TypeError(f'Expected a device name such as "GPU:0", got {name!r}')
    names = matching(name, machine.by_name)
    if names is None:
        raise ValueError(
            f"Failed parsing device name: '{name}'. Note a valid device string should at least contain a device type "
            'and a device index, like "GPU:0".'
        )
    if not names:
        raise ValueError(f"No matching devices found for '{name}'")
    if len(names) > 1:
        raise ValueError(f"Multiple devices match the provided string '{name}': '{names[0]}' and '{names[1]}'.")
    return machine.by_name[names[0]]
