"""Errors for what PyTorch's CPU ops accept and its CUDA ops refuse: some dtypes, and ops without a CUDA kernel.

A card multiplies no matrices of integers, for instance. A program that does so must fail on a simulated card as well.

Source: the dtypes of each op in `torch/testing/_internal/common_methods_invocations.py`, PyTorch 2.13, and the ops that
have a kernel for the CPU and none for CUDA in a build with CUDA, PyTorch 2.9.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_NAMES = {
    "uint8": "Byte",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "bool": "Bool",
    "float16": "Half",
    "bfloat16": "BFloat16",
}
"""The dtypes that some CUDA op refuses, with their names in PyTorch's errors."""

_INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
_OF_PRODUCTS = (*_INTEGERS, "bool")
_SHORT_FLOATS = ("float16", "bfloat16")

_REFUSED: dict[str, tuple[str, tuple[str, ...]]] = {
    **dict.fromkeys(("mm", "addmm", "addbmm"), ("addmm_cuda", _OF_PRODUCTS)),
    **dict.fromkeys(("bmm", "baddbmm"), ("baddbmm_cuda", _OF_PRODUCTS)),
    **dict.fromkeys(("mv", "addmv"), ("addmv_impl_cuda", _OF_PRODUCTS)),
    **{name: (name, _OF_PRODUCTS) for name in ("dot", "vdot")},
    "avg_pool2d": ("avg_pool2d_out_cuda_frame", ("int64",)),
    "avg_pool3d": ("avg_pool3d_out_cuda", ("int64",)),
    "max_pool2d_with_indices": ("max_pool2d_with_indices_out_cuda_frame", _INTEGERS),
    "max_pool3d_with_indices": ("max_pool3d_with_indices_out_frame", _INTEGERS),
    "upsample_bilinear2d": ("upsample_bilinear2d_out_frame", ("uint8",)),
    "_upsample_bilinear2d_aa": ("upsample_bilinear2d_out_frame", ("uint8",)),
    "upsample_bicubic2d": ("upsample_bicubic2d_out_frame", ("uint8",)),
    "igamma": ("igamma_cuda", _SHORT_FLOATS),
    "igammac": ("igammac_cuda", _SHORT_FLOATS),
    "angle": ("angle_cuda", _SHORT_FLOATS),
    "histc": ("histc", _SHORT_FLOATS),
}
"""By op: its name in the error, and the dtypes that it refuses on a card."""

_CONVOLUTION = "convolution"
_NO_LIBRARY_TYPE = "getCudnnDataTypeFromScalarType() not supported for {}"
"""The error of a convolution, which a card leaves to cuDNN."""

_WITHOUT_KERNEL = ("histogram", "_histogramdd_bin_edges", "_histogramdd_from_bin_cts", "_histogramdd_from_bin_tensors")
"""Ops that no card has."""


def refusing(torch: Any, name: str, op: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a CPU op that refuses what the op refuses on a card.

    Args:
      torch: PyTorch.
      name: full name of the op.
      op: the CPU op.
    """
    base = name.removeprefix("aten::").partition(".")[0]
    if base in _WITHOUT_KERNEL:
        return _without_kernel(name)
    base = base.removesuffix("_")  # of the form that writes its first argument
    if base == _CONVOLUTION:
        dtypes, text, error_class = _INTEGERS, _NO_LIBRARY_TYPE, RuntimeError
    elif base in _REFUSED:
        kernel, dtypes = _REFUSED[base]
        text, error_class = f"\"{kernel}\" not implemented for '{{}}'", NotImplementedError
    else:
        return op
    errors = {getattr(torch, dtype): text.format(_NAMES[dtype]) for dtype in dtypes}

    def run(*args: Any, **kwargs: Any) -> Any:
        tensors = [value for value in args if isinstance(value, torch.Tensor)]
        error = errors.get(tensors[0].dtype) if tensors else None
        if error is not None and all([tensor.numel() for tensor in tensors]):  # a card computes nothing for empty ones
            raise error_class(error)
        return op(*args, **kwargs)

    return run


def _without_kernel(name: str) -> Callable[..., Any]:
    def refuse(*_args: Any, **_kwargs: Any) -> Any:
        raise NotImplementedError(
            f"Could not run '{name}' with arguments from the 'CUDA' backend: PyTorch has this op only for the CPU. "
            "Use tensor.cpu()."
        )

    return refuse
