"""What do CuPy and PyTorch keep on a card, in a process that has imported them? Looking imports and starts nothing."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

from nbtf import runtime


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
    if not has_context(ordinal):  # to enter the device would make one, some hundred MiB
        return None
    with cupy.cuda.Device(ordinal):
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


def uuids() -> dict[str, int]:
    """Returns the numbers of the cards that PyTorch has begun to use, by their UUIDs; nothing before it has."""
    torch = sys.modules.get("torch")
    try:
        if torch is None or not torch.cuda.is_initialized():
            return {}
        count = torch.cuda.device_count()
        return {f"GPU-{torch.cuda.get_device_properties(number).uuid}": number for number in range(count)}
    except Exception:  # older releases do not tell UUIDs
        return {}


# Arrays


class Arrays(NamedTuple):
    """The arrays of a library: their class, what tells which memory one holds, and how one is written in few words.

    `gradient` returns the array that another one keeps where Python cannot see it; None where it keeps none.
    """

    library: str
    kind: type
    held: Callable[[Any], runtime.Holding | None]
    described: Callable[[Any], str]
    gradient: Callable[[Any], Any] = lambda array: None


def arrays() -> list[Arrays]:
    """Returns the arrays of the libraries that this process has imported."""
    found: list[Arrays] = []
    for name, look in (("torch", _torch_tensors), ("cupy", _cupy_arrays)):
        module = sys.modules.get(name)
        if module is not None:
            try:
                found.append(look(module))
            except Exception:  # half-imported: it has no arrays yet
                continue
    return found


def _torch_tensors(torch: Any) -> Arrays:
    # Classes that users derive may run code of theirs for each attribute; here nothing of it runs.
    plain: Any = getattr(torch._C, "DisableTorchFunctionSubclass", nullcontext)

    def held(tensor: Any) -> runtime.Holding | None:
        try:
            with plain():
                if tensor.device.type not in DEVICE_TYPES:
                    return None
                storage = tensor.untyped_storage()
                return _holding(tensor.device.index or 0, storage.data_ptr(), storage.nbytes())
        except Exception:  # tensors without memory, of which there are many kinds, complain in as many ways
            return None

    def described(tensor: Any) -> str:
        with plain():
            return f"{list(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"

    def gradient(tensor: Any) -> Any:
        with plain():
            return tensor.grad if tensor.is_leaf else None  # of others PyTorch warns

    return Arrays("PyTorch", torch.Tensor, held, described, gradient)


def _cupy_arrays(cupy: Any) -> Arrays:
    def held(array: Any) -> runtime.Holding | None:
        try:
            memory = array.data
            return _holding(memory.device_id, memory.mem.ptr, memory.mem.size)
        except Exception:  # a device that was lost
            return None

    def described(array: Any) -> str:
        return f"{list(array.shape)} {array.dtype}"

    return Arrays("CuPy", cupy.ndarray, held, described)


DEVICE_TYPES = ("cuda",)
"""Where PyTorch's tensors are that take memory of a card."""


def _holding(ordinal: int, address: int, nbytes: int) -> runtime.Holding | None:
    return runtime.Holding(f"cuda:{ordinal}", 0, address, nbytes, nbytes, -1) if address and nbytes else None
