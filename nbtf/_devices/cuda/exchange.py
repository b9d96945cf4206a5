"""How does a real GPU share memory with CuPy, PyTorch and JAX? DLPack and the CUDA array interface, without a copy.

What another library lends is external: it lies outside the device's pool and limit, and is counted apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf._devices.base import Buffer, buffer_of
from nbtf._devices.cuda.device import CudaGPU
from nbtf.errors import FailedPreconditionError


def lend(device: CudaGPU, buffer: Buffer, options: dict[str, Any]) -> Any:
    """Returns a DLPack capsule. The consumer's stream waits for what the device has started, the host does not.

    Args:
      device: whose the buffer is.
      buffer: what is lent; its memory stays charged to the device until the consumer lets go of it.
      options: what the consumer said: `stream`, `max_version`, `dl_device`, `copy`.

    Raises:
      BufferError: it cannot be lent that way.
    """
    return _with_stream_of(device, lambda: buffer._array.__dlpack__(**options))


def interface(device: CudaGPU, buffer: Buffer) -> dict[str, Any]:
    """Returns the CUDA array interface of a buffer, with the device's stream for the consumer to wait for."""
    return dict(_with_stream_of(device, lambda: buffer._array.__cuda_array_interface__))


def adopt(device: CudaGPU, value: Any) -> Buffer:
    """Returns a buffer that shows an array of another library on this card.

    The array must not change while tensors show it. The device waits for what the caller's thread has started on its
    current stream, where CuPy's arrays are made, and for the stream that another library names.

    Args:
      device: the device, one on the card where the array is.
      value: it speaks DLPack or the CUDA array interface.
    """
    array = share(device, value)
    memory: Any = device.memory
    return buffer_of(array, memory.external.lent(array.nbytes))


def share(device: CudaGPU, value: Any) -> Any:
    """Returns CuPy's array for one of another library, in the same memory."""
    take = device.xp.from_dlpack if hasattr(value, "__dlpack__") else device.xp.asarray
    return _with_stream_of(device, lambda: take(value), after_the_user=True)


def _with_stream_of(device: CudaGPU, do: Callable[[], Any], after_the_user: bool = False) -> Any:
    """Does something on a device's stream, with the device current.

    Args:
      device: whose stream it is.
      do: what to do.
      after_the_user: whether the stream waits for the one that the thread had. CuPy's arrays do not know on which
        stream they were made, and name the current one: inside of this that is the device's.
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
        if hasattr(error, "status"):  # CUDA's own
            raise device.explained(error) from None
        raise
    finally:
        guard.leave(state)


def device_of(devices: tuple[Any, ...], value: Any, ordinal: int | None, preferred: Any) -> CudaGPU:
    """Returns the device that takes what is on a card: the wanted one, or the first on that card.

    Args:
      devices: all devices.
      value: the array.
      ordinal: the number that CUDA gives its card in this process; None where only its address tells.
      preferred: a device; it may be on another card, or on none.

    Raises:
      FailedPreconditionError: none of them is on that card.
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
