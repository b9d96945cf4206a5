"""What the express lane does while the placement log, and nobody else, listens: it has the op's line printed first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf._devices.base import Device
from nbtf._runtime.blocks import within
from nbtf._runtime.context import CURRENT
from nbtf._runtime.scopes import EMPTY, Scope


def logs(op_type: str, device: Device) -> bool:
    """Has the line of an op printed, before it runs; tells whether there is a log."""
    log = CURRENT.context.log
    if log is None:  # another thread has just ended it
        return False
    log(op_type, device.name)
    return True


def untold(road: Callable[..., Any], *arguments: Any) -> Any:
    """Returns, or raises, what an op does on the road, whose line is printed already."""
    with within(_untold_scope):
        return road(*arguments)


class _UntoldScope(Scope):
    """The scope in which an op runs again of which the log has been told: as if nothing were open."""

    __slots__ = ()
    silent = True


def _untold_scope(outer: Scope) -> Scope:
    assert outer is EMPTY
    return _UntoldScope()
