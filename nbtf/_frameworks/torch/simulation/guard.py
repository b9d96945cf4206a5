"""Tells the PyTorch core that devices of type `cuda` exist, in a build that has none.

The core asks two objects. The first is the guard of a device type, in the table
`c10::impl::device_guard_impl_registry`. PyTorch has a guard for devices that do not exist, `FakeGuardImpl`.
`_ensureCUDADeviceGuardSet` registers it if the current guard counts no devices, so such a guard is registered first.
The second object, `at::detail::getCUDAHooks()`, reports whether CUDA is available; its answer becomes yes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

MOST_DEVICES = 8
"""Number of devices of the fake guard in PyTorch. Source: c10/core/impl/FakeGuardImpl.h, kFakeGuardImplMaxDevices."""

# c10/core/DeviceType.h
_CUDA, _LAZY = 1, 17
# Slots of virtual functions. Sources: c10/core/impl/DeviceGuardImplInterface.h, ATen/detail/CUDAHooksInterface.h and
# AcceleratorHooksInterface.h of PyTorch 2.13. Functions that are not named here are copied unchanged.
_TYPE, _GET_DEVICE, _SET_DEVICE, _GET_STREAM, _STREAM_FROM_POOL, _QUERY_EVENT, _DEVICE_COUNT = 0, 2, 3, 5, 7, 14, 15
_GUARD_SLOTS = 26
_IS_BUILT, _IS_AVAILABLE, _HAS_CONTEXT, _INIT, _COUNT, _CURRENT, _HAS_CUDA, _HOOKS_SLOTS = 2, 3, 4, 5, 6, 8, 16, 56
_IS_PINNED, _PINNED_ALLOCATOR = 11, 12
_BEFORE = 2
"""Words before a table of virtual functions: the offset to the top and the type."""

_REGISTRY = "_ZN3c104impl26device_guard_impl_registryE"
_HOOKS = "_ZN2at6detail12getCUDAHooksEv"
_OTHER_ALLOCATOR = "_ZN3c1028GetDefaultMobileCPUAllocatorEv"
"""A second allocator for the CPU, whose memory can be recognized; see `pinning.py`."""

_WORD = ctypes.sizeof(ctypes.c_void_p)
_Bool = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)
_Byte = ctypes.CFUNCTYPE(ctypes.c_int8, ctypes.c_void_p)
_Device = ctypes.CFUNCTYPE(ctypes.c_uint16, ctypes.c_void_p)
_OnDevice = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint16)
_Init = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Allocator = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)

_KEPT: list[Any] = []
"""Keeps the tables alive: PyTorch reads them until the process ends."""


class NoSimulationError(NotImplementedError):
    """This build of PyTorch does not support simulated GPUs."""


class Guard:
    """Reports to the core that devices exist, and which one is current in a thread."""

    def __init__(self, torch: Any, device_count: Callable[[], int]) -> None:
        """Registers the devices with the core.

        Args:
          torch: a PyTorch without CUDA.
          device_count: returns the number of devices.

        Raises:
          NoSimulationError: if PyTorch has CUDA itself, or if its core is not as expected.
        """
        registry, hooks, allocator = _core(torch)
        if torch.version.cuda or torch.version.hip or _function(hooks, _HAS_CUDA, _Bool)(hooks):
            raise NoSimulationError("This PyTorch can use CUDA. Simulated GPUs need a PyTorch build for the CPU.")
        if not registry[_CUDA]:
            lazy = registry[_LAZY]
            if not lazy or _function(lazy, _TYPE, _Byte)(lazy) != _LAZY or _function(lazy, _DEVICE_COUNT, _Byte)(lazy):
                raise _not_understood(torch)
            registry[_CUDA] = lazy
            torch._C._ensureCUDADeviceGuardSet()
            if registry[_CUDA] == lazy:
                registry[_CUDA] = None
                raise _not_understood(torch)
        guard = self._guard = registry[_CUDA]
        self._get, self._set = (_function(guard, _GET_DEVICE, _Device), _function(guard, _SET_DEVICE, _OnDevice))
        if (
            self._get(guard) != _CUDA | self.current << 8
            or _function(guard, _DEVICE_COUNT, _Byte)(guard) != MOST_DEVICES
        ):
            raise _not_understood(torch)
        self.current = 0  # the core's guard outlives the devices, and with it what `torch.cuda.set_device` has set

        def count(_hooks: object) -> int:
            return device_count()

        def current(_hooks: object) -> int:
            return self.current

        def pinned_allocator(_hooks: object) -> int:
            return allocator

        self._table = ctypes.c_void_p.from_address(hooks)
        self._previous_table = self._table.value
        # C++ functions where possible: a Python callback would lose an interrupt that arrives while it runs.
        of_guard = _words(guard, _GUARD_SLOTS)
        yes, no = of_guard[_BEFORE + _QUERY_EVENT], _words(hooks, _HOOKS_SLOTS)[_BEFORE + _HAS_CUDA]
        # Callbacks of futures run on a stream from a pool, which the fake guard lacks: they get the current stream.
        self._guard_table = ctypes.c_void_p.from_address(guard)
        self._previous_guard_table = self._guard_table.value
        self._guard_table.value = _copy(guard, _GUARD_SLOTS, {_STREAM_FROM_POOL: of_guard[_BEFORE + _GET_STREAM]})
        self._table.value = _copy(
            hooks,
            _HOOKS_SLOTS,
            {
                _IS_BUILT: yes,
                _IS_AVAILABLE: yes,
                _HAS_CUDA: yes,
                _HAS_CONTEXT: no,
                _INIT: _Init(_nothing),
                _COUNT: _Byte(count),
                _CURRENT: _Byte(current),
                _IS_PINNED: yes,  # for C++, which asks about memory that it has pinned; for Python see `pinning.py`
                _PINNED_ALLOCATOR: _Allocator(pinned_allocator),
            },
        )

    @property
    def current(self) -> int:
        """The number of this thread's current device."""
        return self._get(self._guard) >> 8

    @current.setter
    def current(self, number: int) -> None:
        self._set(self._guard, _CUDA | number << 8)

    def remove(self) -> None:
        """Reports that CUDA is not available; the guard stays, but is not called any more."""
        self._table.value = self._previous_table
        self._guard_table.value = self._previous_guard_table


def _core(torch: Any) -> tuple[Any, int, int]:
    """Returns the table of guards, and the addresses of the hooks and of the second CPU allocator."""
    folder = Path(torch.__file__).parent / "lib"
    suffix = next((suffix for suffix in (".so", ".dylib") if (folder / f"libc10{suffix}").exists()), None)
    if suffix is None:
        raise _not_understood(torch)
    try:
        base = ctypes.CDLL(str(folder / f"libc10{suffix}"))
        registry = (ctypes.c_void_p * (_LAZY + 1)).in_dll(base, _REGISTRY)
        get_allocator = getattr(base, _OTHER_ALLOCATOR)
        get_hooks = getattr(ctypes.CDLL(str(folder / f"libtorch_cpu{suffix}")), _HOOKS)
    except (OSError, ValueError, AttributeError):
        raise _not_understood(torch) from None
    get_hooks.restype = get_allocator.restype = ctypes.c_void_p
    return registry, get_hooks(), get_allocator()


def _nothing(_hooks: object) -> None:
    return


def _words(owner: int, count: int) -> Any:
    """Returns an object's table of virtual functions, including the words before it."""
    table = ctypes.c_void_p.from_address(owner).value or 0
    return (ctypes.c_void_p * (_BEFORE + count)).from_address(table - _BEFORE * _WORD)


def _function(owner: int, slot: int, prototype: Any) -> Any:
    return prototype(_words(owner, slot + 1)[_BEFORE + slot])


def _copy(owner: int, count: int, answers: Mapping[int, Any]) -> int:
    """Returns the address of a copy of an object's table with some functions replaced."""
    words = (ctypes.c_void_p * (_BEFORE + count))(*_words(owner, count))
    for slot, answer in answers.items():
        words[_BEFORE + slot] = answer if isinstance(answer, int) else ctypes.cast(answer, ctypes.c_void_p)
    _KEPT.append((words, answers))
    return ctypes.addressof(words) + _BEFORE * _WORD


def _not_understood(torch: Any) -> NoSimulationError:
    return NoSimulationError(
        f"GPUs cannot be simulated in this PyTorch ({torch.__version__}): its core is not as expected. "
        "Use PyTorch 2.13 for the CPU on Linux or macOS."
    )
