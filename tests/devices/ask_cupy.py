"""What the real CuPy says where there is no GPU: a program that asks it and writes the answers to a file, as JSON.

The tests run it in a process of its own: CuPy stays out of the process in which they pretend to have another one.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import cupy  # pyright: ignore[reportMissingImports]
import numpy as np
from cupy.cuda import memory  # pyright: ignore[reportMissingImports]

from nbtf.errors import InvalidArgumentError
from tests.devices.kernel_calls import WAITS, Asked, Listed, runs_on_gpus

# Section by section what the CUDA device uses of CuPy, whether always or only where it is there.
SURFACE = (
    *"cuda.is_available cuda.Device cuda.Stream cuda.Stream.null cuda.Event cuda.get_current_stream".split(),
    *"cuda.get_elapsed_time cuda.MemoryPool cuda.using_allocator cuda.get_allocator cuda.UnownedMemory".split(),
    *"cuda.MemoryPointer cuda.Memory cuda.alloc cuda.MemoryHook".split(),
    *"cuda.memory.OutOfMemoryError cuda.memory.SingleDeviceMemoryPool".split(),
    *"cuda.memory._get_thread_local_allocator cuda.memory._set_thread_local_allocator".split(),
    *"cuda.runtime.CUDARuntimeError cuda.runtime.getDevice cuda.runtime.setDevice".split(),
    *"cuda.runtime.getDeviceCount cuda.runtime.getDeviceProperties cuda.runtime.deviceGetPCIBusId".split(),
    *"cuda.runtime.memGetInfo cuda.runtime.deviceCanAccessPeer cuda.runtime.memcpyAsync".split(),
    *"cuda.runtime.driverGetVersion cuda.runtime.is_hip".split(),
    *"cuda.driver.CUDADriverError cuda.compiler.CompileException cuda.nvrtc.NVRTCError".split(),
    *"_core._routines_linalg.set_compute_type _core._routines_linalg.get_compute_type".split(),
    *"get_default_pinned_memory_pool from_dlpack ElementwiseKernel ReductionKernel".split(),
)
PARAMETERS = {
    "cuda.Stream": ("null", "non_blocking"),
    "cuda.Event": ("block", "disable_timing"),
    "cuda.UnownedMemory": ("ptr", "size", "owner", "device_id"),
    "ndarray.get": ("stream", "order", "out", "blocking"),
    "from_dlpack": ("x", "device", "copy"),
}
"""Parameters that the device passes by name."""
LACKING = object()


def found(path: str) -> Any:
    """Returns what is at a path in CuPy; `LACKING` where nothing is."""
    part: Any = cupy
    for name in path.split("."):
        part = getattr(part, name, LACKING)
    return part


def lacking_parameters() -> list[str]:
    """Returns the parameters that functions and classes do not have, as far as their signature or docstring says."""
    return [
        f"{path}({name})"
        for path, names in PARAMETERS.items()
        for name in names
        if name not in _words_about(found(path))
    ]


def _words_about(function: Any) -> str:
    try:
        return str(inspect.signature(function))
    except (TypeError, ValueError):  # compiled: the first line of the docstring has the signature
        return f"{inspect.getdoc(function)} {inspect.getdoc(getattr(function, '__init__', None))}"


def host_block(nbytes: int) -> Any:
    """Returns memory of the host that CuPy takes for a card's. It is never read: nothing can be launched here."""
    owner = np.empty(max(nbytes, 1), np.uint8)
    return cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(owner.ctypes.data, nbytes, owner, 0), 0)


def as_cupys(value: Any) -> Any:
    """Returns arguments of a call with CuPy's arrays for those of the pretended device."""
    if isinstance(value, Listed):
        return cupy.ndarray(value.shape, value.dtype, memptr=host_block(value.nbytes))
    return type(value)(as_cupys(one) for one in value) if type(value) in (tuple, list) else value


def outcome(asked: Asked) -> str:
    """Returns how far a call got: `returned`, `launched`, `library` (one is not installed), or why CuPy refused."""
    try:
        with cupy.cuda.using_allocator(host_block):
            args = as_cupys(asked.args)
            kwargs = {name: as_cupys(value) for name, value in asked.kwargs.items()}
            if asked.path[0] == ".":
                getattr(args[0], asked.path[1:])(*args[1:], **kwargs)
            else:
                found(asked.path)(*args, **kwargs)
        return "returned"
    except cupy.cuda.runtime.CUDARuntimeError:
        return "launched"
    except ImportError as error:
        return "library" if str(error).startswith("Failure finding") else f"{error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def kernels() -> dict[str, Any]:
    """Asks CuPy all that kernels ask: counts how far calls got, what was refused, and which ops wait for values."""
    far, refused, waits = Counter[str](), dict[str, str](), set[str]()
    for run in runs_on_gpus():
        try:
            calls = run.asks()
        except (ValueError, InvalidArgumentError):  # a dtype that the values of this sample do not suit
            continue
        for asked in calls:
            if asked.path.lstrip(".") in WAITS:
                waits.add(run.op.type)
                continue
            how = outcome(asked)
            known = how in ("returned", "launched", "library")
            far[how if known else "refused"] += 1
            if not known:
                refused.setdefault(f"{run.op.type}: {asked}", how)
    return {"far": far, "refused": refused, "waits": sorted(waits)}


class Owner:
    """Keeps memory of the host, and says when it dies."""

    def __init__(self, freed: list[str]) -> None:
        """Takes memory."""
        self.host, self.freed = np.empty(64, np.uint8), freed

    def __del__(self) -> None:
        """Says that it is free."""
        self.freed.append("freed")


def allocators() -> dict[str, Any]:
    """Asks what the device's memory relies on: owners die with the last view, errors pass, threads are apart."""
    freed: list[str] = []
    owner = Owner(freed)
    pointer = cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(owner.host.ctypes.data, 64, owner, 0), 0)
    array = cupy.ndarray((16,), np.float32, memptr=pointer)
    del owner, pointer
    view = array[2:].reshape(7, 2)
    del array
    while_viewed = list(freed)
    del view

    class RefusedError(Exception):
        pass

    def refuse(nbytes: int) -> Any:
        raise RefusedError(nbytes)

    sizes: list[int] = []
    with cupy.cuda.using_allocator(lambda n: sizes.append(n) or host_block(n)):
        cupy.empty((0,), np.float32)
        cupy.empty((3, 5), np.float16)
    try:
        with cupy.cuda.using_allocator(refuse):
            cupy.empty(4, np.float32)
        passed = "nothing was raised"
    except RefusedError as error:
        passed = repr(error)
    before = memory._get_thread_local_allocator()
    memory._set_thread_local_allocator(refuse)
    swapped = memory._get_thread_local_allocator() is refuse
    memory._set_thread_local_allocator(before)
    return {
        "freed while viewed": while_viewed,
        "freed after": freed,
        "sizes": sizes,
        "passed": passed,
        "swapped": swapped,
        "restored": memory._get_thread_local_allocator() is before,
    }


def main() -> None:
    """Writes all answers to the file that is named on the command line."""
    names = Path(__file__).parents[1].joinpath("ops/cupy14_names.txt").read_text(encoding="utf-8").splitlines()
    answers = {
        "version": cupy.__version__,
        "available": cupy.cuda.is_available(),
        "lacking": [path for path in SURFACE if found(path) is LACKING],
        "lacking parameters": lacking_parameters(),
        "lacking names": [name for name in names if name[0] != "#" and found(name) is LACKING],
        "kernels": kernels(),
        "allocators": allocators(),
    }
    Path(sys.argv[1]).write_text(json.dumps(answers), encoding="utf-8")


if __name__ == "__main__":
    main()
