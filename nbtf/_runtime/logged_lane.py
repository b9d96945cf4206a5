"""The express lane while only the placement log listens: prints an op's line, then runs the op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf._devices.base import Device
from nbtf._runtime.blocks import within
from nbtf._runtime.context import CURRENT
from nbtf._runtime.scopes import EMPTY, Scope


def logs(op_type: str, device: Device) -> bool:
    """Prints an op's line before the op runs; returns whether a log is set."""
    log = CURRENT.context.log
    if log is None:  # another thread has just removed the log
        return False
    log(op_type, device.name)
    return True


def untold(road: Callable[..., Any], *arguments: Any) -> Any:
    """Runs an op on the road without logging it again, because its line is already printed."""
    with within(_untold_scope):
        return road(*arguments)


class _UntoldScope(Scope):
    """The scope for an op that the log has already printed; otherwise it behaves like no scope."""

    __slots__ = ()
    silent = True


def _untold_scope(outer: Scope) -> Scope:
    assert outer is EMPTY
    return _UntoldScope()
