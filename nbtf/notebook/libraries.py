"""What do CuPy and PyTorch keep on a card, in a process that has imported them? Looking imports and starts nothing."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any, NamedTuple


class Pool(NamedTuple):
    """What a library's allocator has taken from one card, and what of it arrays use; in bytes.

    `returns` is the line that gives the card what no array uses.
    """

    library: str
    taken: int
    in_use: int
    returns: str


def pools(ordinal: int) -> list[Pool]:
    """Returns the pools that libraries of this process have on a card.

    Args:
      ordinal: the card's number as CUDA counts in this process.
    """
    found = [_pool(name, look, ordinal) for name, look in (("torch", _of_torch), ("cupy", _of_cupy))]
    return [pool for pool in found if pool is not None and pool.taken]


def _pool(name: str, look: Callable[[Any, int], Pool | None], ordinal: int) -> Pool | None:
    module = sys.modules.get(name)
    if module is None:
        return None
    try:
        return look(module, ordinal)
    except Exception:  # whatever another library raises: a half-finished import, a lost card; nobody asked it to work
        return None


def _of_torch(torch: Any, ordinal: int) -> Pool | None:
    if not torch.cuda.is_initialized():
        return None
    taken, in_use = torch.cuda.memory_reserved(ordinal), torch.cuda.memory_allocated(ordinal)
    return Pool("PyTorch", int(taken), int(in_use), "torch.cuda.empty_cache()")


def _of_cupy(cupy: Any, ordinal: int) -> Pool | None:
    if cupy.cuda.runtime.getDevice() == ordinal:
        return _default_pool(cupy)
    if not has_context(ordinal):  # to enter the device would make one, some hundred MiB
        return None
    with cupy.cuda.Device(ordinal):
        return _default_pool(cupy)


def _default_pool(cupy: Any) -> Pool:
    pool = cupy.get_default_memory_pool()
    line = "cupy.get_default_memory_pool().free_all_blocks()"
    return Pool("CuPy", int(pool.total_bytes()), int(pool.used_bytes()), line)


def has_context(ordinal: int) -> bool:
    """Says whether this process has begun to use a card. Asks the driver, which starts nothing for it.

    Source: NVIDIA, CUDA Driver API, `cuDevicePrimaryCtxGetState`; before `cuInit` it answers with an error.
    """
    try:
        driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    device, flags, active = ctypes.c_int(), ctypes.c_uint(), ctypes.c_int()
    if driver.cuDeviceGet(ctypes.byref(device), ordinal):
        return False
    failed = driver.cuDevicePrimaryCtxGetState(device, ctypes.byref(flags), ctypes.byref(active))
    return not failed and bool(active.value)
