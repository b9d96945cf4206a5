"""Are the tensors of an op on the same device?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbtf._frameworks.torch.simulation.machine import Machine


def check_devices(machine: Machine, op: str, names: Sequence[str], args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Raises PyTorch's error where they are not; a number on the CPU goes with every device.

    Args:
      machine: whose tensor class counts.
      op: its full name.
      names: of its arguments.
      args: as it was called.
      kwargs: likewise.
    """
    tensor_class = machine.torch.Tensor
    tensors: list[Any] = []
    for value in (*args, *kwargs.values()):
        tensors.extend(value if value.__class__ in (list, tuple) else (value,))
    devices = [
        tensor.device for tensor in tensors if isinstance(tensor, tensor_class) and (tensor.is_cuda or tensor.dim())
    ]
    for device in devices[1:]:
        if device != devices[0]:
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices, "
                f"{devices[0]} and {device}!"
            )
