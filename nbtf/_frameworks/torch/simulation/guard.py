"""Tells the PyTorch core that devices of type `cuda` exist, in a build that has none, or on a computer without them.

The core asks two objects. The first is the guard of a device type, in the table
`c10::impl::device_guard_impl_registry`. PyTorch has a guard for devices that do not exist, `FakeGuardImpl`.
`_ensureCUDADeviceGuardSet` registers it if the current guard counts no devices, so such a guard is registered first.
The second object, `at::detail::getCUDAHooks()`, reports whether CUDA is available; its answer becomes yes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from nbtf._frameworks.torch.simulation.core_layout import CoreLayout
from nbtf._frameworks.torch.simulation.core_tables import (
    BEFORE,
    CUDA,
    LAZY,
    copy_with,
    core_of,
    function_of,
    table_at,
    table_of,
)
from nbtf._frameworks.torch.simulation.releases import not_understood

MOST_DEVICES = 8
"""Number of devices of the fake guard in PyTorch. Source: c10/core/impl/FakeGuardImpl.h, kFakeGuardImplMaxDevices."""

_Byte = ctypes.CFUNCTYPE(ctypes.c_int8, ctypes.c_void_p)
_Device = ctypes.CFUNCTYPE(ctypes.c_uint16, ctypes.c_void_p)
_OnDevice = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint16)
_Init = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Allocator = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


class Guard:
    """Reports to the core that devices exist, and which one is current in a thread."""

    def __init__(self, torch: Any, layout: CoreLayout, is_with_cuda: bool, device_count: Callable[[], int]) -> None:
        """Registers the devices with the core.

        Args:
          torch: a PyTorch that can use no card.
          layout: the layout of its core.
          is_with_cuda: whether it was built with CUDA.
          device_count: returns the number of devices.

        Raises:
          NoSimulationError: if its core is not as expected.
        """
        core, slots = core_of(torch, is_with_cuda), layout.guard
        _register_fake_guard(torch, core.registry, layout)
        self._guard = guard = core.registry[CUDA]
        self._set = function_of(guard, slots["setDevice"], _OnDevice)
        self._get = function_of(guard, slots["getDevice"], _Device)
        if (
            function_of(guard, slots["deviceCount"], _Byte)(guard) != MOST_DEVICES
            or function_of(guard, slots["type"], _Byte)(guard) != CUDA
            or self._get(guard) != CUDA | self.current << 8
        ):
            raise not_understood(torch)
        self.current = 0  # the core's guard outlives the devices, and with it what `torch.cuda.set_device` has set

        def count(_hooks: object) -> int:
            return device_count()

        def current(_hooks: object) -> int:
            return self.current

        def pinned_allocator(_hooks: object) -> int:
            return core.allocator

        self._table = ctypes.c_void_p.from_address(core.hooks)
        self._previous_table = self._table.value
        # C++ functions where possible: a Python callback would lose an interrupt that arrives while it runs.
        of_guard, of_hooks = table_of(guard, layout.guard_count), table_at(core.hooks_table, layout.hooks_count)
        yes, no = of_guard[BEFORE + slots["queryEvent"]], of_hooks[BEFORE + layout.hooks["hasCUDA"]]
        # Callbacks of futures run on a stream from a pool, which the fake guard lacks: they get the current stream.
        self._guard_table = ctypes.c_void_p.from_address(guard)
        self._previous_guard_table = self._guard_table.value
        from_pool = {slots["getStreamFromGlobalPool"]: of_guard[BEFORE + slots["getStream"]]}
        self._guard_table.value = copy_with(of_guard, from_pool)
        answers = {
            "isBuilt": yes,
            "isAvailable": yes,
            "hasCUDA": yes,
            "hasPrimaryContext": no,
            "init": _Init(_nothing),
            "deviceCount": _Byte(count),
            "getCurrentDevice": _Byte(current),
            "isPinnedPtr": yes,  # for C++, which asks about memory that it has pinned; for Python see `pinning.py`
            "getPinnedMemoryAllocator": _Allocator(pinned_allocator),
        }
        self._table.value = copy_with(of_hooks, {layout.hooks[name]: answer for name, answer in answers.items()})

    @property
    def current(self) -> int:
        """The number of this thread's current device."""
        return self._get(self._guard) >> 8

    @current.setter
    def current(self, number: int) -> None:
        self._set(self._guard, CUDA | number << 8)

    def remove(self) -> None:
        """Reports that CUDA is not available; the guard stays, but is not called any more."""
        self._table.value = self._previous_table
        self._guard_table.value = self._previous_guard_table


def _register_fake_guard(torch: Any, registry: Any, layout: CoreLayout) -> None:
    """Registers PyTorch's guard for devices that do not exist, unless it is already registered.

    Raises:
      NoSimulationError: if the core is not as expected.
    """
    if registry[CUDA]:  # the fake guard, or that of a build with CUDA
        torch._C._ensureCUDADeviceGuardSet()
        return
    lazy = registry[LAZY]
    if not lazy or function_of(lazy, layout.guard["type"], _Byte)(lazy) != LAZY:
        raise not_understood(torch)
    if function_of(lazy, layout.guard["deviceCount"], _Byte)(lazy):
        raise not_understood(torch)
    registry[CUDA] = lazy
    torch._C._ensureCUDADeviceGuardSet()
    if registry[CUDA] == lazy:
        registry[CUDA] = None
        raise not_understood(torch)


def _nothing(_hooks: object) -> None:
    return
