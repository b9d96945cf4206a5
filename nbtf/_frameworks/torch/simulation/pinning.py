"""What is pinned memory where no card reads it? Memory of the CPU that is known to be pinned."""

from __future__ import annotations

from typing import Any

from nbtf._frameworks.torch.simulation.replacing import Replacements


def install_pinning(torch: Any, replacements: Replacements) -> None:
    """Lets tensors and storages be pinned.

    Args:
      torch: PyTorch.
      replacements: remembers what has to be put back.
    """
    tensor_class: Any = torch.Tensor

    def is_pinned(tensor: Any, device: Any = None) -> bool:
        """Returns True if this tensor resides in pinned memory."""
        return tensor.device.type == "cpu" and getattr(tensor.untyped_storage(), "_pinned_memory", False)

    def pin_memory(tensor: Any, device: Any = None) -> Any:
        """Copies the tensor to pinned memory, if it's not already pinned."""
        if tensor.device.type != "cpu":
            raise RuntimeError(f"cannot pin '{tensor.type()}' only dense CPU tensors can be pinned")
        if is_pinned(tensor):
            return tensor
        copy = tensor.detach().clone() if not tensor.requires_grad else tensor.clone()
        copy.untyped_storage()._pinned_memory = True
        return copy

    replacements.set(tensor_class, "is_pinned", is_pinned)
    replacements.set(tensor_class, "pin_memory", pin_memory)
