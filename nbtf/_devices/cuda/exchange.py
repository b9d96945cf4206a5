"""How does a real GPU share memory with CuPy, PyTorch and JAX? By DLPack and the CUDA array interface, without a copy.

Memory shared by another library is external: it lies outside the device's pool and limit, and is counted separately.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf._devices.base import Buffer, buffer_of
from nbtf._devices.cuda.device import CudaGPU
from nbtf.errors import FailedPreconditionError


def lend(device: CudaGPU, buffer: Buffer, options: dict[str, Any]) -> Any:
    """Returns a DLPack capsule. The consumer's stream waits for the device's work; the host does not wait.

    Args:
      device: the device of the buffer.
      buffer: buffer to share; its memory stays charged to the device until the consumer releases it.
      options: options given by the consumer: `stream`, `max_version`, `dl_device`, `copy`.

    Raises:
      BufferError: if the buffer cannot be shared with these options.
    """
    return _with_stream_of(device, lambda: buffer._array.__dlpack__(**options))


def interface(device: CudaGPU, buffer: Buffer) -> dict[str, Any]:
    """Returns the CUDA array interface of a buffer, with the device's stream for the consumer to wait for."""
    return dict(_with_stream_of(device, lambda: buffer._array.__cuda_array_interface__))


def adopt(device: CudaGPU, value: Any) -> Buffer:
    """Returns a buffer that shares the memory of another library's array on this card.

    The array must not change while tensors share it. The device waits for work on the current stream of the caller's
    thread, where CuPy's arrays are made, and for the stream that another library names.

    Args:
      device: a device on the card of the array.
      value: array that supports DLPack or the CUDA array interface.
    """
    array = share(device, value)
    memory: Any = device.memory
    return buffer_of(array, memory.external.lent(array.nbytes))


def share(device: CudaGPU, value: Any) -> Any:
    """Returns a CuPy array that shares the memory of another library's array."""
    take = device.xp.from_dlpack if hasattr(value, "__dlpack__") else device.xp.asarray
    return _with_stream_of(device, lambda: take(value), after_the_user=True)


def _with_stream_of(device: CudaGPU, do: Callable[[], Any], after_the_user: bool = False) -> Any:
    """Calls a function with a device and its stream current.

    Args:
      device: the device.
      do: function to call.
      after_the_user: whether the device's stream waits for the thread's previous stream. CuPy arrays do not know the
        stream that made them and name the current one, which is the device's during the call.
    """
    guard, state = device.enter()
    try:
        users = state[1]
        if after_the_user and users is not None:
            event = device.xp.cuda.Event(disable_timing=True)
            event.record(users)
            device.events.wait(event)
        return do()
    except Exception as error:
        if hasattr(error, "status"):  # errors of CUDA itself have a status
            raise device.explained(error) from None
        raise
    finally:
        guard.leave(state)


def device_of(devices: tuple[Any, ...], value: Any, ordinal: int | None, preferred: Any) -> CudaGPU:
    """Returns the device that adopts an array: the preferred one, or the first on the array's card.

    Args:
      devices: all devices.
      value: the array.
      ordinal: CUDA's number of the array's card in this process; None if only its address shows the card.
      preferred: preferred device; it need not be on that card, or on any card.

    Raises:
      FailedPreconditionError: if no device is on that card.
    """
    real_gpus = [device for device in devices if isinstance(device, CudaGPU)]
    if ordinal is None and real_gpus:
        ordinal = share(real_gpus[0], value).data.device_id
    on_card = [device for device in real_gpus if device.ordinal == ordinal]
    if not on_card:
        card_text = "a GPU" if ordinal is None else f"cuda:{ordinal}"
        text = f"The array is on {card_text}, which nbtf does not use here. Copy it to the host first."
        raise FailedPreconditionError(text)
    return preferred if preferred in on_card else on_card[0]
