"""The logical devices of the process: configured ones, those of sessions, and those of other tasks."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from nbtf._devices.backends import MemoryOptions
from nbtf._devices.base import Device
from nbtf._devices.cpu import CPU
from nbtf._devices.names import LOCAL_TASK, full_name, split_task
from nbtf._runtime.configuration import Configuration, LogicalDevice, PhysicalDevice
from nbtf._runtime.gpus import GPUs, LogicalGPU
from nbtf._runtime.placement import Machine
from nbtf.errors import NotFoundError


def in_order(device: Device) -> tuple[bool, str, int, str, int]:
    """Returns the sort key of devices: this process first, then task by task; CPUs before GPUs."""
    job, number = split_task(device.task)
    return device.task != LOCAL_TASK, job, number, device.type, device.index


class LogicalDevices:
    """The devices that a context has created so far, and those of other tasks that have joined it.

    The context holds its lock during every change.
    """

    def __init__(self, configuration: Configuration, gpus: GPUs) -> None:
        """Starts without devices.

        Args:
          configuration: the requested configuration.
          gpus: the GPUs of the process.
        """
        self.joined: tuple[Device, ...] = ()  # devices of other tasks; see `cluster.py`
        self.made_from: dict[str, PhysicalDevice] = {}
        self._configuration, self._gpus = configuration, gpus
        self._cpus: list[Device] = []
        self._session_cpus: dict[str, Device] = {}  # CPUs that exist for sessions only
        self._by_name: dict[str, Device] = {}

    def memory_options(self) -> MemoryOptions:
        """Returns the default memory options of GPUs, for use without a session."""
        return MemoryOptions(self._configuration.fraction, self._configuration.agreed_growth())

    def make(self, gpus: Sequence[LogicalGPU], options: Sequence[MemoryOptions]) -> Machine:
        """Creates the CPUs, these GPUs and those of other hosts for the first time; freezes the configuration.

        Args:
          gpus: the GPUs of this process.
          options: the memory options of each.

        Raises:
          NotFoundError: if the program has hidden all CPUs.
        """
        self._cpus = self._new_cpus()
        of_cluster = self._gpus.of_cluster()
        self._gpus.make([*gpus, *of_cluster], [*options, *[self.memory_options()] * len(of_cluster)])
        self._configuration.frozen = True
        _announce(self._configuration)
        return self.machine()

    def machine(self) -> Machine:
        """Returns the state that placement needs; ops without a requested device run in this process."""
        cpus, gpus = self._cpus, self._gpus.made
        self.made_from |= {gpu.name: physical for gpu, physical in zip(gpus, self._gpus.made_from, strict=True)}
        joined = sorted(self.joined, key=lambda device: device.type == "CPU")
        ordered = sorted((*gpus, *cpus, *joined), key=lambda device: device.task != LOCAL_TASK)
        self._by_name = {device.name: device for device in sorted((*cpus, *gpus, *joined), key=in_order)}
        return Machine(tuple(ordered), self._by_name, cpus[0])

    def session_cpus(self, count: int) -> list[Device]:
        """Returns the first `count` CPUs; those that exist for sessions only are not visible elsewhere."""
        cpus: list[Device] = []
        for index in range(count):
            name = full_name("CPU", index)
            device = self._by_name.get(name) or self._session_cpus.get(name)
            if device is None:
                device = self._session_cpus[name] = CPU(index)
                self.made_from[name] = self.made_from[self._cpus[0].name]
            cpus.append(device)
        return cpus

    def all(self) -> list[Device]:
        """Returns all created devices, including those of sessions, CPUs first."""
        devices = [*self._by_name.values(), *self._session_cpus.values()]
        return sorted(dict.fromkeys(devices), key=in_order)

    def has(self, device: Device) -> bool:
        """Returns whether a device belongs to this context, and not to one before a restart."""
        name = device.name
        return self._by_name.get(name) is device or self._session_cpus.get(name) is device

    def listed(self, device_type: str | None) -> list[LogicalDevice]:
        """Returns the devices of a type, or all, in the order of `tf.config`: CPUs first."""
        return [
            LogicalDevice(device.name.removeprefix(LOCAL_TASK), device.type)
            for device in self._by_name.values()
            if device_type is None or device.type == device_type
        ]

    def _new_cpus(self) -> list[Device]:
        devices: list[Device] = []
        for physical in self._configuration.used("CPU"):
            for _ in self._configuration.logical.get(physical, [None]):
                devices.append(CPU(len(devices)))
                self.made_from[devices[-1].name] = physical
        if not devices:
            raise NotFoundError("No CPU devices are available in this process")
        cluster = self._configuration.cluster
        if cluster is not None:
            for task in cluster.tasks:
                devices.append(CPU(0, task))
                self.made_from[devices[-1].name] = self.made_from[devices[0].name]
            for cpu in devices:
                cpu.network = cluster.network
        return devices


def _announce(configuration: Configuration) -> None:
    """Prints a description of the simulated GPUs once if only the environment requested them."""
    processes = sys.modules.get("multiprocessing")
    is_worker = processes is not None and processes.parent_process() is not None
    if is_worker:
        return  # the parent process has already printed it
    if configuration.machine_from_environment and configuration.machine and not configuration.is_announced:
        print(f"nbtf: {configuration.machine.sentence()}", file=sys.stderr)  # noqa: T201  # the announcement
