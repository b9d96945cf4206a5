"""How do tensors and arrays of other libraries share memory? DLPack and the CUDA array interface, both ways."""

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
"""Kinds of devices that are given. Source: `DLDeviceType`, dlpack.h 1.0."""
_ON_CUDA = frozenset({CUDA, 13})  # and managed memory, which CUDA moves to and fro
_ON_HOST = frozenset({CPU, 3})  # and pinned memory of the host


def place_of(buffer: Any) -> Device:
    """Returns the device in whose memory a tensor's values are."""
    return CURRENT.context.host if buffer._host else buffer._device


def dlpack_device(tensor: Any) -> tuple[int, int]:
    """Returns where the values are, in DLPack's numbering; a simulated GPU's are in the computer's memory."""
    return place_of(tensor).dlpack_device


def lent(tensor: Any, options: dict[str, Any]) -> Any:
    """Returns a DLPack capsule of a tensor: its own memory, or of simulated GPUs a copy.

    Raises:
      BufferError: the consumer asked for what cannot be.
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
                f"{tensor._device.short_name} is simulated: only a copy of its values can be handed over."
            )
        return tensor._host_copy().__dlpack__(**options)
    view = tensor._array.view()
    view.flags.writeable = False  # tensors do not change
    if "max_version" in options:
        return view.__dlpack__(**options)
    try:  # an old consumer: DLPack before 1.0 cannot say that nothing may be written
        return tensor._array.__dlpack__(**options)
    except BufferError:
        if options.get("copy") is False:
            raise
        return tensor._array.copy().__dlpack__(**options)


def _elsewhere(tensor: Any, simulated: bool) -> str:
    name = tensor._device.short_name
    location = f"{name} is simulated: its values are" if simulated else f"The values of a tensor on {name} are"
    return (
        f"{location} in this computer's memory, not on the device asked for. Leave the device out, and have the other "
        "library copy them: torch.from_dlpack(x).to('cuda')."
    )


def cuda_interface(tensor: Any) -> dict[str, Any]:
    """Returns the CUDA array interface of a tensor on a real GPU.

    Raises:
      AttributeError: it is not on one, so that `hasattr` says no.
    """
    if dlpack_device(tensor)[0] != CUDA:
        raise AttributeError(_elsewhere(tensor, place_of(tensor).simulated))
    from nbtf._devices.cuda import exchange

    device: Any = place_of(tensor)
    return exchange.interface(device, tensor)


def adopted(value: Any) -> tuple[Buffer, DType, Device]:
    """Returns a buffer that shows another library's array where it is, its dtype, and its device.

    Args:
      value: a DLPack capsule, or an array that speaks DLPack or the CUDA array interface.

    Raises:
      InvalidArgumentError: the array is of a kind or a dtype that tensors cannot have.
      FailedPreconditionError: it is on a GPU that is not used here.
    """
    source = Capsule(value) if type(value).__name__ == "PyCapsule" else value
    if not hasattr(source, "__dlpack__"):
        return _on_card(source, ordinal=None)
    device_type, number = source.__dlpack_device__()
    if device_type in _ON_CUDA:
        return _on_card(source, number)
    if device_type not in _ON_HOST:
        raise UnimplementedError(f"An array on a device of DLPack's kind {int(device_type)} cannot become a tensor.")
    try:
        array = np.from_dlpack(source)
    except (BufferError, RuntimeError, ValueError) as error:
        raise InvalidArgumentError(f"The array cannot become a tensor: {error}") from error
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
        raise InvalidArgumentError(f"The array cannot become a tensor: {error}") from error


def copied(value: Any) -> tuple[Buffer, DType, Device]:
    """Returns a copy of another library's array on a GPU, on that GPU; the array may change afterwards."""
    buffer, dtype, device = adopted(value)
    label = Label("_EagerConst", dtype.name, tuple(buffer._array.shape))
    fresh = device.copy_from(device, buffer, label)
    device.synchronize()  # whoever lent the memory may use it again as soon as this returns
    return fresh, dtype, device


# Capsules


class Capsule:
    """A DLPack capsule, as an object that can be asked where its memory is."""

    def __init__(self, capsule: Any) -> None:
        """Takes a capsule that nobody has used yet."""
        self._capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        """Returns the capsule."""
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        """Reads kind and number of the device out of the capsule.

        Raises:
          InvalidArgumentError: it was used already, or is another kind of capsule.
        """
        for name, offset in _DEVICE_AT.items():
            if _IS_VALID(self._capsule, name):
                address = _POINTER(self._capsule, name)
                return tuple((ctypes.c_int32 * 2).from_address(address + offset))
        name = _NAME(self._capsule)
        text = f'DLPack tensor must be a capsule with name "dltensor", got "{(name or b"").decode()}". '
        raise InvalidArgumentError(f"{text}Note that a DLPack tensor may be consumed at most once.")


_POINTER_SIZE = ctypes.sizeof(ctypes.c_void_p)
# DLManagedTensor starts with a DLTensor, whose first member is a pointer; in DLManagedTensorVersioned a version (two
# uint32), two pointers and flags (uint64) come first. Source: dlpack.h 1.0.
_DEVICE_AT = {b"dltensor": _POINTER_SIZE, b"dltensor_versioned": 8 + 2 * _POINTER_SIZE + 8 + _POINTER_SIZE}


def _c_function(name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_IS_VALID = _c_function("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_POINTER = _c_function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_NAME = _c_function("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)
