"""Does a solver on a GPU say that it failed? CuPy looks only when it is told to, for the host must wait for that."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

_ON_CPU = nullcontext()
REPORTED = "devInfo"
"""Stands in what CuPy then raises. Source: `_check_cusolver_dev_info_if_synchronization_allowed` of CuPy 14."""


def failing(xp: Any) -> AbstractContextManager[Any]:
    """Returns a block in which solvers raise `LinAlgError` where they fail, as NumPy's do.

    Without it CuPy returns numbers that mean nothing. TensorFlow's kernels look, too, on every kind of device.
    """
    if xp.__name__ == "numpy":
        return _ON_CPU
    import cupyx  # pyright: ignore[reportMissingImports]  # it comes with CuPy

    return cupyx.errstate(linalg="raise")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
