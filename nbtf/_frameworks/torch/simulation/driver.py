"""The driver functions behind `torch.cuda`, for simulated devices.

`torch.cuda` is Python code over functions of `torch._C`, which a build without CUDA lacks. This module supplies them,
and `torch.cuda` itself is unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import ne
from os import getpid
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from nbtf._devices.base import Label
from nbtf._devices.capacities import reported_bytes
from nbtf._devices.chips import chip_of
from nbtf._frameworks.torch.simulation.driver_settings import settings
from nbtf._frameworks.torch.simulation.driver_table import no_ops
from nbtf._frameworks.torch.simulation.history import MemoryHistory
from nbtf._frameworks.torch.simulation.machine import Machine


class DeviceProperties(SimpleNamespace):
    """The properties of a card, with the attributes of `torch.cuda.get_device_properties(0)`."""

    def __getattr__(self, name: str) -> Any:
        """Raises an error that lists the known attributes.

        Raises:
          AttributeError: always.
        """
        raise AttributeError(f"Simulated GPUs have no property {name!r}. Known properties: {', '.join(vars(self))}.")

    def __repr__(self) -> str:
        """Returns the text that PyTorch prints, with `simulated` in the name."""
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory >> 20}MB, multi_processor_count={self.multi_processor_count}, "
            f"uuid={self.uuid}, pci_bus_id={self.pci_bus_id}, pci_device_id={self.pci_device_id}, "
            f"pci_domain_id={self.pci_domain_id}, L2_cache_size={self.L2_cache_size >> 20}MB)"
        )


class Driver:
    """Implements the driver functions for the devices of a machine."""

    def __init__(self, machine: Machine) -> None:
        """Stores the machine with the devices."""
        self._machine = machine
        self._raw: dict[int, tuple[int, Any]] = {}

    def functions(self) -> dict[str, Callable[..., Any]]:
        """Returns the functions for `torch._C`, by their names there without `_cuda_`.

        An op is finished when it returns, pinned memory is not counted, and no memory is shared between processes.
        """
        machine = self._machine
        return {
            "init": _do_nothing,
            "getDeviceCount": lambda: len(machine.cards),
            "getDevice": lambda: machine.current,
            "setDevice": self.set_device,
            "exchangeDevice": self.exchange_device,
            "maybeExchangeDevice": self.maybe_exchange_device,
            "canDeviceAccessPeer": ne,
            "isInBadFork": lambda: machine.is_forked,
            "getArchFlags": self.architectures,
            "hasPrimaryContext": self.is_initialized,
            "sleep": self.sleep,
            "memoryStats": self.memory_stats,
            "resetPeakMemoryStats": self.reset_peaks,
            "resetAccumulatedMemoryStats": self.reset_sums,
            "emptyCache": self.empty_cache,
            "setMemoryFraction": self.set_memory_fraction,
            "getMemoryFraction": self.memory_fraction,
            "memorySnapshot": self.memory_snapshot,
            **MemoryHistory(machine).functions(),
            "hostMemoryStats": dict[str, Any],
            "cudaCachingAllocator_raw_alloc": self.take_raw,
            "cudaCachingAllocator_raw_delete": self.give_back_raw,
            **settings(),
            **no_ops(),
        }

    def accelerator_functions(self) -> dict[str, Callable[..., Any]]:
        """Returns the functions that `torch.accelerator` calls, by their names without `_accelerator_`."""
        return {
            "synchronizeDevice": _do_nothing,
            "emptyCache": self.empty_cache,
            "emptyHostCache": _do_nothing,
            "isAllocatorInitialized": lambda: True,
            "getDeviceStats": self.memory_stats,
            "resetPeakStats": self.reset_peaks,
            "resetAccumulatedStats": self.reset_sums,
            "getMemoryInfo": self.memory_info,
            "setDeviceIndex": self.set_device,
            "getDeviceIndex": lambda: self._machine.current,
            "exchangeDevice": self.exchange_device,
            "maybeExchangeDevice": self.maybe_exchange_device,
        }

    def set_device(self, number: int) -> None:
        """Changes the current device."""
        self._machine.current = number

    def exchange_device(self, number: int) -> int:
        """Changes the current device and returns the previous one; a negative number changes nothing."""
        previous = self._machine.current
        if number < 0:
            return -1
        self._machine.current = number
        return previous

    def maybe_exchange_device(self, number: int) -> int:
        """Like `exchange_device`; a separate function, since the PyTorch compiler has a handler for each."""
        return self.exchange_device(number)

    def is_initialized(self, _number: int) -> bool:
        """Returns whether the program has used the devices."""
        return self._machine.torch.cuda.is_initialized()

    def architectures(self) -> str:
        """Returns the architectures that kernels were compiled for: those of the simulated cards."""
        capabilities = {card.card.compute_capability for card in self._machine.cards}
        return " ".join(f"sm_{major}{minor}" for major, minor in sorted(capabilities))

    def sleep(self, cycles: int) -> None:
        """Keeps the current device busy in modelled time; nothing waits."""
        self._machine.timing.add_cycles(self._machine.current, cycles)

    def memory_stats(self, number: int) -> dict[str, Any]:
        """Returns the statistics of a device's allocator."""
        return self._machine.allocators[number].nested_stats()

    def reset_peaks(self, number: int) -> None:
        """Resets the peaks to the current values."""
        self._machine.allocators[number].reset_peak_stats()

    def reset_sums(self, number: int) -> None:
        """Resets the accumulated counts to 0."""
        self._machine.allocators[number].reset_accumulated_stats()

    def empty_cache(self) -> None:
        """Releases the idle memory of all devices."""
        for allocator in self._machine.allocators:
            allocator.empty_cache()

    def set_memory_fraction(self, fraction: float, number: int) -> None:
        """Limits this process to a fraction of a device's memory."""
        self._machine.allocators[number].set_memory_fraction(fraction)

    def memory_fraction(self, number: int) -> float:
        """Returns this process's fraction of a device's memory."""
        return self._machine.allocators[number].memory_fraction

    def memory_snapshot(self, _pool: Any = None) -> dict[str, Any]:
        """Returns the memory segments of all devices, and their history as far as it was recorded."""
        segments = [segment for allocator in self._machine.allocators for segment in allocator.snapshot()]
        traces = [allocator.trace() for allocator in self._machine.allocators]
        return {"segments": segments, "device_traces": traces, "allocator_settings": {}, "external_annotations": []}

    def memory_info(self, number: int) -> tuple[int, int]:
        """Returns the free and the total bytes, as `cudaMemGetInfo` does; CUDA's context is modelled and not free."""
        allocator = self._machine.allocators[number]
        return allocator.free_bytes, reported_bytes(self._machine.cards[number])

    def memory_used(self, number: int) -> int:
        """Returns the bytes in use on a device, by all its users."""
        free, total = self.memory_info(number)
        return total - free

    def list_processes(self, number: int) -> str:
        """Returns the text of `torch.cuda.list_gpu_processes`; no other process uses a simulated device."""
        mebibytes = self.memory_used(number) / (1 << 20)
        return f"GPU:{number} (simulated)\nprocess {getpid():>10d} uses {mebibytes:>12.3f} MB GPU memory"

    def take_raw(self, nbytes: int, _stream: int) -> int:
        """Allocates memory without a tensor, and returns its device address."""
        number = self._machine.current
        memory = self._machine.charge(nbytes, number, Label("caching_allocator_alloc", "uint8", (nbytes,)))
        self._raw[memory.address] = number, memory
        return memory.address

    def give_back_raw(self, address: int) -> None:
        """Frees memory from `take_raw`."""
        number, memory = self._raw.pop(address)
        self._machine.give_back([memory], number)

    def properties(self, number: int) -> DeviceProperties:
        """Returns the properties that `torch.cuda.get_device_properties` returns."""
        gpu = self._machine.cards[number]
        major, minor = gpu.card.compute_capability
        chip = chip_of(gpu.card)
        domain, bus, slot = gpu.bus_id.partition(".")[0].split(":")
        return DeviceProperties(
            name=f"{gpu.card.name} (simulated)",
            major=major,
            minor=minor,
            total_memory=reported_bytes(gpu),
            uuid=UUID(gpu.uuid.removeprefix("GPU-")),
            pci_bus_id=int(bus, 16),
            pci_device_id=int(slot, 16),
            pci_domain_id=int(domain, 16),
            multi_processor_count=chip.multiprocessors,
            warp_size=32,
            gcnArchName="",
            is_integrated=0,
            is_multi_gpu_board=0,
            L2_cache_size=chip.l2_bytes,
            max_threads_per_multi_processor=chip.threads,
            max_threads_per_block=1024,
            regs_per_multiprocessor=65536,
            shared_memory_per_block=48 << 10,
            shared_memory_per_block_optin=chip.shared_of_block,
            shared_memory_per_multiprocessor=chip.shared_bytes,
        )


def _do_nothing(*_: Any) -> None:
    """Replaces functions that have nothing to do on a simulated device."""
