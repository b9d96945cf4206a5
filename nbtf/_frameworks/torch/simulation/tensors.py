"""What lies under a tensor on a simulated device: one of the CPU, or an outline without values?

Both are PyTorch's own. A tensor of a device is made of one of the CPU by DLPack, whose description of a tensor names a
device: they share the memory, and the tensor of the CPU lives as long as the storage that was made of it.
"""

from __future__ import annotations

import ctypes
from typing import Any

# dlpack.h: DLTensor is the first member of DLManagedTensor, and begins with the address and the device.
_DEVICE_TYPE, _DEVICE_NUMBER = 8, 12
_CPU, _CUDA = 1, 2

_pointer: Any = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_int32 = ctypes.c_int32.from_address


class Tensors:
    """Makes tensors of simulated devices of those of the CPU, and back."""

    has_values = True

    def __init__(self, torch: Any) -> None:
        """Takes what is called for each op out of PyTorch."""
        self.device = torch.device("cpu")
        """Where the tensors below are."""
        self._empty_like = torch.empty_like
        self._conjugate, self._negative = torch.ops.aten._conj.default, torch.ops.aten._neg_view.default
        self._export, self._import = torch._C._to_dlpack, torch._C._from_dlpack

    def on_card(self, tensor: Any, number: int, memory: Any) -> Any:
        """Returns a tensor of `cuda:number` over one below, which it keeps alive, and with it a piece of memory."""
        if tensor.is_conj() or tensor.is_neg():
            tensor = tensor.resolve_conj().resolve_neg()
        if tensor._is_zerotensor():  # such as gradients that are known to be 0: they have no memory
            tensor = self._empty_like(tensor).zero_()
        tensor._card_memory = memory
        if memory is not None:
            memory.host = tensor.data_ptr()
        capsule = self._export(tensor)
        address: Any = _pointer(capsule, b"dltensor")
        _int32(address + _DEVICE_TYPE).value = _CUDA
        _int32(address + _DEVICE_NUMBER).value = number
        return self._import(capsule)

    def below(self, tensor: Any) -> Any:
        """Returns the tensor below one of a simulated device."""
        capsule = self._export(tensor)
        address: Any = _pointer(capsule, b"dltensor")
        _int32(address + _DEVICE_TYPE).value = _CPU
        _int32(address + _DEVICE_NUMBER).value = 0
        below = self._import(capsule)
        # DLPack knows neither bit; some ops of the CPU do.
        if tensor.is_conj():
            below = self._conjugate(below)
        return self._negative(below) if tensor.is_neg() else below

    def of_cpu(self, tensor: Any) -> Any:
        """Returns a tensor of the CPU, as ops below take it beside their own."""
        return tensor


class Outlines(Tensors):
    """Makes tensors of simulated devices of shapes alone: what is at their addresses stays unread."""

    has_values = False

    def __init__(self, torch: Any) -> None:
        """Takes what is called for each op out of PyTorch."""
        super().__init__(torch)
        self.device = torch.device("meta")
        self._cpu, self._empty = torch.device("cpu"), torch.empty
        self._outline, self._storage_at = torch.empty_strided, torch._C._construct_storage_from_data_pointer

    def on_card(self, tensor: Any, number: int, memory: Any) -> Any:
        """Returns a tensor of `cuda:number` with the shape of an outline."""
        nbytes, address = tensor.untyped_storage().nbytes(), 0 if memory is None else memory.address
        pretended = self._empty(0, dtype=tensor.dtype, device=self._cpu)
        pretended.set_(self._storage_at(address, self._cpu, nbytes), 0, tensor.size(), tensor.stride())
        return super().on_card(pretended, number, memory)

    def below(self, tensor: Any) -> Any:
        """Returns the outline of a tensor of a simulated device."""
        return self._outline(tensor.size(), tensor.stride(), dtype=tensor.dtype, device=self.device)

    def of_cpu(self, tensor: Any) -> Any:
        """Returns the outline of a tensor of the CPU; a number stays what it is."""
        return self.below(tensor) if tensor.dim() else tensor
