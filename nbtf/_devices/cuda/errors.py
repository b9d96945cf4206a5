"""What does an error of CUDA's mean? nbtf's error for each, and whether the device can still be used.

Errors are known by the names of their classes and their status numbers: importing the classes of cuBLAS or NCCL loads
those libraries, which may be missing. Source of the numbers: NVIDIA, CUDA Runtime API, `cudaError_t`; cuBLAS,
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
    3: "CUDA cannot start in this process, as in one that was forked from a process that had asked for its GPUs",
    35: "the driver is older than the CUDA that CuPy was built for",
    100: "CUDA finds no GPU",
    101: "there is no such GPU",
    803: "the driver and CUDA do not fit together",
    804: "the driver and CUDA do not fit together",
}
_BUSY = frozenset({46, 802, 805})
_BROKEN = {
    214: "an uncorrectable memory error (ECC)",
    220: "an error of the link between GPUs (NVLink)",
    700: "a kernel used an illegal address",
    702: "a kernel ran too long for a GPU that drives a display (deadline exceeded)",
    710: "a kernel failed an assertion",
    **dict.fromkeys(range(714, 720), "a kernel failed"),
    999: "an unknown error",
}
"""After these every later call of the process fails."""
# What cuBLAS answers when it finds no memory for its own workspace: CUBLAS_STATUS_ALLOC_FAILED, and
# CUBLAS_STATUS_NOT_INITIALIZED while hardly anything is free.
_CUBLAS_ALLOC, _CUBLAS_NOT_INITIALIZED = 3, 1
_HARDLY_ANYTHING = 64 << 20

ASYNCHRONOUS = "It may have happened in an earlier op: set NBTF_SYNC=1 to wait for each one."
_LIBRARIES = f"A library of the CUDA toolkit is missing: {pip_install('cuda12')}; or cuda13, as your driver wants it."


class Meaning(NamedTuple):
    """What came of an error. `lost` says why the device cannot be used any more; nothing where it can."""

    error: Exception
    lost: str = ""


def is_out_of_memory(error: BaseException, free: int | None = None) -> bool:
    """Tells whether there was no memory, of the pool, of the card, or for cuBLAS.

    Args:
      error: what was raised.
      free: bytes that nobody has taken on the card, where known.
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
    """Returns nbtf's error for one that is not about memory.

    Args:
      error: what CuPy raised.
      device: whose it is, `GPU:0 (NVIDIA H200)`.
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
        return Meaning(InvalidArgumentError(f"{device}: CuPy cannot do this: {text}"))
    if _is_ours(error, text):
        return Meaning(_internal(f"{device}: an array of another device reached a kernel: {text}"))
    if isinstance(error, (ValueError, TypeError, IndexError, ArithmeticError, MemoryError)):
        return Meaning(error)  # the road says in TensorFlow's words what is wrong; such memory is the computer's
    return Meaning(_internal(f"{device}: {name}: {text}\n{ASYNCHRONOUS}"))


def _of_cuda(status: int, text: str, device: str) -> Meaning:
    if status in _MISSING:
        return Meaning(FailedPreconditionError(f"{device} cannot be used: {_MISSING[status]} ({text})."))
    if status in _BUSY:
        return Meaning(UnavailableError(f"{device} is not available now: {text}."))
    if status in _BROKEN:
        lost = (
            f"{device} is lost: {_BROKEN[status]} ({text}). CUDA cannot be used in this process any more: restart it "
            f"(in a notebook, its kernel).{' Have the machine checked.' if status in (214, 220) else ''} {ASYNCHRONOUS}"
        )
        return Meaning(_internal(lost), lost)
    return Meaning(_internal(f"{device}: {text}. {ASYNCHRONOUS}"))


def _is_ours(error: Exception, text: str) -> bool:
    """Tells whether a kernel was given what belongs elsewhere, which the runtime should have copied."""
    if isinstance(error, ValueError):
        return "eer access" in text
    return isinstance(error, TypeError) and ("Implicit conversion" in text or text.startswith("Unsupported type"))


def no_memory(sentence: str, advice: str) -> ResourceExhaustedError:
    """Returns the error of memory that ran out, TensorFlow's sentence first."""
    return ResourceExhaustedError(f"{sentence}\n{advice}")


def _internal(text: str) -> Any:
    return InternalError(text)
