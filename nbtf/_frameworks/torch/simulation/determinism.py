"""The errors of `torch.use_deterministic_algorithms` for ops that are not deterministic on a card.

The CPU ops that run here are deterministic, so they raise no error themselves.
Source: the documentation of `torch.use_deterministic_algorithms` in PyTorch 2.13, which lists the operations.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from nbtf._frameworks.torch.simulation.machine import Machine

_MAXIMUM = 2
"""The mode of embedding bags that returns the maximum."""
_Arguments = Mapping[str, Any]


def _always(_arguments: _Arguments) -> bool:
    return True


def _is_inexact(arguments: _Arguments) -> bool:
    dtype = arguments.get("dtype") or arguments["self"].dtype
    return dtype.is_floating_point or dtype.is_complex


_OPS: dict[str, tuple[str, Callable[[_Arguments], bool]]] = {
    "avg_pool3d_backward": ("avg_pool3d_backward_cuda", _always),
    "_adaptive_avg_pool2d_backward": ("adaptive_avg_pool2d_backward_cuda", _always),
    "_adaptive_avg_pool3d_backward": ("adaptive_avg_pool3d_backward_cuda", _always),
    "adaptive_max_pool2d_backward": ("adaptive_max_pool2d_backward_cuda", _always),
    "fractional_max_pool2d_backward": ("fractional_max_pool2d_backward_cuda", _always),
    "fractional_max_pool3d_backward": ("fractional_max_pool3d_backward_cuda", _always),
    "upsample_linear1d_backward": ("upsample_linear1d_backward_out_cuda", _always),
    "upsample_bilinear2d_backward": ("upsample_bilinear2d_backward_out_cuda", _always),
    "upsample_bicubic2d_backward": ("upsample_bicubic2d_backward_out_cuda", _always),
    "upsample_trilinear3d_backward": ("upsample_trilinear3d_backward_out_cuda", _always),
    "reflection_pad1d_backward": ("reflection_pad1d_backward_out_cuda", _always),
    "reflection_pad2d_backward": ("reflection_pad2d_backward_cuda", _always),
    "reflection_pad3d_backward": ("reflection_pad3d_backward_out_cuda", _always),
    "grid_sampler_2d_backward": ("grid_sampler_2d_backward_cuda", _always),
    "grid_sampler_3d_backward": ("grid_sampler_3d_backward_cuda", _always),
    "nll_loss2d_forward": ("nll_loss2d_forward_out_cuda_template", lambda arguments: arguments["reduction"] != 0),
    "_ctc_loss_backward": ("ctc_loss_backward_gpu", _always),
    "_embedding_bag_dense_backward": (
        "embedding_bag_backward_cuda_max",
        lambda arguments: arguments["mode"] == _MAXIMUM,
    ),
    "histc": ("_histc_cuda with floating point input", _is_inexact),
    "bincount": ("_bincount_cuda", lambda arguments: arguments.get("weights") is not None),
    "median": ("median CUDA with indices output", lambda arguments: "dim" in arguments),
    "nanmedian": ("median CUDA with indices output", lambda arguments: "dim" in arguments),
    "cumsum": ("cumsum_cuda_kernel", _is_inexact),
    "scatter_reduce": ("scatter_reduce_cuda_prod_", lambda arguments: arguments["reduce"] == "prod"),
    "scatter_reduce_": ("scatter_reduce_cuda_prod_", lambda arguments: arguments["reduce"] == "prod"),
}
"""By op: the name in PyTorch's error text, and whether a call with these arguments is not deterministic."""


def deterministic_only(machine: Machine, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a kernel that raises PyTorch's error if only deterministic algorithms are allowed.

    Args:
      machine: machine with the devices.
      name: full name of the op; ops that are deterministic on a card keep their kernel.
      kernel: kernel of the op.
    """
    base, _, overload = name.removeprefix("aten::").partition(".")
    if base not in _OPS:
        return kernel
    text, is_affected = _OPS[base]
    torch = machine.torch
    names = [argument.name for argument in torch._C._get_schema(f"aten::{base}", overload).arguments]

    def run(*args: Any, **kwargs: Any) -> Any:
        if torch.are_deterministic_algorithms_enabled() and is_affected(dict(zip(names, args, strict=False)) | kwargs):
            _alert(torch, text)
        return kernel(*args, **kwargs)

    return run


def _alert(torch: Any, name: str) -> None:
    """Raises PyTorch's error for an op, or warns if only warnings were requested.

    Raises:
      RuntimeError: if errors were requested.
    """
    if torch.is_deterministic_algorithms_warn_only_enabled():
        warnings.warn(f"{name} does not have a deterministic implementation.", UserWarning, stacklevel=3)
        return
    cpu_name = "put_"  # an op that raises this error on the CPU
    try:
        torch.zeros(1, device="cpu").put_(torch.zeros(1, dtype=torch.long, device="cpu"), torch.zeros(1, device="cpu"))
    except RuntimeError as error:
        raise RuntimeError(str(error).replace(cpu_name, name, 1)) from None
