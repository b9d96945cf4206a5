"""How does a tensor on a simulated device lie over one of the CPU?

Both are PyTorch's own and share the memory. They are made of each other by DLPack, whose description of a tensor names
a device. A host tensor lives as long as the storage that was made of it.
"""

from __future__ import annotations

import ctypes
from typing import Any

# dlpack.h: DLTensor is the first member of DLManagedTensor, and begins with the address and the device.
_DEVICE_TYPE, _DEVICE_NUMBER = 8, 12
_CPU, _CUDA = 1, 2

_pointer: Any = ctypes.pythonapi.PyCapsule_GetPointer
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_int32 = ctypes.c_int32.from_address


class Tensors:
    """Makes tensors of simulated devices of those of the CPU, and back."""

    def __init__(self, torch: Any) -> None:
        """Takes what is called for each op out of PyTorch."""
        self._export, self._import = torch._C._to_dlpack, torch._C._from_dlpack

    def on_card(self, tensor: Any, number: int) -> Any:
        """Returns a tensor of `cuda:number` over a host tensor, which it keeps alive."""
        capsule = self._export(tensor)
        address: Any = _pointer(capsule, b"dltensor")
        _int32(address + _DEVICE_TYPE).value = _CUDA
        _int32(address + _DEVICE_NUMBER).value = number
        return self._import(capsule)

    def on_host(self, tensor: Any) -> Any:
        """Returns a host tensor over the memory of one on a simulated device."""
        capsule = self._export(tensor)
        address: Any = _pointer(capsule, b"dltensor")
        _int32(address + _DEVICE_TYPE).value = _CPU
        _int32(address + _DEVICE_NUMBER).value = 0
        return self._import(capsule)
