"""Memory for host tensors without values: all of them share the same pages, which are never written."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

_MIB = 1 << 20
_STEP, _ADDRESSES = 64, 1 << 22
"""Tensors start at different addresses, so that they can be distinguished."""


class Zeros:
    """Host tensors of any size over the same zeros; untouched pages use no physical memory."""

    def __init__(self, torch: Any) -> None:
        """Reserves address space for tensors up to 16 MiB."""
        self._torch, self._cpu = torch, torch.device("cpu")
        self._empty = torch.empty  # the original, before it is replaced
        self._pages: list[mmap.mmap] = []
        self._count = 0
        self._reserve(16 * _MIB)

    def like(self, meta: Any) -> Any:
        """Returns a host tensor with the shape, strides and dtype of a meta tensor."""
        torch, nbytes = self._torch, meta.untyped_storage().nbytes()
        if nbytes > self._size:
            self._reserve(nbytes)
        self._count += 1
        address = self._address + self._count % _ADDRESSES * _STEP
        storage = torch._C._construct_storage_from_data_pointer(address, self._cpu, nbytes)
        return self._empty(0, dtype=meta.dtype).set_(storage, meta.storage_offset(), meta.size(), meta.stride())

    def _reserve(self, nbytes: int) -> None:
        """Maps more pages; earlier mappings stay for the tensors that use them."""
        flags = getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0) | getattr(mmap, "MAP_NORESERVE", 0)
        total = nbytes + _STEP * _ADDRESSES
        pages = mmap.mmap(-1, total, flags=flags) if flags else mmap.mmap(-1, total)
        self._pages.append(pages)
        self._size, self._address = nbytes, ctypes.addressof(ctypes.c_char.from_buffer(pages))
