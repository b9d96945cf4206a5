"""What has been asked of the devices before first use: which are visible, how they are split, how memory is taken."""

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
    """A device of this machine, before it is split: `tf.config.PhysicalDevice`.

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
      name: `"/device:GPU:0"`, as `tf.device` takes it.
      device_type: `"CPU"` or `"GPU"`.

    >>> tf.config.list_logical_devices("CPU")[0].name
    '/device:CPU:0'
    """

    name: str
    device_type: str


_CONFIGURATIONS = "a list of tf.config.LogicalDeviceConfiguration"


class LogicalDeviceConfiguration(NamedTuple):
    """How to make one logical device: `tf.config.LogicalDeviceConfiguration`.

    Attributes:
      memory_limit: MiB of the physical GPU; needed for GPUs, refused for CPUs.
      experimental_priority: accepted for GPUs and ignored.
      experimental_device_ordinal: accepted for GPUs and ignored.

    >>> tf.config.LogicalDeviceConfiguration(memory_limit=1024).memory_limit
    1024
    """

    memory_limit: float | None = None
    experimental_priority: int | None = None
    experimental_device_ordinal: int | None = None


class Configuration:
    """The wishes, each with TensorFlow's checks; plain data for whoever builds the devices.

    The environment is read once, when the physical devices are first asked for.
    """

    def __init__(self, environ: Mapping[str, str], machine: Simulated | None = None) -> None:
        """Starts with every device visible and unsplit, memory as the kind of device has it by default."""
        self.environ = environ
        self.machine = machine
        self.machine_from_environment = False
        self.is_announced = False
        """Whether the machine of the environment has been said."""
        self.frozen = False
        self.shares_simulated_gpus = False
        """Whether another library has them too, by CUDA's numbers."""
        self.cards: dict[PhysicalDevice, PhysicalGPU] = {}
        self.remote: dict[PhysicalDevice, PhysicalGPU] = {}  # of other hosts, which `tf.config` does not list
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
        """The simulated hosts beside this computer, as far as the environment was read; None where there are none."""
        return self.machine if isinstance(self.machine, SimulatedCluster) else None

    def use(self, machine: Simulated) -> None:
        """Takes another simulated machine; what was configured for the old one is forgotten.

        Programs that this process starts, such as the workers of `multiprocessing`, find the same one.
        """
        self.machine = machine
        if self.environ is os.environ:
            os.environ[SIMULATED_GPUS] = machine.text()
        self.machine_from_environment = False
        self._physical = None
        self.logical, self.growth = {}, {}

    def cuda_number(self, device: PhysicalDevice) -> int | None:
        """Returns the number by which CuPy or PyTorch has a card; None where they have not got it."""
        card = self.cards[device]
        if not card.simulated:
            return card.ordinal
        return self.used("GPU").index(device) if self.shares_simulated_gpus and device in self.visible else None

    def list_visible(self, device_type: str | None = None) -> list[PhysicalDevice]:
        """Returns the visible devices as they were given, all or of one type."""
        devices = set(self.physical)
        return [d for d in self.visible if d in devices and (device_type is None or d.device_type == device_type)]

    def used(self, device_type: str) -> list[PhysicalDevice]:
        """Returns the visible devices of a type in the order of their numbering, each once."""
        physical, visible = self.physical, set(self.visible)
        return [d for d in physical if d in visible and d.device_type == device_type]

    def set_visible(self, devices: object, device_type: str | None) -> None:
        """Hides all devices but these, all or of one type only."""
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
        return [*devices] if devices.__class__ is list else [devices]  # a tuple is one unknown device

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
        """Returns how a device was asked to be split; None if it was not."""
        self._check_known(device)
        return self.logical.get(device)

    def set_growth(self, device: PhysicalDevice, enabled: bool) -> None:
        """Lets a GPU start with little memory and ask its card for more when needed."""
        self._check_known(device)
        if device in self.logical:
            raise ValueError("Cannot set memory growth on device when virtual devices configured")
        if device.device_type != "GPU":
            raise ValueError("Cannot set memory growth on non-GPU and non-Pluggable devices")
        if self.growth.get(device) is not enabled:
            self._not_after_start("Physical devices")
            self.growth[device] = enabled

    def get_growth(self, device: PhysicalDevice) -> bool | None:
        """Returns whether memory growth was asked for; None if nothing was said."""
        self._check_known(device)
        if device.device_type != "GPU":
            raise KeyError(device)
        return self.growth.get(device)

    def agreed_growth(self) -> bool | None:
        """Returns the growth setting that all visible GPUs share; once one of them is split, none counts.

        Raises:
          ValueError: they differ; saying nothing differs from True and from False.
        """
        if not self.growth:  # as of a thousand cards of which nothing was said
            return self.process_growth
        visible = self.list_visible("GPU")
        settings = set[bool | None]() if self.logical.keys() & visible else {self.growth.get(gpu) for gpu in visible}
        if len(settings) > 1:
            raise ValueError("Memory growth cannot differ between GPU devices")
        agreed = settings.pop() if settings else None
        return self.process_growth if agreed is None else agreed

    def set_for_process(self, *, fraction: float | None = None, growth: bool | None = None) -> None:
        """Sets what the 2.0 alpha set for all GPUs of the process.

        Raises:
          RuntimeError: after first use, with the alpha's words.
          ValueError: a negative fraction, or none at all.
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
                # Two blanks, as TensorFlow prints it; programs compare texts.
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
