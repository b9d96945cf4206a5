"""What of CuPy does the CUDA device use?"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

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
    *"cuda.get_cublas_handle cuda.runtime.deviceEnablePeerAccess cuda.runtime.memcpyDefault".split(),
    *"asarray ascontiguousarray empty ndarray".split(),
    *"get_default_pinned_memory_pool from_dlpack ElementwiseKernel ReductionKernel".split(),
)
"""Whether always, or only where it is there."""
PARAMETERS = {
    "cuda.Stream": ("null", "non_blocking"),
    "cuda.Event": ("block", "disable_timing"),
    "cuda.UnownedMemory": ("ptr", "size", "owner", "device_id"),
    "ndarray.get": ("stream", "order", "out", "blocking"),
    "from_dlpack": ("x", "device", "copy"),
}
"""Parameters that the device passes by name."""

DEVICE = sorted(Path(__file__).parents[2].glob("nbtf/_devices/cuda/*.py"))
# What parts of CuPy are called in the files of the device.
PARTS = {
    "cupy": "",
    "self.xp": "",
    "self._cupy": "",
    "cuda": "cuda.",
    "runtime": "cuda.runtime.",
    "self._runtime": "cuda.runtime.",
}


def used_by_the_device() -> set[str]:
    """Returns the paths in CuPy that the files of the device mention."""
    return {path for file in DEVICE for path in _used(ast.parse(file.read_text(encoding="utf-8")))}


def _used(tree: ast.AST) -> Iterator[str]:
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and id(node) not in inner:
            yield from _path(ast.unparse(node))
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) == "getattr"
            and isinstance(node.args[1], ast.Constant)
        ):
            yield from _path(f"{ast.unparse(node.args[0])}.{node.args[1].value}")


def _path(text: str) -> Iterator[str]:
    for name, part in PARTS.items():
        if text.startswith(f"{name}.") and text.removeprefix(f"{name}.").replace(".", "").replace("_", "").isalnum():
            path = part + text.removeprefix(f"{name}.")
            if path not in ("cuda", "cuda.runtime", "cuda.memory", "__version__"):
                yield path
