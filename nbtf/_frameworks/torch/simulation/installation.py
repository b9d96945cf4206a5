"""Installs simulated devices in PyTorch, and removes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from os import environ
from typing import Any, ClassVar

from nbtf._devices.bfc import pool
from nbtf._devices.caching.allocator import CachingAllocator
from nbtf._devices.caching.context import Context
from nbtf._devices.caching.settings import AllocatorSettings
from nbtf._devices.capacities import reported_bytes
from nbtf._devices.cards import PhysicalGPU
from nbtf._devices.lent import LENT, LentCard
from nbtf._frameworks.torch.cards import name_of_card
from nbtf._frameworks.torch.simulation.communication import communication
from nbtf._frameworks.torch.simulation.composites import composites
from nbtf._frameworks.torch.simulation.cuda_build import install_without_cuda
from nbtf._frameworks.torch.simulation.driver import Driver
from nbtf._frameworks.torch.simulation.generators import install_generators
from nbtf._frameworks.torch.simulation.kernels import Kernels
from nbtf._frameworks.torch.simulation.layouts import Layouts
from nbtf._frameworks.torch.simulation.machine import Machine
from nbtf._frameworks.torch.simulation.nccl import install_groups
from nbtf._frameworks.torch.simulation.peers import Peers
from nbtf._frameworks.torch.simulation.pinning import install_pinning
from nbtf._frameworks.torch.simulation.process_groups import group_kernels
from nbtf._frameworks.torch.simulation.refusals import install_absent, install_refusals
from nbtf._frameworks.torch.simulation.replacing import Replacements
from nbtf._frameworks.torch.simulation.runtime import Markers, Runtime
from nbtf._frameworks.torch.simulation.special_kernels import special_kernels
from nbtf._frameworks.torch.simulation.storages import install_storages
from nbtf._frameworks.torch.simulation.streams import Streams
from nbtf._frameworks.torch.simulation.tensor_types import install_tensor_types
from nbtf._frameworks.torch.simulation.versions import install_versions, versions_for
from nbtf._runtime.context import CURRENT

_CHECKS_OF_KERNELS = ("_check_capability", "_check_cubins")
"""Functions of `torch.cuda` that compare cards with the kernels of this build, and warn; simulated cards run none."""


class Installation:
    """Simulated devices installed in a PyTorch that has no GPUs."""

    _was_initialized: ClassVar[bool] = False
    """Whether the PyTorch core has had `torch.cuda` initialized: it requests that once per process."""
    _removed: ClassVar[Installation | None] = None
    """The installation that was removed last; its kernels reject its remaining tensors."""

    def __init__(
        self, torch: Any, cards: Sequence[PhysicalGPU], values: bool = True, read_as: float | None = None
    ) -> None:
        """Installs the devices.

        Args:
          torch: PyTorch.
          cards: the cards that become `cuda:0`, `cuda:1` and so on.
          values: whether tensors have values.
          read_as: the value that is read if tensors have none.

        Raises:
          NoSimulationError: if this build of PyTorch does not support simulated GPUs.
        """
        settings = AllocatorSettings.parse(environ.get("PYTORCH_CUDA_ALLOC_CONF", ""))
        opened = [_opened(card) for card in cards]
        allocators = [CachingAllocator(memory, settings, device=number) for number, memory in enumerate(opened)]
        self._contexts = [Context(card, memory) for card, memory in zip(cards, opened, strict=True)]
        removed, leftovers = self._removed, self._removed and self._removed.machine.leftovers
        self.machine = Machine(torch, cards, allocators, values, read_as, leftovers)
        if removed is not None:
            Installation._removed = None
            removed._kernels.remove()
        self._torch, self._replacements = torch, Replacements()
        self.machine.layouts = Layouts(self.machine) if values else None
        self._peers = Peers()
        groups = group_kernels(self.machine, self._peers)
        self._kernels = Kernels(self.machine, special_kernels(self.machine), composites(self.machine), groups)
        self._kernels.register()
        self._replace()
        self._lent = [
            LentCard(card, partial(name_of_card, torch.device("cuda", number)), allocator, "PyTorch")
            for number, (card, allocator) in enumerate(zip(cards, allocators, strict=True))
        ]
        LENT.extend(self._lent)
        CURRENT.context.settle()
        if self._was_initialized:
            try:
                torch.cuda.init()
            except BaseException:
                self.remove()
                raise

    def remove(self) -> None:
        """Removes the devices. The kernels stay until the next installation, and reject tensors that are left."""
        for card in self._lent:
            card.memory.tell_end()
        CURRENT.context.observers.collect()
        for card in self._lent:
            LENT.remove(card)
            card.memory.card.pools.discard(card.memory)
        for context in self._contexts:
            context.end()
        self._replacements.undo()
        self.machine.remove()
        Installation._removed = self
        cuda = self._torch.cuda
        Installation._was_initialized |= cuda._initialized
        cuda._initialized, cuda._cached_device_count = False, None

    def _replace(self) -> None:
        torch, replace = self._torch, self._replacements.set
        if self.machine.is_with_cuda:
            install_without_cuda(torch, self._replacements)
        install_absent(torch, self._replacements)
        driver = Driver(self.machine)
        for name, function in driver.functions().items():
            replace(torch._C, f"_cuda_{name}", function)
        for name, function in driver.accelerator_functions().items():
            replace(torch._C, f"_accelerator_{name}", function)
        cuda = torch.cuda
        cuda._cached_device_count = None
        checks = [getattr(cuda, name, None) for name in _CHECKS_OF_KERNELS]
        replace(cuda, "_queued_calls", [call for call in cuda._queued_calls if call[0] not in checks])
        replace(cuda, "_is_in_bad_fork", lambda: self.machine.is_forked)
        replace(cuda, "_exchange_device", driver.exchange_device)
        replace(cuda, "_maybe_exchange_device", driver.maybe_exchange_device)
        replace(cuda, "_get_device_properties", driver.properties)
        replace(cuda, "_cudart", Runtime(driver))
        for memory in (cuda, cuda.memory):
            replace(memory, "list_gpu_processes", _of_device(cuda, driver.list_processes))
            replace(memory, "device_memory_used", _of_device(cuda, driver.memory_used))
        replace(cuda.nvtx, "_nvtx", Markers())
        replace(torch.backends.cuda, "is_built", lambda: True)
        replace(torch.autograd.Variable, "_execution_engine", _Engine(torch))
        for name, function in communication(torch).items():
            replace(torch._C, name, function)
        if torch.distributed.is_available():
            install_groups(torch, self._peers, self._replacements, self.machine.is_with_cuda)
        capabilities = {card.card.compute_capability for card in self.machine.cards}
        install_versions(torch, versions_for(self.machine.release, capabilities), self._replacements)
        install_pinning(torch, self._replacements)
        install_storages(self.machine, self._replacements)
        install_tensor_types(torch, self._replacements)
        install_refusals(self.machine, self._replacements, self._kernels.fallback)
        install_generators(self.machine, self._replacements)
        Streams(self.machine).install(self._replacements)


def _opened(card: PhysicalGPU) -> pool.Driver:
    """Returns the memory of a card, as large as CUDA reports it; nbtf's own pools may use it already."""
    memory: pool.Driver = CURRENT.context.gpus.opened(card) or pool.Driver(card.memory_bytes)
    memory.total = min(memory.total, reported_bytes(card))
    return memory


def _of_device(cuda: Any, answer: Callable[[int], Any]) -> Callable[..., Any]:
    """Returns a function that takes a device as users name it; the default is the current device."""

    def ask(device: Any = None) -> Any:
        return answer(cuda._utils._get_device_index(device, optional=True))

    return ask


class _Engine:
    """Replaces the PyTorch autograd engine: backward runs on the calling thread, since devices have no threads."""

    def __init__(self, torch: Any) -> None:
        self._engine = torch.autograd.Variable._execution_engine
        self._is_multithreaded = torch.autograd.set_multithreading_enabled

    def run_backward(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the backward pass."""
        with self._is_multithreaded(False):
            return self._engine.run_backward(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)
