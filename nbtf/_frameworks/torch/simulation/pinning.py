"""What is pinned memory where no card reads it? Memory of the CPU that comes from an allocator of its own.

PyTorch's core has a second allocator for the CPU, which is used for memory that is to be pinned. Each allocator hands
out memory with the function that gives it back; by this function pinned memory is known, of whichever tensor it is.
"""

from __future__ import annotations

import ctypes
from typing import Any

from nbtf._frameworks.torch.simulation.replacing import Replacements

_WORD = ctypes.sizeof(ctypes.c_void_p)
_WORDS = 12
"""How far into `c10::StorageImpl` its pointer is looked for: behind it are what is given back, and the function."""


def install_pinning(torch: Any, replacements: Replacements) -> None:
    """Lets tensors be pinned, and tell whether they are.

    Args:
      torch: PyTorch, whose hooks name the other allocator for pinned memory already.
      replacements: remembers what has to be put back.
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
    """Returns where in a storage the function stands that gives memory back: two tensors have the same there."""
    storages = [torch.empty(1, device="cpu").untyped_storage() for _ in range(2)]
    pointer = next(offset for offset in range(_WORDS) if _word(storages[0], offset) == storages[0].data_ptr())
    return next(
        offset for offset in (pointer + 1, pointer + 2) if _word(storages[0], offset) == _word(storages[1], offset)
    )


def _word(storage: Any, offset: int) -> int | None:
    return ctypes.c_void_p.from_address(storage._cdata + offset * _WORD).value
