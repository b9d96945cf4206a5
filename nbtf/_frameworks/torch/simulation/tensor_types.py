"""Older APIs for making tensors on a device.

These are `torch.cuda.FloatTensor`, `tensor.type(...)` and `torch.set_default_tensor_type`.
"""

from __future__ import annotations

from typing import Any

from nbtf._frameworks.torch.simulation.replacing import Replacements

_NAMES = [
    f"{number}Tensor"
    for number in ("Float", "Double", "Half", "BFloat16", "Byte", "Char", "Short", "Int", "Long", "Bool")
]


def install_tensor_types(torch: Any, replacements: Replacements) -> None:
    """Makes the older APIs create tensors on simulated devices.

    Args:
      torch: PyTorch.
      replacements: records the original attributes for removal.
    """

    class TensorType(type):
        """Creates tensors of a dtype on the current device, and recognizes them in `isinstance`."""

        on_cpu: Any

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            return cls.on_cpu(*args, **kwargs).cuda()

        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, torch.Tensor) and instance.is_cuda and instance.dtype == cls.on_cpu.dtype

    types: dict[str, Any] = {
        f"torch.cuda.{name}": TensorType(name, (), {"on_cpu": getattr(torch, name), "__module__": "torch.cuda"})
        for name in _NAMES
    }
    for name in _NAMES:
        replacements.set(torch.cuda, name, types[f"torch.cuda.{name}"])
    change_type: Any = torch.Tensor.type

    def change(tensor: Any, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        target = types.get(dtype, dtype) if isinstance(dtype, str) else dtype
        if isinstance(target, TensorType):
            device = tensor.device if tensor.is_cuda else "cuda"
            return tensor.to(device, target.on_cpu.dtype, non_blocking=non_blocking)
        return change_type(tensor, dtype, non_blocking, **kwargs)

    change.__doc__ = change_type.__doc__
    replacements.set(torch.Tensor, "type", change)
    set_default: Any = torch.set_default_tensor_type

    def set_default_type(t: Any) -> None:
        """Sets the default dtype, and the default device: the current GPU or the CPU."""
        target = types.get(t, t) if isinstance(t, str) else t
        if isinstance(target, TensorType):
            torch.set_default_dtype(target.on_cpu.dtype)
            torch.set_default_device("cuda")
        else:
            set_default(t)
            torch.set_default_device(None)

    replacements.set(torch, "set_default_tensor_type", set_default_type)
