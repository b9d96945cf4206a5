"""Settings made before devices are first used: which are visible, how they are split, how they allocate memory."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from nbtf._devices.cards import PhysicalGPU
from nbtf._devices.discovery import gpus
from nbtf._devices.machines import SIMULATED_GPUS, Simulated, SimulatedCluster, machine_from_environment
from nbtf._runtime.arguments import check_several, unexpected


class PhysicalDevice(NamedTuple):
    """A device of this machine before it is split: `tf.config.PhysicalDevice`.

    Attributes:
      name: `"/physical_device:GPU:0"`.
      device_type: `"CPU"` or `"GPU"`.

    >>> tf.config.list_physical_devices("CPU")[0].name
    '/physical_device:CPU:0'
    """

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device that ops can be placed on: `tf.config.LogicalDevice`.

    Attributes:
      name: `"/device:GPU:0"`, as accepted by `tf.device`.
      device_type: `"CPU"` or `"GPU"`.

    >>> tf.config.list_logical_devices("CPU")[0].name
    '/device:CPU:0'
    """

    name: str
    device_type: str


_CONFIGURATIONS = "a list of tf.config.LogicalDeviceConfiguration"


class LogicalDeviceConfiguration(NamedTuple):
    """Configuration of one logical device: `tf.config.LogicalDeviceConfiguration`.

    Attributes:
      memory_limit: MiB of the physical GPU; required for GPUs, rejected for CPUs.
      experimental_priority: accepted for GPUs and ignored.
      experimental_device_ordinal: accepted for GPUs and ignored.

    >>> tf.config.LogicalDeviceConfiguration(memory_limit=1024).memory_limit
    1024
    """

    memory_limit: float | None = None
    experimental_priority: int | None = None
    experimental_device_ordinal: int | None = None


class Configuration:
    """The requested settings, checked as TensorFlow checks them; plain data for the code that creates the devices.

    The environment is read once, when the physical devices are first needed.
    """

    def __init__(self, environ: Mapping[str, str], machine: Simulated | None = None) -> None:
        """Starts with every device visible and unsplit, and the default memory settings of its kind."""
        self.environ = environ
        self.machine = machine
        self.machine_from_environment = False
        self.is_announced = False
        """Whether the environment's machine has been logged."""
        self.frozen = False
        self.shares_simulated_gpus = False
        """Whether another library uses the same GPUs, by CUDA's numbers."""
        self.cards: dict[PhysicalDevice, PhysicalGPU] = {}
        self.remote: dict[PhysicalDevice, PhysicalGPU] = {}  # cards on other hosts, which `tf.config` does not list
        self.visible: list[PhysicalDevice] = []
        self.logical: dict[PhysicalDevice, list[LogicalDeviceConfiguration]] = {}
        self.growth: dict[PhysicalDevice, bool] = {}
        self.fraction: float | None = None
        self.process_growth: bool | None = None
        self._physical: list[PhysicalDevice] | None = None

    @property
    def physical(self) -> list[PhysicalDevice]:
        """All physical devices, CPU first."""
        if self._physical is None:
            if self.machine is None:
                self.machine = machine_from_environment(self.environ)
                self.machine_from_environment = self.machine is not None
            cards = gpus(self.machine, self.environ)
            self.cards = {PhysicalDevice(f"/physical_device:GPU:{i}", "GPU"): card for i, card in enumerate(cards)}
            self._physical = [PhysicalDevice("/physical_device:CPU:0", "CPU"), *self.cards]
            self.remote = {}
            if self.cluster is not None:
                for card in self.cluster.all_cards():
                    name = f"{card.task}/physical_device:GPU:{card.machine_index}"
                    self.remote[PhysicalDevice(name, "GPU")] = card
            self.cards |= self.remote
            self.visible = list(self._physical)
        return self._physical

    @property
    def cluster(self) -> SimulatedCluster | None:
        """The simulated hosts besides this computer, if the environment has been read; None without any."""
        return self.machine if isinstance(self.machine, SimulatedCluster) else None

    def use(self, machine: Simulated) -> None:
        """Switches to another simulated machine and discards the configuration of the old one.

        Processes that this one starts, such as `multiprocessing` workers, use the same machine.
        """
        self.machine = machine
        if self.environ is os.environ:
            os.environ[SIMULATED_GPUS] = machine.text()
        self.machine_from_environment = False
        self._physical = None
        self.logical, self.growth = {}, {}

    def cuda_number(self, device: PhysicalDevice) -> int | None:
        """Returns the number of a GPU in CuPy or PyTorch; None if they do not have it."""
        card = self.cards[device]
        if not card.simulated:
            return card.ordinal
        return self.used("GPU").index(device) if self.shares_simulated_gpus and device in self.visible else None

    def list_visible(self, device_type: str | None = None) -> list[PhysicalDevice]:
        """Returns the visible devices in the order given, all of them or of one type."""
        devices = set(self.physical)
        return [d for d in self.visible if d in devices and (device_type is None or d.device_type == device_type)]

    def used(self, device_type: str) -> list[PhysicalDevice]:
        """Returns the visible devices of a type in numbering order, without duplicates."""
        physical, visible = self.physical, set(self.visible)
        return [d for d in physical if d in visible and d.device_type == device_type]

    def set_visible(self, devices: object, device_type: str | None) -> None:
        """Hides all devices except these, for all types or for one."""
        chosen = self._listed(devices)
        for device in chosen:
            self._check_known(device)
            if device_type is not None and getattr(device, "device_type", None) != device_type:
                raise ValueError(f"Unrecognized device: {device!r}")
        remaining = [] if device_type is None else [d for d in self.list_visible() if d.device_type != device_type]
        visible = remaining + [d for d in chosen if isinstance(d, PhysicalDevice)]
        if visible != self.list_visible():
            self._not_after_start("Visible devices")
            self.visible = visible

    @staticmethod
    def _listed(devices: Any) -> list[Any]:
        return [*devices] if devices.__class__ is list else [devices]  # TensorFlow treats a tuple as an unknown device

    def set_logical(self, device: PhysicalDevice, configurations: Sequence[LogicalDeviceConfiguration]) -> None:
        """Splits a physical device into several logical ones."""
        self._check_known(device)
        listed = check_several(configurations, "logical_devices", _CONFIGURATIONS)
        for configuration in listed:
            _check_logical(device, configuration)
        if self.logical.get(device) != listed:
            self._not_after_start("Virtual devices")
            self.logical[device] = listed

    def get_logical(self, device: PhysicalDevice) -> list[LogicalDeviceConfiguration] | None:
        """Returns the logical devices configured for a device; None if it is not split."""
        self._check_known(device)
        return self.logical.get(device)

    def set_growth(self, device: PhysicalDevice, enabled: bool) -> None:
        """Lets a GPU start with little memory and reserve more when needed."""
        self._check_known(device)
        if device in self.logical:
            raise ValueError("Cannot set memory growth on device when virtual devices configured")
        if device.device_type != "GPU":
            raise ValueError("Cannot set memory growth on non-GPU and non-Pluggable devices")
        if self.growth.get(device) is not enabled:
            self._not_after_start("Physical devices")
            self.growth[device] = enabled

    def get_growth(self, device: PhysicalDevice) -> bool | None:
        """Returns the requested memory growth; None if it was not set."""
        self._check_known(device)
        if device.device_type != "GPU":
            raise KeyError(device)
        return self.growth.get(device)

    def agreed_growth(self) -> bool | None:
        """Returns the growth setting shared by all visible GPUs; None once one of them is split.

        Raises:
          ValueError: if the settings differ; an unset one differs from both True and False.
        """
        if not self.growth:  # shortcut for machines with a thousand GPUs and no setting
            return self.process_growth
        visible = self.list_visible("GPU")
        settings = set[bool | None]() if self.logical.keys() & visible else {self.growth.get(gpu) for gpu in visible}
        if len(settings) > 1:
            raise ValueError("Memory growth cannot differ between GPU devices")
        agreed = settings.pop() if settings else None
        return self.process_growth if agreed is None else agreed

    def set_for_process(self, *, fraction: float | None = None, growth: bool | None = None) -> None:
        """Sets the options that TensorFlow 2.0 alpha had for all GPUs of the process.

        Raises:
          RuntimeError: if the devices are already in use, with the alpha's wording.
          ValueError: if the fraction is negative or not a number.
        """
        if fraction is not None and not 0 <= fraction < math.inf:
            raise ValueError(f"fraction must be a number that is not negative, got {fraction}")
        if self.frozen:
            raise RuntimeError("GPU options must be set at program startup")
        self.fraction = self.fraction if fraction is None else fraction
        self.process_growth = self.process_growth if growth is None else growth

    def _check_known(self, device: object) -> None:
        if device not in self.physical:
            raise ValueError(f"Unrecognized device: {device!r}")

    def _not_after_start(self, subject: str) -> None:
        if self.frozen:
            raise RuntimeError(f"{subject} cannot be modified after being initialized")


def _check_logical(device: PhysicalDevice, configuration: Any) -> None:
    if not isinstance(configuration, LogicalDeviceConfiguration):
        raise unexpected(configuration, "logical_devices", _CONFIGURATIONS)
    if device.device_type == "CPU":
        if configuration.memory_limit is not None:
            raise ValueError("Setting memory limit on CPU virtual devices is currently not supported")
        for name in ("experimental_priority", "experimental_device_ordinal"):
            if getattr(configuration, name) is not None:
                # Two spaces, as in TensorFlow's message: programs may compare it.
                raise ValueError(f"Setting {name} on CPU virtual  devices is currently not supported")
    elif configuration.memory_limit is None:
        raise ValueError("Setting memory limit is required for GPU virtual devices")
    elif not _is_size(configuration.memory_limit):
        raise ValueError(
            f"Setting memory limit {configuration.memory_limit!r} on GPU virtual devices is not supported; "
            "it must be a number of MiB that is not negative"
        )


def _is_size(limit: Any) -> bool:
    try:
        return 0 <= limit < math.inf
    except TypeError:
        return False
