"""`tf.debugging`: the placement log, and checks of values."""

from __future__ import annotations

import sys
from typing import Any

from nbtf._runtime.context import CURRENT, Context
from nbtf._runtime.events import Event, OpPlaced

__all__ = ["get_log_device_placement", "is_numeric_tensor", "set_log_device_placement"]


def __dir__() -> list[str]:
    return __all__


def set_log_device_placement(enabled: bool | None) -> None:
    """Prints, or no longer prints, `Executing op MatMul in device ...` for every op, before it runs.

    Works at any time, in both directions (TensorFlow's works before the first op only). Lines go to the stdout of
    the running cell in a notebook, to stderr in a script.

    Args:
      enabled: whether to print; None means no.

    Raises:
      TypeError: not a truth value.
    """
    if enabled is not None and not hasattr(enabled, "__index__"):
        raise TypeError(f"'{type(enabled).__name__}' object cannot be interpreted as an integer: give True or False")
    _log_on(CURRENT.context, bool(enabled))


def get_log_device_placement() -> bool:
    """Returns whether the placement of ops is printed."""
    return CURRENT.context.settings.log_placement


def _log_on(context: Context, enabled: bool) -> None:
    if enabled == context.settings.log_placement:
        return
    context.settings.log_placement = enabled
    if enabled:
        context.stop_log = context.observers.add(_print_placement)
    else:
        context.stop_log()


def _print_placement(event: Event) -> None:
    """Prints the line of an op that was placed."""
    if isinstance(event, OpPlaced):
        print(f"Executing op {event.op} in device {event.device}", file=_stream())  # the log


def _stream() -> Any:
    """The cell's stdout in a notebook; IPython leaves its mark in `builtins`."""
    import builtins

    return sys.stdout if hasattr(builtins, "__IPYTHON__") else sys.stderr


def is_numeric_tensor(tensor: Any) -> bool:
    """Tells whether something is a tensor of numbers."""
    dtype = getattr(tensor, "dtype", None)
    return dtype is not None and hasattr(tensor, "numpy") and dtype.is_numeric
