"""Support for bfloat16 and float8: which ops accept them, and how kernels written for NumPy's floats compute in it.

NumPy's own functions compute in bfloat16. Other kernels get float32 copies, and their results are rounded once per op,
as most TensorFlow CPU kernels do. The dtype sets of the fast lanes do not contain bfloat16, so it always takes
the road.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from nbtf._types import OF_ML_DTYPES, DType, bfloat16, float16, string
from nbtf.errors import NotFoundError

if TYPE_CHECKING:
    from nbtf._ops.op import Op

_WITHOUT_KERNEL = frozenset({"Diag", "DiagPart", "LRN", "LRNGrad", "MatrixTriangularSolve", "Rint", "TruncateMod"})
"""Declared for bfloat16, but without a kernel for it. Source: TensorFlow 2.21's registrations for CPUs."""

_NOT_DECLARED = frozenset(
    {"AdjustContrastv2", "AdjustHue", "AdjustSaturation", "CropAndResize", "CropAndResizeGradBoxes"}
    | {"StatefulRandomBinomial", "StatelessRandomBinomial", "StatelessRandomGammaV3"}
)
"""Declared for float16 only. Source: TensorFlow 2.21's op definitions; all other ops with float16 have bfloat16."""

_ON_THE_VALUES = frozenset({"Bitcast", "SerializeTensor", "UnsortedSegmentMax", "UnsortedSegmentMin"})
"""Ops whose kernels read the bits or the limits of the dtype."""

_READ_STRINGS = frozenset(
    {"Add", "AsString", "Equal", "NotEqual", "SerializeTensor", "Unique", "UniqueV2", "UniqueWithCounts"}
    | {"UniqueWithCountsV2"}
)
"""Ops that compute with strings. All others that accept strings only move values, so they accept float8 as well."""

_STEP_BY_STEP = frozenset(
    {"AddN", "Cumprod", "Cumsum", "LogSoftmax", "SparseSoftmaxCrossEntropyWithLogits", "TanhGrad", "Xlog1py"}
)
"""Ops with several steps, each of which TensorFlow rounds; one final rounding would give another result."""


def takes_bfloat16(op: Op, dtype: DType, allowed: frozenset[DType]) -> bool:
    """Returns whether an op supports bfloat16 or float8, which its dtype set lacks; if so, prepares its kernel.

    Args:
      op: the op.
      dtype: the dtype of an input.
      allowed: the NumPy dtypes that the input may have.

    Raises:
      NotFoundError: if TensorFlow declares the op for bfloat16 but has no kernel for it.
    """
    if dtype is not bfloat16:
        return dtype in OF_ML_DTYPES and string in allowed and op.type not in _READ_STRINGS
    if op.type in _WITHOUT_KERNEL:
        raise NotFoundError(
            f"Could not find device for node: {{{{node {op.type}}}}} = {op.type}[T=DT_BFLOAT16]\n"
            f"No kernel of {op.type} computes in bfloat16: cast its inputs to float32. [Op:{op.type}] name: "
        )
    if float16 not in allowed or op.type in _NOT_DECLARED:
        return False
    computes_by_itself = op.function or op.shares_memory or op.type in _ON_THE_VALUES | _STEP_BY_STEP
    if not computes_by_itself and not hasattr(op.kernel, "in_float32"):
        op.kernel = _in_float32(op)
    return True


def _in_float32(op: Op) -> Callable[..., Any]:
    """Returns an op's kernel, wrapped to accept bfloat16 arrays as well."""
    kernel = op.kernel

    @wraps(kernel)
    def computing_in_float32(xp: Any, *values: Any, **attrs: Any) -> Any:
        if not any([_is_bfloat16(value) for value in values]):
            return kernel(xp, *values, **attrs)
        results = kernel(xp, *[_widened(xp, value) for value in values], **attrs)
        rounded = [make.place is not None and _is_bfloat16(values[make.place]) for make in op._makes]
        if results.__class__ is not tuple and results.__class__ is not list:
            return _narrowed(xp, results) if rounded[0] else results
        if len(rounded) == 1:
            rounded *= len(results)
        pairs = zip(results, rounded, strict=True)
        return [_narrowed(xp, result) if is_rounded else result for result, is_rounded in pairs]

    computing_in_float32.__dict__["in_float32"] = True
    return computing_in_float32


def _is_bfloat16(value: Any) -> bool:
    if value.__class__ is list:
        return bool(value) and _is_bfloat16(value[0])
    return getattr(value, "dtype", None) == bfloat16.np_dtype


def _widened(xp: Any, value: Any) -> Any:
    if not _is_bfloat16(value):
        return value
    return [array.astype(xp.float32) for array in value] if value.__class__ is list else value.astype(xp.float32)


def _narrowed(xp: Any, result: Any) -> Any:
    return xp.asarray(result).astype(bfloat16.np_dtype)
