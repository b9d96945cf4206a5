"""Moves tensors between one simulated device and several, as `torch.nn.DataParallel` requires."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def communication(torch: Any) -> dict[str, Callable[..., Any]]:
    """Returns the `torch._C` functions that `torch.nn.parallel.comm` calls."""

    def broadcast(tensor: Any, devices: Sequence[int]) -> list[Any]:
        return [tensor if tensor.get_device() == number else tensor.to(f"cuda:{number}") for number in devices]

    def broadcast_out(tensor: Any, outputs: Sequence[Any]) -> list[Any]:
        return [output.copy_(tensor) for output in outputs]

    def broadcast_coalesced(tensors: Sequence[Any], devices: Sequence[int], buffer_size: int) -> list[list[Any]]:
        return [list(copies) for copies in zip(*[broadcast(tensor, devices) for tensor in tensors], strict=True)]

    def scatter(tensor: Any, devices: Sequence[int], sizes: Any, dim: int, streams: Any) -> list[Any]:
        chunks = tensor.chunk(len(devices), dim) if sizes is None else tensor.split(list(sizes), dim)
        return [chunk.to(f"cuda:{number}") for chunk, number in zip(chunks, devices, strict=False)]

    def scatter_out(tensor: Any, outputs: Sequence[Any], dim: int, streams: Any) -> list[Any]:
        chunks = tensor.split([output.size(dim) for output in outputs], dim)
        return [output.copy_(chunk) for output, chunk in zip(outputs, chunks, strict=True)]

    def gather(tensors: Sequence[Any], dim: int, destination: int | None) -> Any:
        device = (
            "cpu"
            if destination == -1
            else f"cuda:{torch.cuda.current_device() if destination is None else destination}"
        )
        return torch.cat([tensor.to(device) for tensor in tensors], dim)

    def gather_out(tensors: Sequence[Any], output: Any, dim: int) -> Any:
        return output.copy_(torch.cat([tensor.to(output.device) for tensor in tensors], dim))

    return {
        "_broadcast": broadcast,
        "_broadcast_out": broadcast_out,
        "_broadcast_coalesced": broadcast_coalesced,
        "_scatter": scatter,
        "_scatter_out": scatter_out,
        "_gather": gather,
        "_gather_out": gather_out,
    }
