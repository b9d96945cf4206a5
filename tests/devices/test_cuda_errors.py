"""Which error of ours is one of CUDA's? Known by names of classes and numbers, so that none need be imported."""

from __future__ import annotations

import re
from typing import Any

import pytest

from nbtf import errors
from nbtf._devices.cuda.errors import is_out_of_memory, meaning
from nbtf._install import pip_install
from tests.fake_cupy.memory import OutOfMemoryError
from tests.fake_cupy.runtime import CUDARuntimeError


def named(kind: str, text: str = "text", status: int | None = None, base: type[Exception] = RuntimeError) -> Any:
    """Makes an error of a class with this name, as libraries have them that may be missing."""
    return type(kind, (base,), {} if status is None else {"status": status})(text)


@pytest.mark.parametrize(
    ("error", "free", "expected"),
    [
        (OutOfMemoryError(512, 0), None, True),
        (CUDARuntimeError(2), None, True),
        (CUDARuntimeError(700), None, False),
        (named("CUBLASError", status=3), None, True),
        (named("CUBLASError", status=1), 63 << 20, True),
        (named("CUBLASError", status=1), 64 << 20, False),
        (named("CUBLASError", status=1), None, False),
        (MemoryError(), None, False),
    ],
)
def test_memory_runs_out_in_several_ways(error: Exception, free: int | None, expected: bool) -> None:
    assert expected == is_out_of_memory(error, free)


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (CUDARuntimeError(101), errors.FailedPreconditionError, "this GPU does not exist"),
        (CUDARuntimeError(100), errors.FailedPreconditionError, "CUDA finds no GPU"),
        (CUDARuntimeError(35), errors.FailedPreconditionError, "older than the CUDA version"),
        (CUDARuntimeError(803), errors.FailedPreconditionError, "do not match"),
        (CUDARuntimeError(46), errors.UnavailableError, "busy or unavailable"),
        (CUDARuntimeError(805), errors.UnavailableError, "not available now"),
        (CUDARuntimeError(12345), errors.InternalError, "NBTF_SYNC=1"),
        (named("CUDADriverError", "CUDA_ERROR_UNKNOWN", 999), errors.InternalError, "is lost"),
        (named("CUBLASError", "CUBLAS_STATUS_EXECUTION_FAILED", 13), errors.InternalError, "NBTF_SYNC=1"),
        (named("CompileException", base=Exception), errors.InternalError, "could not be compiled"),
        (named("NVRTCError"), errors.InternalError, "pip install"),
        (
            ImportError("Failure finding libcublasLt.so"),
            errors.FailedPreconditionError,
            re.escape(pip_install("cuda12")),
        ),
        (NotImplementedError("no such reduction"), errors.InvalidArgumentError, "no such reduction"),
        (ValueError("Peer access is unavailable"), errors.InternalError, "array of another device"),
        (TypeError("Implicit conversion to a NumPy array"), errors.InternalError, "array of another device"),
        (TypeError("Unsupported type <class 'numpy.ndarray'>"), errors.InternalError, "array of another device"),
        (RuntimeError("who knows"), errors.InternalError, "RuntimeError: who knows"),
    ],
)
def test_each_error_has_a_meaning(error: Exception, kind: type[Exception], text: str) -> None:
    found = meaning(error, "GPU:0 (Fake GPU)")

    assert kind is type(found.error)
    with pytest.raises(kind, match=text):
        raise found.error


@pytest.mark.parametrize("error", [ValueError("shapes"), TypeError("what?"), IndexError("5"), MemoryError("no paper")])
def test_errors_of_array_code_pass_to_the_road(error: Exception) -> None:
    assert error is meaning(error, "GPU:0").error


@pytest.mark.parametrize("error", [errors.InvalidArgumentError(None, None, "ours")])
def test_errors_of_ours_pass_as_they_are(error: Exception) -> None:
    assert error is meaning(error, "GPU:0").error


@pytest.mark.parametrize("status", [214, 220, 700, 702, 710, 714, 715, 716, 717, 718, 719, 999])
def test_after_some_errors_the_process_has_no_gpu(status: int) -> None:
    found = meaning(CUDARuntimeError(status), "GPU:0 (Fake GPU)")

    assert found.lost.startswith("GPU:0 (Fake GPU) is lost: ")
    assert "restart" in found.lost
    assert (status in (214, 220)) == ("machine checked" in found.lost)


@pytest.mark.parametrize("status", [1, 35, 46, 101, 12345])
def test_others_leave_the_device_alone(status: int) -> None:
    assert "" == meaning(CUDARuntimeError(status), "GPU:0").lost
