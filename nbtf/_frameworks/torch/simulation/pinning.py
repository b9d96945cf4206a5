"""Pinned memory for simulated devices: CPU memory from a separate allocator.

The PyTorch core has a second CPU allocator for memory that is to be pinned. Each allocator hands out memory together
with the function that frees it. That function identifies pinned memory, whichever tensor uses it.
"""

from __future__ import annotations

import ctypes
from typing import Any

from nbtf._frameworks.torch.simulation.replacing import Replacements

_WORD = ctypes.sizeof(ctypes.c_void_p)
_WORDS = 12
"""How far into `c10::StorageImpl` to look for its pointer: the context to free and the deleter follow it."""


def install_pinning(torch: Any, replacements: Replacements) -> None:
    """Lets tensors be pinned, and lets them report whether they are.

    Args:
      torch: PyTorch, whose hooks already name the second allocator for pinned memory.
      replacements: records the original attributes for removal.
    """
    tensor_class: Any = torch.Tensor
    offset = _offset_of_function(torch)
    function = _word(torch.empty(1, device="cpu", pin_memory=True).untyped_storage(), offset)

    def is_pinned(tensor: Any, device: Any = None) -> bool:
        """Returns True if this tensor resides in pinned memory."""
        is_plain = tensor.device.type == "cpu" and tensor.layout is torch.strided
        return is_plain and _word(tensor.untyped_storage(), offset) == function

    def pin_memory(tensor: Any, device: Any = None) -> Any:
        """Copies the tensor to pinned memory, if it's not already pinned."""
        if tensor.device.type != "cpu":
            raise RuntimeError(f"cannot pin '{tensor.type()}' only dense CPU tensors can be pinned")
        return tensor if is_pinned(tensor) else torch.empty_like(tensor, pin_memory=True).copy_(tensor)

    replacements.set(tensor_class, "is_pinned", is_pinned)
    replacements.set(tensor_class, "pin_memory", pin_memory)


def _offset_of_function(torch: Any) -> int:
    """Returns the offset of the deleter in a storage: it is the same in the storages of two tensors."""
    storages = [torch.empty(1, device="cpu").untyped_storage() for _ in range(2)]
    pointer = next(offset for offset in range(_WORDS) if _word(storages[0], offset) == storages[0].data_ptr())
    return next(
        offset for offset in (pointer + 1, pointer + 2) if _word(storages[0], offset) == _word(storages[1], offset)
    )


def _word(storage: Any, offset: int) -> int | None:
    return ctypes.c_void_p.from_address(storage._cdata + offset * _WORD).value
