"""Creates storages on simulated devices without a tensor, as loading a file does."""

from __future__ import annotations

from typing import Any

from nbtf._frameworks.torch.simulation.machine import Machine
from nbtf._frameworks.torch.simulation.replacing import Replacements


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

    def resize_storage(storage: Any, size: int) -> Any:
        """Resizes a CPU storage; storages of simulated GPUs raise an error."""
        if storage.device.type == "cuda":
            raise NotImplementedError(
                "Storages of simulated GPUs cannot be resized. Use tensor.resize_(), or delete the tensors."
            )
        return resize(storage, size)

    replacements.set(storage_class, "__new__", staticmethod(new_storage))
    replacements.set(storage_class, "resize_", resize_storage)
