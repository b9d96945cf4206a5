"""What does a CUDA error mean? nbtf's error for each, and whether the device can still be used.

Errors are recognised by class names and status numbers: importing the error classes of cuBLAS or NCCL would load those
libraries, which may be missing. Source of the numbers: NVIDIA, CUDA Runtime API, `cudaError_t`; cuBLAS,
`cublasStatus_t`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from nbtf._install import pip_install
from nbtf.errors import (
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    UnavailableError,
)

OUT_OF_MEMORY = 2
_MISSING = {
    3: "CUDA cannot start in this process, for example because it was forked from a process that had used CUDA",
    35: "the driver is older than the CUDA version that CuPy was built for",
    100: "CUDA finds no GPU",
    101: "this GPU does not exist",
    803: "the versions of driver and CUDA do not match",
    804: "the versions of driver and CUDA do not match",
}
_BUSY = frozenset({46, 802, 805})
_BROKEN = {
    214: "an uncorrectable memory error (ECC)",
    220: "an error on the link between GPUs (NVLink)",
    700: "a kernel used an illegal address",
    702: "a kernel ran too long for a GPU that drives a display (deadline exceeded)",
    710: "a kernel failed an assertion",
    **dict.fromkeys(range(714, 720), "a kernel failed"),
    999: "an unknown error",
}
"""After these errors, every later call of the process fails."""
# Answers of cuBLAS when it has no memory for its own workspace: CUBLAS_STATUS_ALLOC_FAILED, and
# CUBLAS_STATUS_NOT_INITIALIZED if hardly anything is free.
_CUBLAS_ALLOC, _CUBLAS_NOT_INITIALIZED = 3, 1
_HARDLY_ANYTHING = 64 << 20

ASYNCHRONOUS = "It may have happened in an earlier op: set NBTF_SYNC=1 to wait for each one."
_LIBRARIES = f"A library of the CUDA toolkit is missing: {pip_install('cuda12')} (or cuda13, to match your driver)."


class Meaning(NamedTuple):
    """nbtf's error for a CUDA error. `lost` is the reason if the device is lost; otherwise it is empty."""

    error: Exception
    lost: str = ""


def is_out_of_memory(error: BaseException, free: int | None = None) -> bool:
    """Returns whether an error means that the pool, the card or cuBLAS had too little memory.

    Args:
      error: the error.
      free: free bytes on the card, if known.
    """
    status = getattr(error, "status", None)
    match type(error).__name__:
        case "OutOfMemoryError":
            return True
        case "CUDARuntimeError":
            return status == OUT_OF_MEMORY
        case "CUBLASError":
            starved = free is not None and free < _HARDLY_ANYTHING
            return status == _CUBLAS_ALLOC or (status == _CUBLAS_NOT_INITIALIZED and starved)
        case _:
            return False


def meaning(error: Exception, device: str) -> Meaning:
    """Returns nbtf's error for an error that is not about memory.

    Args:
      error: the error that CuPy raised.
      device: the device as shown to users, such as `GPU:0 (NVIDIA H200)`.
    """
    if isinstance(error, OpError):
        return Meaning(error)
    name, text = type(error).__name__, str(error)
    status = getattr(error, "status", None)
    if name in ("CUDARuntimeError", "CUDADriverError") and isinstance(status, int):
        return _of_cuda(status, text, device)
    if name in ("CompileException", "NVRTCError"):
        return Meaning(_internal(f"{device}: a kernel could not be compiled: {text}\n{_LIBRARIES}"))
    if isinstance(error, ImportError):
        return Meaning(FailedPreconditionError(f"{device}: {text}\n{_LIBRARIES}"))
    if isinstance(error, NotImplementedError):
        return Meaning(InvalidArgumentError(f"{device}: CuPy does not support this: {text}"))
    if _is_ours(error, text):
        return Meaning(_internal(f"{device}: an array of another device reached a kernel: {text}"))
    if isinstance(error, (ValueError, TypeError, IndexError, ArithmeticError, MemoryError)):
        return Meaning(error)  # the road adds TensorFlow's wording; a `MemoryError` here concerns host memory
    return Meaning(_internal(f"{device}: {name}: {text}\n{ASYNCHRONOUS}"))


def _of_cuda(status: int, text: str, device: str) -> Meaning:
    if status in _MISSING:
        return Meaning(FailedPreconditionError(f"{device} cannot be used: {_MISSING[status]} ({text})."))
    if status in _BUSY:
        return Meaning(UnavailableError(f"{device} is not available now: {text}."))
    if status in _BROKEN:
        lost = (
            f"{device} is lost: {_BROKEN[status]} ({text}). CUDA can no longer be used in this process: restart it "
            f"(in a notebook, its kernel).{' Have the machine checked.' if status in (214, 220) else ''} {ASYNCHRONOUS}"
        )
        return Meaning(_internal(lost), lost)
    return Meaning(_internal(f"{device}: {text}. {ASYNCHRONOUS}"))


def _is_ours(error: Exception, text: str) -> bool:
    """Returns whether a kernel received an array of another device, which the runtime should have copied."""
    if isinstance(error, ValueError):
        return "eer access" in text
    return isinstance(error, TypeError) and ("Implicit conversion" in text or text.startswith("Unsupported type"))


def no_memory(sentence: str, advice: str) -> ResourceExhaustedError:
    """Returns an out-of-memory error, with TensorFlow's sentence first."""
    return ResourceExhaustedError(f"{sentence}\n{advice}")


def _internal(text: str) -> Any:
    return InternalError(text)
