"""Builds a guard for devices of type `cuda`, for PyTorch 2.9, whose core has none for devices that do not exist.

Most of its functions are those of the guard of meta tensors, which does nothing. Only nbtf changes the current device
of a thread, so the functions with which C++ changes it do nothing. Every stream is the default stream of its device.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import sys
import threading
from functools import cache, partial
from typing import Any

from nbtf._frameworks.torch.simulation.core_layout import CoreLayout
from nbtf._frameworks.torch.simulation.core_tables import BEFORE, CUDA, META, copy_with, keep, object_with, table_of
from nbtf._frameworks.torch.simulation.releases import NoSimulationError

_Byte = ctypes.CFUNCTYPE(ctypes.c_int8, ctypes.c_void_p)
_Device = ctypes.CFUNCTYPE(ctypes.c_uint16, ctypes.c_void_p)

_DEFAULT_STREAM = bytes.fromhex("0fb7c6 31d2 c3")
"""The x86-64 instructions of `Stream f(Guard* guard, Device device) { return Stream(Stream::DEFAULT, device); }`.

They are `movzx eax, si; xor edx, edx; ret`: a stream consists of its device and its number. ctypes cannot return it.
"""


class _Current(threading.local):
    """The current device of a thread, as the core represents it: the type in one byte, the number in the next."""

    device = CUDA
    count = 0


CURRENT = _Current()


def make_guard(torch: Any, registry: Any, layout: CoreLayout, count: int) -> int:
    """Returns the address of a guard.

    Args:
      torch: PyTorch.
      registry: the guard of each device type.
      layout: the layout of the core.
      count: the number of devices that it counts.

    Raises:
      NoSimulationError: if this computer is not one with Linux and an x86-64 processor.
    """
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        raise NoSimulationError(
            f"In PyTorch {torch.__version__}, GPUs can be simulated only on Linux with an x86-64 processor. "
            "Use PyTorch 2.10 or newer."
        )
    _Current.count = count
    slots, of_meta = layout.guard, table_of(registry[META], layout.guard_count)
    true, nothing = of_meta[BEFORE + slots["queryStream"]], of_meta[BEFORE + slots["setDevice"]]
    stream = _default_stream()
    # `partial` and `getattr` are C functions: Python code would lose an interrupt that arrives while it runs.
    current = _Device(partial(getattr, CURRENT, "device"))
    functions = {
        "type": true,  # which is 1, the type of CUDA devices
        "exchangeDevice": current,
        "getDevice": current,
        "getStream": stream,
        "getNewStream": stream,
        "exchangeStream": stream,
        "record": nothing,
        "block": nothing,
        "queryEvent": true,
        "deviceCount": _Byte(partial(getattr, CURRENT, "count")),
    }
    return object_with(copy_with(of_meta, {slots[name]: function for name, function in functions.items()}))


@cache
def _default_stream() -> int:
    """Returns the address of the function that returns the default stream of a device."""
    pages = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    pages.write(_DEFAULT_STREAM)
    keep(pages)
    return ctypes.addressof(ctypes.c_char.from_buffer(pages))
