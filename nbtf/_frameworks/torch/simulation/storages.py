"""Creates storages on simulated devices without a tensor, as loading a file does, and resizes storages, as FSDP does.

The PyTorch core can only resize memory that it has allocated itself. So a storage that is resized exchanges its memory
with a new storage.
"""

from __future__ import annotations

import ctypes
from typing import Any

from nbtf._frameworks.torch.simulation.machine import Machine
from nbtf._frameworks.torch.simulation.replacing import Replacements
from nbtf._frameworks.torch.simulation.tensors import Tensors


def install_storages(machine: Machine, replacements: Replacements) -> None:
    """Lets `torch.UntypedStorage` create storages on devices.

    Args:
      machine: machine with the devices.
      replacements: records the original attributes for removal.
    """
    torch = machine.torch
    storage_class: Any = torch.UntypedStorage
    new = storage_class.__new__

    def new_storage(cls: Any, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        if device is None or torch.device(device).type != "cuda":
            return new(cls, *args, **kwargs) if device is None else new(cls, *args, device=device, **kwargs)
        contents: Any = args[0] if args else 0
        if isinstance(contents, int):
            return torch.empty(contents, dtype=torch.uint8, device=device).untyped_storage()
        return torch.tensor(list(contents), dtype=torch.uint8, device=device).untyped_storage()

    resize: Any = storage_class.resize_
    memory = _Memory(torch)

    def resize_storage(storage: Any, size: int) -> Any:
        """Gives a storage more or less memory; the values that fit are kept."""
        if storage.device.type != "cuda":
            return resize(storage, size)
        with torch.no_grad():
            previous, larger = (
                torch.empty(nbytes, dtype=torch.uint8, device=storage.device) for nbytes in (0, int(size))
            )
            nbytes = min(storage.nbytes(), larger.numel())
            if nbytes:
                larger[:nbytes].copy_(previous.set_(storage)[:nbytes])
        memory.exchange(storage, larger.untyped_storage())
        _check_memory(machine.tensors)
        return storage

    replacements.set(storage_class, "__new__", staticmethod(new_storage))
    replacements.set(storage_class, "resize_", resize_storage)


def _check_memory(tensors: Tensors) -> None:
    """Makes reading a tensor an error if its storage has become too small; other programs need no check."""
    if "below" in vars(tensors):
        return
    below = tensors.below

    def below_if_allocated(tensor: Any) -> Any:
        steps = sum([(size - 1) * stride for size, stride in zip(tensor.size(), tensor.stride(), strict=True)])
        needed = (tensor.storage_offset() + steps + 1) * tensor.element_size() if tensor.numel() else 0
        if needed > tensor.untyped_storage().nbytes():
            raise RuntimeError(
                f"The storage of a tensor of shape {list(tensor.shape)} was resized to "
                f"{tensor.untyped_storage().nbytes():,} bytes; the tensor needs {needed:,}."
            )
        return below(tensor)

    tensors.below = below_if_allocated


class _Memory:
    """The members of `c10::StorageImpl` that describe its memory: pointer, context, deleter, device and bytes."""

    _WORD = ctypes.sizeof(ctypes.c_void_p)
    _WORDS, _SEARCHED = 5, 12

    def __init__(self, torch: Any) -> None:
        """Finds the members by the values of a sample."""
        storage = torch.empty(12_345, dtype=torch.uint8, device="cpu").untyped_storage()
        words = (ctypes.c_size_t * self._SEARCHED).from_address(storage._cdata)
        first = next((number for number, word in enumerate(words) if word == storage.data_ptr()), 0)
        self._first = first if words[first + self._WORDS - 1] == storage.nbytes() else None

    def exchange(self, storage: Any, replacement: Any) -> None:
        """Exchanges the memory of two storages.

        Raises:
          NotImplementedError: if this release of PyTorch has another layout.
        """
        if self._first is None:
            raise NotImplementedError("Storages of simulated GPUs cannot be resized in this release of PyTorch.")
        words, new_words = (
            (ctypes.c_size_t * self._WORDS).from_address(each._cdata + self._first * self._WORD)
            for each in (storage, replacement)
        )
        words[:], new_words[:] = new_words[:], words[:]
