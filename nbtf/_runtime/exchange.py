"""Sharing memory with other libraries' arrays, in both directions: DLPack and the CUDA array interface."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from nbtf._devices.base import Buffer, Device, Label, buffer_of
from nbtf._runtime.blocks import current_scope
from nbtf._runtime.context import CURRENT
from nbtf._runtime.scopes import SCOPE
from nbtf._types import DType, as_dtype
from nbtf.errors import InvalidArgumentError, UnimplementedError

CPU, CUDA = 1, 2
"""Device kinds in exported tensors. Source: `DLDeviceType`, dlpack.h 1.0."""
_ON_CUDA = frozenset({CUDA, 13})  # 13 is managed memory, which CUDA migrates between host and GPU
_ON_HOST = frozenset({CPU, 3})  # 3 is page-locked host memory


def place_of(buffer: Any) -> Device:
    """Returns the device whose memory stores a tensor's values."""
    return CURRENT.context.host if buffer._host else buffer._device


def dlpack_device(tensor: Any) -> tuple[int, int]:
    """Returns where the values are stored, in DLPack's numbering; a simulated GPU's values are in host memory."""
    return place_of(tensor).dlpack_device


def lent(tensor: Any, options: dict[str, Any]) -> Any:
    """Returns a DLPack capsule of a tensor: its own memory, or a copy if the GPU is simulated.

    Raises:
      BufferError: if the consumer's options cannot be met.
    """
    if dlpack_device(tensor)[0] == CUDA:
        from nbtf._devices.cuda import exchange

        device: Any = place_of(tensor)
        return exchange.lend(device, tensor, options)
    options = {name: value for name, value in options.items() if value is not None}
    dl_device = options.pop("dl_device", (CPU, 0))
    simulated = place_of(tensor).simulated
    if tuple(dl_device) != (CPU, 0):
        raise BufferError(_elsewhere(tensor, simulated))
    if simulated:
        if options.get("copy") is False:
            raise BufferError(
                f"{tensor._device.short_name} is simulated, so only a copy can be exported. Leave out `copy=False`."
            )
        return tensor._host_copy().__dlpack__(**options)
    view = tensor._array.view()
    view.flags.writeable = False  # tensors are immutable
    if "max_version" in options:
        return view.__dlpack__(**options)
    try:  # a consumer from before DLPack 1.0, which has no read-only flag
        return tensor._array.__dlpack__(**options)
    except BufferError:
        if options.get("copy") is False:
            raise
        return tensor._array.copy().__dlpack__(**options)


def _elsewhere(tensor: Any, simulated: bool) -> str:
    name = tensor._device.short_name
    location = f"{name} is simulated: its values are" if simulated else f"The values of a tensor on {name} are"
    return (
        f"{location} in this computer's memory, not on the requested device. Leave out the device, then copy in the "
        "other library: torch.from_dlpack(x).to('cuda')."
    )


def cuda_interface(tensor: Any) -> dict[str, Any]:
    """Returns the CUDA array interface of a tensor on a real GPU.

    Raises:
      AttributeError: if the tensor is not on one, so that `hasattr` returns False.
    """
    if dlpack_device(tensor)[0] != CUDA:
        raise AttributeError(_elsewhere(tensor, place_of(tensor).simulated))
    from nbtf._devices.cuda import exchange

    device: Any = place_of(tensor)
    return exchange.interface(device, tensor)


def adopted(value: Any) -> tuple[Buffer, DType, Device]:
    """Returns a buffer that shares another library's array, its dtype and its device.

    Args:
      value: a DLPack capsule, or an array with DLPack or the CUDA array interface.

    Raises:
      InvalidArgumentError: if tensors do not support the array's kind or dtype.
      FailedPreconditionError: if the array is on a GPU that this process does not use.
    """
    source = Capsule(value) if type(value).__name__ == "PyCapsule" else value
    if not hasattr(source, "__dlpack__"):
        return _on_card(source, ordinal=None)
    device_type, number = source.__dlpack_device__()
    if device_type in _ON_CUDA:
        return _on_card(source, number)
    if device_type not in _ON_HOST:
        raise UnimplementedError(f"Cannot convert an array on a device of DLPack type {int(device_type)} to a tensor.")
    try:
        array = np.from_dlpack(source)
    except (BufferError, RuntimeError, ValueError) as error:
        raise InvalidArgumentError(f"Cannot convert the array to a tensor: {error}") from error
    return buffer_of(array), _dtype_of(array), CURRENT.context.host


def _on_card(source: Any, ordinal: int | None) -> tuple[Buffer, DType, Device]:
    from nbtf._devices.cuda import exchange

    machine, scope = CURRENT.context.devices, SCOPE() and current_scope()
    device_name = None if scope is None or scope.request is None else scope.request.name
    requested = None if device_name is None else machine.by_name.get(device_name)
    device = exchange.device_of(machine.devices, source, ordinal, requested)
    buffer = exchange.adopt(device, source)
    return buffer, _dtype_of(buffer._array), device


def _dtype_of(array: Any) -> DType:
    try:
        return as_dtype(array.dtype)
    except TypeError as error:
        raise InvalidArgumentError(f"Cannot convert the array to a tensor: {error}") from error


def copied(value: Any) -> tuple[Buffer, DType, Device]:
    """Returns a copy of another library's GPU array on the same GPU; later changes to the array do not affect it."""
    buffer, dtype, device = adopted(value)
    label = Label("_EagerConst", dtype.name, tuple(buffer._array.shape))
    fresh = device.copy_from(device, buffer, label)
    device.synchronize()  # the exporting library may reuse the memory as soon as this returns
    return fresh, dtype, device


# Capsules


class Capsule:
    """A DLPack capsule wrapped in an object that can report its device."""

    def __init__(self, capsule: Any) -> None:
        """Stores a capsule that has not been consumed."""
        self._capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        """Returns the capsule."""
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        """Reads the device's kind and number from the capsule.

        Raises:
          InvalidArgumentError: if the capsule was consumed already, or is not a DLPack capsule.
        """
        for name, offset in _DEVICE_AT.items():
            if _IS_VALID(self._capsule, name):
                address = _POINTER(self._capsule, name)
                return tuple((ctypes.c_int32 * 2).from_address(address + offset))
        name = _NAME(self._capsule)
        text = f'DLPack tensor must be a capsule with name "dltensor", got "{(name or b"").decode()}". '
        raise InvalidArgumentError(f"{text}Note that a DLPack tensor may be consumed at most once.")


_POINTER_SIZE = ctypes.sizeof(ctypes.c_void_p)
# DLManagedTensor starts with a DLTensor, whose first member is a pointer. DLManagedTensorVersioned has a version (two
# uint32), two pointers and flags (uint64) before it. Source: dlpack.h 1.0.
_DEVICE_AT = {b"dltensor": _POINTER_SIZE, b"dltensor_versioned": 8 + 2 * _POINTER_SIZE + 8 + _POINTER_SIZE}


def _c_function(name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_IS_VALID = _c_function("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_POINTER = _c_function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_NAME = _c_function("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)
