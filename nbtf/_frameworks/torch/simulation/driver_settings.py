"""Settings of CUDA libraries that simulated devices keep or accept only with one value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_CUDNN_BENCHMARKS = 10
"""PyTorch's default of `torch.backends.cudnn.benchmark_limit`."""


def settings() -> dict[str, Callable[..., Any]]:
    """Returns the driver functions that change or read settings, by their names without `_cuda_`."""
    limits = [_CUDNN_BENCHMARKS]

    def set_limit(limit: int) -> None:
        limits[0] = limit

    return {
        "get_cudnn_benchmark_limit": lambda: limits[0],
        "set_cudnn_benchmark_limit": set_limit,
        "cudaCachingAllocator_enable": _only(
            True,
            "torch.cuda.memory.caching_allocator_enable(False) is not available on simulated GPUs: "
            "they always use a caching allocator.",
        ),
        "set_sync_debug_mode": _only(
            0,
            "torch.cuda.set_sync_debug_mode is not available on simulated GPUs: every op is finished when it returns, "
            "so nothing synchronizes.",
        ),
        **{
            name: _only(
                False,
                "TunableOp is not available on simulated GPUs: no kernels of a card run, so none can be tuned. "
                "Turn it off.",
            )
            for name in ("tunableop_enable", "tunableop_tuning_enable", "record_untuned_enable")
        },
    }


def _only(accepted: Any, text: str) -> Callable[[Any], None]:
    """Returns a function that accepts one value of a setting, and refuses all others."""

    def set_value(value: Any) -> None:
        if value != accepted:
            raise NotImplementedError(text)

    return set_value
