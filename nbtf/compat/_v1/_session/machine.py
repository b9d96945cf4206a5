"""The devices of a session: its own CPUs, and the process's GPUs in the order that its configuration gives."""

from __future__ import annotations

import math
import secrets
from collections import Counter
from typing import NamedTuple
from weakref import WeakKeyDictionary

from nbtf._devices.backends import MemoryOptions
from nbtf._devices.base import Device
from nbtf._runtime.configuration import LogicalDeviceConfiguration, PhysicalDevice
from nbtf._runtime.context import Context
from nbtf._runtime.gpus import LogicalGPU
from nbtf._runtime.placement import Machine
from nbtf.compat._v1._config.config_proto import ConfigProto, GPUOptions
from nbtf.compat._v1._graph.defaults import building
from nbtf.errors import InternalError, InvalidArgumentError, NotFoundError, UnknownError

# Source of the rules and texts in this file: gpu_device.cc and device_id_utils.cc of TensorFlow 2.


def config_of(context: Context) -> ConfigProto:
    """Returns the configuration of a session without one: the settings of `tf.config` and `tf.debugging`."""
    config = ConfigProto(log_device_placement=context.log is not None)
    settings = vars(context.settings)
    # Graphs do not use soft placement unless the program requests it.
    config.allow_soft_placement = bool(settings.get("soft_placement", building() is None))
    config.inter_op_parallelism_threads = context.settings.inter_op_threads
    config.intra_op_parallelism_threads = context.settings.intra_op_threads
    for device in context.devices.local:
        config.device_count[device.type] += 1
    config.device_count.setdefault("GPU", 0)
    return config


def machine_of(config: ConfigProto, context: Context) -> Machine:
    """Returns the devices of a session with this configuration.

    The first session determines how GPU memory is allocated, unless ops ran before.

    Raises:
      InvalidArgumentError: if `visible_device_list` is invalid or incompatible with other settings.
      AlreadyExistsError: if it numbers GPUs differently than the process already does.
      NotFoundError: if the configuration has no CPU.
      UnknownError: if it has virtual devices for GPUs that do not exist.
      InternalError: if the allocator type is unknown.
    """
    cpus = config.device_count.get("CPU", 1)
    if cpus < 1:
        raise NotFoundError("No CPU devices are available in this process")
    gpus = _gpus(config, context)
    hosts = context.logical_devices.session_cpus(cpus)
    by_name = {device.name: device for device in (*hosts, *gpus)}
    return Machine((*gpus, *hosts), by_name, hosts[0], config.allow_soft_placement)


def _gpus(config: ConfigProto, context: Context) -> list[Device]:
    options: GPUOptions = config.gpu_options
    present = [device for device in context.configuration.physical if device.device_type == "GPU"]
    count = config.device_count.get("GPU", -1)
    if not present or count == 0:
        return context.session_gpus(context.gpus.configured(), 0, _memory(options))
    selected = _numbered(options, present, context)
    if count < 0 or count > len(selected):
        count = len(selected)
    if options.experimental.virtual_devices:
        selected = _divide_gpus(options, [gpu.physical for gpu in selected], count)
        count = len(selected)
    _check_allocator(options)
    return context.session_gpus(selected, count, _memory(options))


def _memory(options: GPUOptions) -> MemoryOptions:
    trial = options.experimental
    return MemoryOptions(
        options.per_process_gpu_memory_fraction or None,
        options.allow_growth or None,
        trial.use_unified_memory,
        trial.internal_fragmentation_fraction,
    )


def _numbered(options: GPUOptions, present: list[PhysicalDevice], context: Context) -> list[LogicalGPU]:
    """Returns the GPUs in the order of `visible_device_list`, or by default in the order of `tf.config`."""
    text: str = options.visible_device_list
    if not text:
        configured = context.gpus.configured()
        if options.experimental.virtual_devices:
            return [LogicalGPU(physical) for physical in dict.fromkeys([gpu.physical for gpu in configured])]
        return configured
    numbers = [_number(entry, text, len(present)) for entry in text.split(",")]
    if max(Counter(numbers).values()) > 1:
        raise InvalidArgumentError(f"visible_device_list contained a duplicate entry: {text}")
    return [LogicalGPU(present[number]) for number in numbers]


def _number(entry: str, text: str, present: int) -> int:
    try:
        number = int(entry) if entry.strip().lstrip("+-").isdecimal() else None
    except ValueError:
        number = None
    if number is None or not -(1 << 31) <= number < 1 << 31:
        raise InvalidArgumentError(
            f"Could not parse entry in 'visible_device_list': '{entry}'. visible_device_list = {text}"
        )
    if not 0 <= number < present:
        raise InvalidArgumentError(
            f"'visible_device_list' listed an invalid Device id '{number}' but visible device count is {present}"
        )
    return number


def _divide_gpus(options: GPUOptions, gpus: list[PhysicalDevice], count: int) -> list[LogicalGPU]:
    """Returns the logical GPUs that `virtual_devices` defines on these GPUs."""
    divisions = options.experimental.virtual_devices
    if options.per_process_gpu_memory_fraction > 0:
        raise InvalidArgumentError("It's invalid to set per_process_gpu_memory_fraction when virtual_devices is set.")
    if count < len(divisions):
        raise UnknownError(
            f"Not enough GPUs to create virtual devices. num_gpus_to_use: {count} #virtual_devices: {len(divisions)}"
        )
    if options.visible_device_list and len(gpus) != len(divisions):
        raise InvalidArgumentError(
            "The number of GPUs in visible_device_list doesn't match the number of elements in the virtual_devices "
            f"list. #GPUs in visible_device_list: {len(gpus)} virtual_devices.size(): {len(divisions)}"
        )
    if len(gpus) != len(divisions):
        raise UnknownError(
            "The number of valid GPUs doesn't match the number of elements in the virtual_devices list. "
            f"#valid GPUs: {len(gpus)} virtual_devices.size(): {len(divisions)}"
        )
    logical_gpus: list[LogicalGPU] = []
    for physical, division in zip(gpus, divisions, strict=True):
        for limit in division.memory_limit_mb:
            if not 0 <= limit < math.inf:
                raise InvalidArgumentError(f"memory_limit_mb of virtual_devices is {limit}; expected a number of MiB")
        limits = [LogicalDeviceConfiguration(limit) for limit in division.memory_limit_mb]
        logical_gpus += [LogicalGPU(physical, limit) for limit in limits or [None]]
    return logical_gpus


def _check_allocator(options: GPUOptions) -> None:
    if options.allocator_type not in ("", "BFC"):
        raise InternalError(f"Invalid allocator type: {options.allocator_type}")


# TensorFlow's description of every CPU. Source: ThreadPoolDeviceFactory, threadpool_device_factory.cc.
_CPU_MEMORY = 256 << 20

_INCARNATIONS: WeakKeyDictionary[Device, int] = WeakKeyDictionary()


def memory_limit_of(device: Device) -> int:
    """Returns the memory limit of a device in bytes; for a CPU, TensorFlow's constant."""
    return _CPU_MEMORY if device.memory is None else device.memory.stats().limit


def incarnation_of(device: Device) -> int:
    """Returns a random 64-bit number that identifies a device during its lifetime."""
    return _INCARNATIONS.setdefault(device, secrets.randbits(64))


class DeviceAttributes(NamedTuple):
    """A device of a session: full name, type, memory in bytes, and a random number."""

    name: str
    device_type: str
    memory_limit_bytes: int
    incarnation: int

    def __repr__(self) -> str:
        return f"_DeviceAttributes({', '.join(map(str, self))})"


def devices_of(machine: Machine) -> list[DeviceAttributes]:
    """Returns the devices of a session, with CPUs first."""
    return [
        DeviceAttributes(name, device.type, memory_limit_of(device), _signed(incarnation_of(device)))
        for name, device in machine.by_name.items()
    ]


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number
