"""Does a solver on a GPU report that it failed? CuPy checks only on request, because the check makes the host wait."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

_ON_CPU = nullcontext()
REPORTED = "devInfo"
"""Part of the error text that CuPy raises. Source: `_check_cusolver_dev_info_if_synchronization_allowed`, CuPy 14."""


def failing(xp: Any) -> AbstractContextManager[Any]:
    """Returns a block in which failing solvers raise `LinAlgError`, as NumPy's do.

    Outside the block, CuPy returns meaningless numbers. TensorFlow's kernels also check, on every kind of device.
    """
    if xp.__name__ == "numpy":
        return _ON_CPU
    import cupyx  # pyright: ignore[reportMissingImports]  # part of CuPy

    return cupyx.errstate(linalg="raise")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
