"""Tensors on simulated devices, each over a CPU tensor or over an outline without values.

Both are ordinary PyTorch tensors. A device tensor is made from a CPU tensor through DLPack, whose description of a
tensor names a device. The two share memory, and the CPU tensor lives as long as the storage made from it.
"""

from __future__ import annotations

import ctypes
from typing import Any

# dlpack.h: DLTensor is the first member of DLManagedTensor. It starts with the address, then the type and number of the
# device, of 32 bits each.
_DEVICE = 8
_CPU, _CUDA = 1, 2

_pointer: Any = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_word = ctypes.c_int64.from_address


def _set_device(capsule: Any, device_type: int, number: int) -> None:
    """Changes the device in the DLPack description of a tensor."""
    _word(_pointer(capsule, b"dltensor") + _DEVICE).value = device_type | number << 32


class Tensors:
    """Converts between CPU tensors and tensors of simulated devices."""

    has_values = True

    def __init__(self, torch: Any) -> None:
        """Looks up the PyTorch functions that are called for each op."""
        self.device = torch.device("cpu")
        """The device of the tensors below."""
        self._empty_like = torch.empty_like
        self._conjugate, self._negative = torch.ops.aten._conj.default, torch.ops.aten._neg_view.default
        self._export, self._import = torch._C._to_dlpack, torch._C._from_dlpack

    def on_card(self, tensor: Any, number: int, memory: Any) -> Any:
        """Returns a tensor of `cuda:number` over a CPU tensor; it keeps that tensor and its device memory alive."""
        if tensor.is_conj() or tensor.is_neg():
            tensor = tensor.resolve_conj().resolve_neg()
        if tensor._is_zerotensor():  # such as gradients that are known to be 0, which have no memory
            tensor = self._empty_like(tensor).zero_()
        tensor._card_memory = memory
        if memory is not None:
            memory.host = tensor.data_ptr()
        capsule = self._export(tensor)
        _set_device(capsule, _CUDA, number)
        return self._import(capsule)

    def below(self, tensor: Any) -> Any:
        """Returns the tensor below one of a simulated device."""
        capsule = self._export(tensor)
        _set_device(capsule, _CPU, 0)
        below = self._import(capsule)
        # DLPack represents neither the conjugate nor the negative bit; some CPU ops use them.
        if tensor.is_conj():
            below = self._conjugate(below)
        return self._negative(below) if tensor.is_neg() else below

    def of_cpu(self, tensor: Any) -> Any:
        """Returns a CPU tensor in the form that ops below take along with their own tensors."""
        return tensor


class Outlines(Tensors):
    """Creates device tensors from shapes alone; the memory at their addresses is never read."""

    has_values = False

    def __init__(self, torch: Any) -> None:
        """Looks up the PyTorch functions that are called for each op."""
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
        """Returns the outline of a CPU tensor; scalars are returned unchanged."""
        return self.below(tensor) if tensor.dim() else tensor
