"""`tf.config`: which devices there are, which are used, and how their memory is taken."""

from __future__ import annotations

from typing import Any

from nbtf._devices.names import DeviceSpec
from nbtf._public import public_names as _public_names
from nbtf._runtime.configuration import LogicalDevice as LogicalDevice
from nbtf._runtime.configuration import LogicalDeviceConfiguration as LogicalDeviceConfiguration
from nbtf._runtime.configuration import PhysicalDevice as PhysicalDevice
from nbtf._runtime.context import CURRENT


def __dir__() -> list[str]:
    return _public_names(__name__)


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


class threading:  # noqa: N801  # TensorFlow's name
    """`tf.config.threading`: accepted and reported; NumPy's own threads do the work."""

    @staticmethod
    def get_intra_op_parallelism_threads() -> int:
        """Returns the number that was set; 0 means that the system chooses."""
        return CURRENT.context.settings.intra_op_threads

    @staticmethod
    def set_intra_op_parallelism_threads(num_threads: int) -> None:
        """Takes a number down; `RuntimeError` after the devices are in use."""
        _set_threads("intra_op_threads", "Intra", num_threads)

    @staticmethod
    def get_inter_op_parallelism_threads() -> int:
        """Returns the number that was set; 0 means that the system chooses."""
        return CURRENT.context.settings.inter_op_threads

    @staticmethod
    def set_inter_op_parallelism_threads(num_threads: int) -> None:
        """Takes a number down; `RuntimeError` after the devices are in use."""
        _set_threads("inter_op_threads", "Inter", num_threads)


def _set_threads(setting: str, label: str, number: int) -> None:
    context = CURRENT.context
    if getattr(context.settings, setting) == number:
        return
    if context.configuration.frozen:
        raise RuntimeError(f"{label} op parallelism cannot be modified after initialization.")
    context.change(**{setting: number})


class gpu:  # noqa: N801  # the alpha's name
    """`tf.config.gpu` of the 2.0 alpha: memory settings for all GPUs of the process, before first use."""

    @staticmethod
    def set_per_process_memory_fraction(fraction: float) -> None:
        """Takes this part of each GPU's whole memory.

        Raises:
          ValueError: a negative fraction.
          RuntimeError: the devices are in use already.
        """
        CURRENT.context.configuration.set_for_process(fraction=fraction)

    @staticmethod
    def get_per_process_memory_fraction() -> float:
        """Returns the part that was set; 1.0 if none was."""
        fraction = CURRENT.context.configuration.fraction
        return 1.0 if fraction is None else fraction

    @staticmethod
    def set_per_process_memory_growth(enabled: bool = True) -> None:
        """Lets every GPU start small and grow. The alpha needed the argument; the guide writes none.

        Raises:
          RuntimeError: the devices are in use already.
        """
        CURRENT.context.configuration.set_for_process(growth=enabled)

    @staticmethod
    def get_per_process_memory_growth() -> bool:
        """Returns whether growth was set for the process."""
        return bool(CURRENT.context.configuration.process_growth)


class optimizer:  # noqa: N801  # TensorFlow's name
    """`tf.config.optimizer`: switches of TensorFlow's compilers. Nothing is compiled here, so they change no result."""

    @staticmethod
    def set_jit(enabled: bool | str) -> None:
        """Keeps whether graphs may be compiled by XLA.

        Args:
          enabled: `"autoclustering"` or True; anything else means no.

        >>> tf.config.optimizer.set_jit("autoclustering")
        >>> tf.config.optimizer.get_jit()
        'autoclustering'
        """
        CURRENT.context.change(jit="autoclustering" if enabled in (True, "autoclustering") else "")

    @staticmethod
    def get_jit() -> str:
        """Returns `"autoclustering"`, or an empty text where that was not asked for."""
        return CURRENT.context.settings.jit

    @staticmethod
    def set_experimental_options(options: dict[str, Any]) -> None:
        """Keeps options of the graph optimizer; it has nothing to do here. Names that TensorFlow lacks are passed over.

        Args:
          options: names and truth values, such as `{"layout_optimizer": False}`.
        """
        options_set = dict(CURRENT.context.settings.optimizer_options)
        options_set |= {name: bool(options[name]) for name in _OPTIMIZER_OPTIONS if options.get(name) is not None}
        CURRENT.context.change(optimizer_options=tuple(options_set.items()))

    @staticmethod
    def get_experimental_options() -> dict[str, Any]:
        """Returns the options that were set, and two that TensorFlow always tells.

        >>> tf.config.optimizer.get_experimental_options()
        {'disable_model_pruning': False, 'disable_meta_optimizer': False}
        """
        options_set = dict(CURRENT.context.settings.optimizer_options)
        return {
            n: options_set.get(n, False) for n in _OPTIMIZER_OPTIONS if n in options_set or n.startswith("disable_m")
        }


# Source: context.py of TensorFlow 2.21, get_optimizer_experimental_options.
_OPTIMIZER_OPTIONS = (
    "layout_optimizer",
    "constant_folding",
    "shape_optimization",
    "remapping",
    "arithmetic_optimization",
    "dependency_optimization",
    "loop_optimization",
    "function_optimization",
    "debug_stripper",
    "disable_model_pruning",
    "scoped_allocator_optimization",
    "pin_to_host_optimization",
    "implementation_selector",
    "auto_mixed_precision",
    "use_plugin_optimizers",
    "disable_meta_optimizer",
)


class experimental:  # noqa: N801  # TensorFlow's name
    """`tf.config.experimental`: memory growth, memory figures, device details, and older names."""

    VirtualDeviceConfiguration = LogicalDeviceConfiguration
    list_physical_devices = staticmethod(list_physical_devices)
    list_logical_devices = staticmethod(list_logical_devices)
    get_visible_devices = staticmethod(get_visible_devices)
    set_visible_devices = staticmethod(set_visible_devices)
    get_virtual_device_configuration = staticmethod(get_logical_device_configuration)
    set_virtual_device_configuration = staticmethod(set_logical_device_configuration)

    @staticmethod
    def get_memory_growth(device: PhysicalDevice) -> bool | None:
        """Returns whether memory growth was asked for; None if nothing was said; `KeyError` for a CPU."""
        return CURRENT.context.configuration.get_growth(device)

    @staticmethod
    def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
        """Lets a GPU start with little memory and take more when needed; all visible GPUs must agree.

        Raises:
          ValueError: not a GPU of this machine, or it has logical devices.
          RuntimeError: the devices are in use already.
        """
        CURRENT.context.configuration.set_growth(device, enable)

    @staticmethod
    def get_device_details(device: Any) -> dict[str, Any]:
        """Returns what is known of a physical GPU: `device_name`, `compute_capability`; `{}` for a CPU.

        Raises:
          ValueError: not a device from `list_physical_devices`.
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
        """Returns `current` and `peak` of the memory that tensors use on a GPU, in bytes.

        Args:
          device: a name with type and index, `"GPU:0"`.

        Raises:
          ValueError: no such device, not a full name, or a CPU, which keeps no account.

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
        """Sets the peak of a GPU to what it uses now.

        Args:
          device: a name with type and index, `"GPU:0"`.

        Raises:
          ValueError: as `get_memory_info`.
        """
        memory = _device_named(device).memory
        if memory is None:
            raise ValueError(f"Cannot reset memory stats for device '{device}'")
        memory.reset_peak()

    @staticmethod
    def get_memory_usage(device: str) -> int:
        """Returns the memory that tensors use on a GPU, in bytes: `get_memory_info(device)["current"]`."""
        return experimental.get_memory_info(device)["current"]

    @staticmethod
    def get_device_policy() -> str:
        """Returns what happens to inputs on another device: `"silent"` copies are the default."""
        return CURRENT.context.settings.device_policy

    @staticmethod
    def set_device_policy(device_policy: str | None) -> None:
        """Sets what happens to inputs on another device.

        Args:
          device_policy: `"silent"` copies them, `"warn"` does so with a warning, `"explicit"` refuses them,
            `"silent_for_int32"` refuses all but int32. None is the default.

        Raises:
          ValueError: another text.
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
        """Returns what `enable_tensor_float_32_execution` was given; True at first."""
        return CURRENT.context.settings.tensor_float_32

    @staticmethod
    def enable_tensor_float_32_execution(enabled: bool) -> None:
        """Keeps whether products may be computed in TensorFloat-32; changes no result.

        Simulated GPUs and the CPU compute in float32. On real GPUs CuPy does as well, unless the environment says
        `CUPY_TF32=1` before it is imported.

        Args:
          enabled: whether they may.
        """
        CURRENT.context.change(tensor_float_32=enabled)

    @staticmethod
    def get_synchronous_execution() -> bool:
        """Returns True: an op has run when it returns, as far as Python can tell."""
        return True

    @staticmethod
    def set_synchronous_execution(enable: bool | None) -> None:
        """Accepts what is the case anyway: ops run one after another."""


def _device_named(name: str) -> Any:
    """Returns the device of a name with type and index; initialises the devices, as TensorFlow does."""
    machine = CURRENT.context.devices
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # users do give device objects
        raise TypeError(f'a device is named by a text such as "GPU:0", got {name!r}')
    try:
        spec = DeviceSpec.from_string(name)
    except ValueError:
        spec = DeviceSpec()
    if spec.device_type is None or spec.device_index is None:
        raise ValueError(
            f"Failed parsing device name: '{name}'. Note a valid device string should at least contain a device type "
            'and a device index, like "GPU:0".'
        )
    full_spec = DeviceSpec(
        spec.job or "localhost", spec.replica or 0, spec.task or 0, spec.device_type, spec.device_index
    )
    device = machine.by_name.get(full_spec.to_string())
    if device is None:
        raise ValueError(f"No matching devices found for '{name}'")
    return device


def functions_run_eagerly() -> bool:
    """Tells whether `run_functions_eagerly(True)` was called, so that a `tf.function` is not traced."""
    return CURRENT.context.settings.functions_eager


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Has the Python code of a `tf.function` run in each call, or not; what it returns stays as it is."""
    CURRENT.context.settings.functions_eager = bool(run_eagerly)
