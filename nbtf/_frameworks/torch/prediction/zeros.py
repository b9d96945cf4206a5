"""Where do tensors without values have their memory? All in the same pages, which nobody writes to."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

_MIB = 1 << 20
_STEP, _ADDRESSES = 64, 1 << 22
"""Tensors begin at different addresses, by which they are told apart."""


class Zeros:
    """Host tensors of any size over the same zeros: a page that nobody touches takes no memory."""

    def __init__(self, torch: Any) -> None:
        """Begins with room for tensors of 16 MiB."""
        self._torch, self._cpu = torch, torch.device("cpu")
        self._empty = torch.empty  # before somebody replaces it
        self._pages: list[mmap.mmap] = []
        self._count = 0
        self._reserve(16 * _MIB)

    def like(self, meta: Any) -> Any:
        """Returns a host tensor with the shape, the strides and the dtype of a meta tensor."""
        torch, nbytes = self._torch, meta.untyped_storage().nbytes()
        if nbytes > self._size:
            self._reserve(nbytes)
        self._count += 1
        address = self._address + self._count % _ADDRESSES * _STEP
        storage = torch._C._construct_storage_from_data_pointer(address, self._cpu, nbytes)
        return self._empty(0, dtype=meta.dtype).set_(storage, meta.storage_offset(), meta.size(), meta.stride())

    def _reserve(self, nbytes: int) -> None:
        """Maps more pages; those from before stay for the tensors that are over them."""
        flags = getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0) | getattr(mmap, "MAP_NORESERVE", 0)
        total = nbytes + _STEP * _ADDRESSES
        pages = mmap.mmap(-1, total, flags=flags) if flags else mmap.mmap(-1, total)
        self._pages.append(pages)
        self._size, self._address = nbytes, ctypes.addressof(ctypes.c_char.from_buffer(pages))
