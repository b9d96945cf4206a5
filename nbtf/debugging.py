"""`tf.debugging`: the placement log, and checks of values."""

from __future__ import annotations

import builtins
import sys
from typing import Any

from nbtf._devices.sites import warn
from nbtf._ops.debugging.shapes_and_dtypes import assert_integer as assert_integer
from nbtf._ops.debugging.shapes_and_dtypes import assert_proper_iterable as assert_proper_iterable
from nbtf._ops.debugging.shapes_and_dtypes import assert_rank as assert_rank
from nbtf._ops.debugging.shapes_and_dtypes import assert_rank_at_least as assert_rank_at_least
from nbtf._ops.debugging.shapes_and_dtypes import assert_rank_in as assert_rank_in
from nbtf._ops.debugging.shapes_and_dtypes import assert_same_float_dtype as assert_same_float_dtype
from nbtf._ops.debugging.shapes_and_dtypes import assert_scalar as assert_scalar
from nbtf._ops.debugging.shapes_and_dtypes import assert_shapes as assert_shapes
from nbtf._ops.debugging.shapes_and_dtypes import assert_type as assert_type
from nbtf._ops.debugging.values import Assert as Assert
from nbtf._ops.debugging.values import assert_all_finite as assert_all_finite
from nbtf._ops.debugging.values import assert_equal as assert_equal
from nbtf._ops.debugging.values import assert_greater as assert_greater
from nbtf._ops.debugging.values import assert_greater_equal as assert_greater_equal
from nbtf._ops.debugging.values import assert_less as assert_less
from nbtf._ops.debugging.values import assert_less_equal as assert_less_equal
from nbtf._ops.debugging.values import assert_near as assert_near
from nbtf._ops.debugging.values import assert_negative as assert_negative
from nbtf._ops.debugging.values import assert_non_negative as assert_non_negative
from nbtf._ops.debugging.values import assert_non_positive as assert_non_positive
from nbtf._ops.debugging.values import assert_none_equal as assert_none_equal
from nbtf._ops.debugging.values import assert_positive as assert_positive
from nbtf._ops.debugging.values import check_numerics as check_numerics
from nbtf._public import public_names as _public_names
from nbtf._runtime.arguments import check_flag
from nbtf._runtime.context import CURRENT


def __dir__() -> list[str]:
    return _public_names(__name__)


def set_log_device_placement(enabled: bool | None) -> None:
    """Starts or stops printing `Executing op MatMul in device ...` for every op before it runs.

    Works at any time, in both directions (in TensorFlow only before the first op). In a notebook, lines go to the
    stdout of the running cell; in a script, to stderr.

    Args:
      enabled: whether to print; None means no.

    Raises:
      TypeError: if `enabled` is not a truth value.
    """
    prints = enabled is not None and check_flag(enabled)
    in_notebook = "__IPYTHON__" in builtins.__dict__
    CURRENT.context.set_log((_print_in_cell if in_notebook else _print_to_stderr) if prints else None)


def enable_check_numerics(stack_height_limit: int = 30, path_length_limit: int = 50) -> None:
    """Makes every op raise an error if its result contains an infinity or NaN, in eager code and in sessions. Slow.

    Constants are not checked, nor are ops that only pass values on, such as `tf.reshape`.

    Args:
      stack_height_limit: accepted and ignored; Python's traceback shows where the op was called.
      path_length_limit: accepted and ignored, like `stack_height_limit`.

    >>> tf.debugging.enable_check_numerics()
    >>> tf.math.log(-1.0)
    Traceback (most recent call last):
        ...
    nbtf.errors.InvalidArgumentError: ...Detected Infinity or NaN in output 0 of eagerly-executing op "Log"...
    >>> tf.debugging.disable_check_numerics()
    """
    CURRENT.context.change(check_numerics=True)


def disable_check_numerics() -> None:
    """Undoes `enable_check_numerics`."""
    CURRENT.context.change(check_numerics=False)


def get_log_device_placement() -> bool:
    """Returns whether the placement of ops is printed."""
    return CURRENT.context.log is not None


def disable_traceback_filtering() -> None:
    """Makes `is_traceback_filtering_enabled` return False, and notebooks show every frame of out-of-memory errors."""
    CURRENT.context.change(filters_tracebacks=False)


def enable_traceback_filtering() -> None:
    """Makes `is_traceback_filtering_enabled` return True; notebooks then fold libraries in out-of-memory errors."""
    CURRENT.context.change(filters_tracebacks=True)


def is_traceback_filtering_enabled() -> bool:
    """Returns the last setting of traceback filtering; True by default."""
    return CURRENT.context.settings.filters_tracebacks


def _print_in_cell(op: str, device: str) -> None:
    try:
        sys.stdout.write(f"Executing op {op} in device {device}\n")
    except _UNWRITABLE as error:
        _switch_off(error)


def _print_to_stderr(op: str, device: str) -> None:
    try:
        sys.stderr.write(f"Executing op {op} in device {device}\n")
    except _UNWRITABLE as error:
        _switch_off(error)


_UNWRITABLE = (OSError, ValueError, AttributeError)
"""Errors of a stream that is full, closed, or missing."""


def _switch_off(error: Exception) -> None:
    """Stops the log, because a log that cannot be written must not stop the program."""
    CURRENT.context.set_log(None)
    warn(f"the placement log was switched off: {type(error).__name__}: {error}")


def is_numeric_tensor(tensor: Any) -> bool:
    """Returns whether a value is a tensor of numbers."""
    dtype = getattr(tensor, "dtype", None)
    return dtype is not None and hasattr(tensor, "numpy") and dtype.is_numeric
