"""Copies between the streams of real GPUs. The streams wait for each other where necessary; the host never waits."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtf._devices.base import Buffer, Label

if TYPE_CHECKING:
    from nbtf._devices.cuda.device import CudaGPU

# cudaErrorInvalidValue, cudaErrorPeerAccessUnsupported, cudaErrorPeerAccessNotEnabled. Source: as in cuda_errors.
_NO_WAY = frozenset({1, 217, 705})
_ASKED: set[tuple[int, int]] = set()


class NotReachable(Exception):  # noqa: N818  # internal: always caught
    """One card cannot read the other's memory, not even through the driver."""


def between(source: CudaGPU, target: CudaGPU, array: Any, label: Label | None) -> Buffer:
    """Copies an array of one real GPU to another, or to another part of the same card.

    It takes five steps. The source records an event once the array is complete. The target waits for it, copies, and
    records an event of its own. The source waits for that, so that it does not reuse the memory too early. Devices that
    share a stream are in order anyway.

    Raises:
      NotReachable: if the copy must go through the computer's memory.
    """
    target.open()
    source.open()
    ordered = target.ordinal == source.ordinal and target.stream.ptr == source.stream.ptr
    shape, dtype = array.shape, array.dtype
    source_guard, source_state = source.enter()
    try:
        array = source.xp.ascontiguousarray(array)
        written = None if ordered else source.events.record()
    except Exception as error:
        raise source.explained(error, array.nbytes, shape, dtype, copied=True) from None
    finally:
        source_guard.leave(source_state)
    target_guard, target_state = target.enter()
    try:
        copied = target.xp.empty(shape, dtype)
        if written is not None:
            target.events.wait(written)
        _send(source, target, array, copied)
        read = None if ordered else target.events.record()
        buffer = target.keep(copied, label)
    except NotReachable:
        raise
    except Exception as error:
        raise target.explained(error, array.nbytes, shape, dtype, copied=True) from None
    finally:
        target_guard.leave(target_state)
    if written is not None:
        _let_go(source, target, written, read)
    return buffer


def _let_go(source: CudaGPU, target: CudaGPU, written: Any, read: Any) -> None:
    """Makes the source wait until the target has read; afterwards both events can be reused."""
    guard, state = source.enter()
    try:
        source.events.wait(read)
    except Exception as error:
        raise source.explained(error, copied=True) from None
    finally:
        guard.leave(state)
    source.events.give_back(written)
    target.events.give_back(read)


def _send(source: CudaGPU, target: CudaGPU, array: Any, copied: Any) -> None:
    """Starts the copy on the target's stream."""
    if not array.nbytes:
        return
    runtime = target.xp.cuda.runtime
    if source.ordinal != target.ordinal:
        _connect(runtime, target.ordinal, source.ordinal)
    try:
        runtime.memcpyAsync(copied.data.ptr, array.data.ptr, array.nbytes, runtime.memcpyDefault, target.stream.ptr)
    except Exception as error:
        if source.ordinal != target.ordinal and getattr(error, "status", None) in _NO_WAY:
            raise NotReachable from None
        raise


def _connect(runtime: Any, device: int, peer: int) -> None:
    """Enables direct access from one card to another, once, if the hardware supports it.

    Without direct access, the driver automatically copies through the computer's memory; a few machines reject even
    that.
    """
    if (device, peer) not in _ASKED:
        _ASKED.add((device, peer))
        with suppress(Exception):  # access has already been enabled elsewhere
            if runtime.deviceCanAccessPeer(device, peer):
                runtime.deviceEnablePeerAccess(peer)


def unpinned(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns an array outside of pinned memory, which CuPy would read asynchronously."""
    root: Any = array
    while isinstance(root, np.ndarray) and root.base is not None:
        root = root.base  # pyright: ignore[reportUnknownMemberType]
    return array if isinstance(root, np.ndarray) else array.copy()
