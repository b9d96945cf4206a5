"""Reads the C++ objects of the PyTorch core that know about devices, and copies their tables of virtual functions."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from nbtf._frameworks.torch.simulation.releases import not_understood

# c10/core/DeviceType.h
CUDA, LAZY = 1, 17
BEFORE = 2
"""Words before a table of virtual functions: the offset to the top and the type."""

_REGISTRY = "_ZN3c104impl26device_guard_impl_registryE"
_HOOKS = "_ZN2at6detail12getCUDAHooksEv"
_HOOKS_TABLE = "_ZTVN2at18CUDAHooksInterfaceE"
"""The functions of the hooks in a build without CUDA."""
_OTHER_ALLOCATOR = "_ZN3c1028GetDefaultMobileCPUAllocatorEv"
"""A second allocator for the CPU, whose memory can be recognized; see `pinning.py`."""

_WORD = ctypes.sizeof(ctypes.c_void_p)

_KEPT: list[Any] = []
"""Memory that the core uses until the process ends."""


class Core(NamedTuple):
    """The objects of the core; all but the registry by address."""

    registry: Any
    """The guard of each device type."""
    hooks: int
    hooks_table: int
    """The functions of hooks without CUDA: they answer that libraries such as cuDNN are missing."""
    allocator: int
    """The second CPU allocator."""


def core_of(torch: Any, is_with_cuda: bool) -> Core:
    """Returns the objects of the core.

    Args:
      torch: PyTorch.
      is_with_cuda: whether it was built with CUDA, whose hooks have other functions.

    Raises:
      NoSimulationError: if the core lacks one of them.
    """
    folder = Path(torch.__file__).parent / "lib"
    suffix = next((suffix for suffix in (".so", ".dylib") if (folder / f"libc10{suffix}").exists()), None)
    if suffix is None:
        raise not_understood(torch)
    try:
        base = ctypes.CDLL(str(folder / f"libc10{suffix}"))
        registry = (ctypes.c_void_p * (LAZY + 1)).in_dll(base, _REGISTRY)
        get_allocator = getattr(base, _OTHER_ALLOCATOR)
        library = ctypes.CDLL(str(folder / f"libtorch_cpu{suffix}"))
        get_hooks = getattr(library, _HOOKS)
        get_hooks.restype = get_allocator.restype = ctypes.c_void_p
        hooks = get_hooks()
        table = ctypes.c_void_p.from_address(hooks).value or 0
        if is_with_cuda:
            table = ctypes.addressof(ctypes.c_void_p.in_dll(library, _HOOKS_TABLE)) + BEFORE * _WORD
    except (OSError, ValueError, AttributeError):
        raise not_understood(torch) from None
    return Core(registry, hooks, table, get_allocator())


def table_of(owner: int, count: int) -> Any:
    """Returns an object's table of virtual functions, including the words before it."""
    return table_at(ctypes.c_void_p.from_address(owner).value or 0, count)


def table_at(address: int, count: int) -> Any:
    """Returns a table of virtual functions, including the words before it."""
    return (ctypes.c_void_p * (BEFORE + count)).from_address(address - BEFORE * _WORD)


def function_of(owner: int, slot: int, prototype: Any) -> Any:
    """Returns a virtual function of an object."""
    return prototype(table_of(owner, slot + 1)[BEFORE + slot])


def copy_with(table: Any, answers: Mapping[int, Any]) -> int:
    """Returns the address of a copy of a table with some functions replaced, by their slots."""
    words = table.__class__(*table)
    for slot, answer in answers.items():
        words[BEFORE + slot] = answer if isinstance(answer, int) else ctypes.cast(answer, ctypes.c_void_p)
    _KEPT.append((words, answers))
    return ctypes.addressof(words) + BEFORE * _WORD
