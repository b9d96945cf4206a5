"""Which library allocated a piece of memory for its own use? The innermost call that belongs to a library decides."""

from __future__ import annotations

import re
from typing import NamedTuple

from nbtf._snapshots.lines import is_own
from nbtf._snapshots.snapshot import Frame, Stack

# Functions of libraries below PyTorch's ops, as C++ stacks of PyTorch 2.13 name them: aten/src/ATen/cuda,
# aten/src/ATen/native/cudnn, aten/src/ATen/native/transformers/cuda and torch/csrc/distributed/c10d.
_BELOW = {
    "cuBLAS": r"cublas|CUDABlas|at::cuda::blas|hipblas|rocblas",
    "cuDNN": r"cudnn|miopen",
    "NCCL": r"nccl|\brccl",
    "attention": r"flash_attn|flash_attention|pytorch_flash|efficient_attention|fmha|mem_eff",
    "cuSOLVER": r"cusolver|hipsolver",
    "cuSPARSE": r"cusparse|hipsparse",
    "cuFFT": r"cufft|hipfft",
    "MAGMA": r"magma",
    "CUB": r"\bcub::",
    "symmetric memory": r"symmetric_memory|nvshmem",
}
_PATTERNS = [(name, re.compile(pattern, re.IGNORECASE)) for name, pattern in _BELOW.items()]
_PACKAGE = re.compile(r"/(?:site|dist)-packages/([A-Za-z_]\w*)")
_COMPILED = re.compile(r"torchinductor_|/torch/_inductor/|/triton/")
_PYTORCH = {"torch", "nbtf"}


class LibraryCall(NamedTuple):
    """A library, and the innermost of its calls that a stack shows."""

    library: str
    function: str


def library_call_of(stack: Stack) -> LibraryCall | None:
    """Returns the innermost call of a library other than PyTorch before the user's line; None if there is none.

    >>> frames = [
    ...     ("??", 0, "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(unsigned long)"),
    ...     ("??", 0, "at::cuda::getCurrentCUDABlasHandle()"),
    ...     ("??", 0, "at::native::addmm_out_cuda_impl(at::Tensor&, at::Tensor const&)"),
    ...     ("/home/ann/train.py", 9, "step"),
    ... ]
    >>> library_call_of(tuple(Frame(*frame) for frame in frames))
    LibraryCall(library='cuBLAS', function='at::cuda::getCurrentCUDABlasHandle')
    """
    for frame in stack:
        if is_own(frame.file):
            return None
        library = _library_of(frame)
        if library:
            return LibraryCall(library, frame.function.partition("(")[0] or frame.function)
    return None


def _library_of(frame: Frame) -> str:
    path = frame.file.replace("\\", "/")
    if _COMPILED.search(path):
        return "compiled code"
    package = _PACKAGE.search(path)
    if package:
        return "" if package[1] in _PYTORCH else package[1]
    return next((name for name, pattern in _PATTERNS if pattern.search(frame.function)), "")
