"""The express lane: the CPU runs plain ops on arrays alone while nothing listens."""

from __future__ import annotations

from nbtf._devices.base import Device
from nbtf._runtime.placement import Machine
from nbtf._runtime.scopes import HERE, Request, Scope


def open_lane(machine: Machine | None) -> None:
    """Opens the lane if a machine's plain ops run on the CPU; closes it for any other machine, or None."""
    first = None if machine is None else machine.first
    HERE.device = first if first is not None and first.type == "CPU" else None


def close_lane() -> None:
    """Sends every op down the road until the lane is opened again."""
    HERE.device = None


def lane_of(request: Request | None) -> Device | None:
    """Returns the CPU if its lane is open and serves plain ops under a request, otherwise None."""
    device = HERE.device
    if device is None or request is None or request.name is None or request.name == device.name:
        return device
    return None


def set_watched(watched: bool) -> None:
    """Sets whether code declares its phase and layer: if something listens, and while a function is traced."""
    HERE.watched = watched


def lane_at(scope: Scope | None) -> Device | None:
    """Returns the CPU whose express lane is open for plain ops in a scope; None if it is closed.

    While it is open, nothing listens, so that code may compute with the arrays of tensors on this device.
    """
    device = HERE.device
    return device if device is not None and (scope is None or scope.lane is device) else None


def with_open_lane(scope: Scope) -> Scope:
    """Returns a new scope, with the lane open if its request and the rest of it allow that."""
    if scope.plain:
        scope.lane = lane_of(scope.request)
    return scope


def is_watched() -> bool:
    """Returns whether the placement log or an observer is set."""
    return HERE.watched
