"""DLPack and the CUDA array interface of the fake: capsules are Python objects, streams wait as in CuPy [1.9]."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tests.fake_cupy import arrays, memory
from tests.fake_cupy.machine import MACHINE
from tests.fake_cupy.stream import Event, Stream, get_current_stream

CUDA = 2


class FakeCapsule(NamedTuple):
    """What a capsule holds."""

    array: Any
    device: int


class Foreign:
    """An array of a library that is not CuPy, on a card."""

    def __init__(self, host: Any, device: int = 0) -> None:
        self.bytes, self.device = np.array(host), device
        self.streams: list[Any] = []
        """On which streams it was asked for."""


class SpeaksDLPack(Foreign):
    """As PyTorch's tensors."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self.device

    def __dlpack__(self, stream: Any = None, **how: Any) -> FakeCapsule:
        self.streams.append(stream)
        return FakeCapsule(shown(self.bytes, self, self.device), self.device)


class SpeaksInterface(Foreign):
    """As Numba's arrays."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {**self.bytes.__array_interface__, "version": 3, "stream": 1}


def shown(host: Any, owner: Any, device: int) -> Any:
    """Returns an array of the fake in memory that somebody else owns."""
    array = arrays.ndarray.__new__(arrays.ndarray)
    array._a, array.base = host, None
    array.data = memory.MemoryPointer(memory.UnownedMemory(host.ctypes.data, host.nbytes, owner, device), 0)
    return array


def from_dlpack(value: Any, *, device: Any = None, copy: Any = None) -> Any:
    """Returns an array in the same memory."""
    kind, number = value.__dlpack_device__()
    if kind != CUDA:
        raise RuntimeError(
            "CuPy is built against CUDA, different from the backend that backs the incoming DLPack tensor"
        )
    pointer = get_current_stream(number).ptr
    capsule = value.__dlpack__(stream=1 if pointer == 0 else pointer)
    return shown(capsule.array._a, capsule.array, capsule.device)


def with_interface(value: Any) -> Any:
    """Returns an array in the memory that an interface tells of; an address knows its card."""
    return shown(value.bytes, value, value.device)


def _dlpack(self: Any, stream: Any = None, *, max_version: Any = None, dl_device: Any = None, copy: Any = None) -> Any:
    """Has the consumer's stream wait for the current one."""
    if dl_device is not None and dl_device[0] != CUDA:
        return self.get(stream=get_current_stream()).__dlpack__()
    arrays.operands(self)
    if stream not in (None, -1):
        event = Event()
        event.record(get_current_stream())
        consumer = Stream.__new__(Stream)
        consumer.ptr, consumer.device_id = 0 if stream == 1 else stream, MACHINE.device
        consumer.wait_event(event)
    return FakeCapsule(self, self.data.device_id)


def _interface(self: Any) -> dict[str, Any]:
    about = self._a.__array_interface__
    return {
        "shape": self.shape,
        "typestr": about["typestr"],
        "descr": about["descr"],
        "strides": None if self._a.flags.c_contiguous else self.strides,
        "data": (self.data.ptr, False),
        "version": 3,
        "stream": get_current_stream().ptr or 1,
    }


arrays.ndarray.__dlpack__ = _dlpack  # type: ignore[attr-defined]
arrays.ndarray.__dlpack_device__ = lambda self: (CUDA, self.data.device_id)  # type: ignore[attr-defined]
arrays.ndarray.__cuda_array_interface__ = property(_interface)  # type: ignore[attr-defined]
