"""Checks that the tensors of an op are on the same device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbtf._frameworks.torch.simulation.machine import Machine

_INDICES = frozenset({"indices", "offsets"})
_INDEXING = frozenset(
    {"index.Tensor", "index_put_", "index_put", "_index_put_impl_", "_unsafe_index.Tensor", "_unsafe_index_put"}
)
_LENGTHS = frozenset({"batch_sizes", "lengths", "cpu_nested_shape_example"})


def check_devices(machine: Machine, op: str, names: Sequence[str], args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Raises the PyTorch error for tensors on different devices.

    Scalars on the CPU may be combined with any device, and so may indices on the CPU.

    Args:
      machine: machine whose tensor class is checked.
      op: full name of the op.
      names: names of its arguments.
      args: positional arguments of the call.
      kwargs: keyword arguments of the call.
    """
    base = op.removeprefix("aten::")
    tensors: list[tuple[str, Any]] = []
    for name, value in (*zip(names, args, strict=False), *kwargs.items()):
        for tensor in value if value.__class__ in (list, tuple) else (value,):
            if isinstance(tensor, machine.torch.Tensor) and (tensor.is_cuda or tensor.dim()):
                is_index = (name in _INDICES and base in _INDEXING) or name in _LENGTHS
                if not (is_index and not tensor.is_cuda):
                    tensors.append((name, tensor.device))
    devices = [device for _, device in tensors]
    if len(set(devices)) < 2:
        return
    if machine.torch.Tag.pointwise in getattr(machine.op(op), "tags", ()):
        second = next(device for device in devices if device != devices[0])
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, {devices[0]} and {second}!"
        )
    common = next(device for device in devices if device.type == "cuda")
    name, device = next(pair for pair in tensors if pair[1] != common)
    if base in _INDEXING and name in _INDICES:
        raise RuntimeError(f"indices should be either on cpu or on the same device as the indexed tensor ({common})")
    raise RuntimeError(
        f"Expected all tensors to be on the same device, but got {name} is on {device}, different from other tensors "
        f"on {common} (when checking argument in method wrapper_CUDA_{base.replace('.', '_')})"
    )
