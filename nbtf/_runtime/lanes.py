"""The devices with an open express lane in this process, for plain ops and while recorders listen."""

from __future__ import annotations

from nbtf._devices.base import Device
from nbtf._runtime.placement import Machine
from nbtf._runtime.scopes import HERE, Request, Scope


def open_lanes(machine: Machine | None, quiet: bool, only_recorders: bool, only_log: bool) -> None:
    """Opens the lanes of a machine's devices, and closes all others.

    Args:
      machine: the machine in use; None if no devices were created.
      quiet: whether nothing listens, and plain ops run on the first device.
      only_recorders: whether all listeners are recorders, which the lane can serve as well.
      only_log: whether plain ops run on the first device, and only the placement log listens.
    """
    first = machine.first if machine is not None and quiet else None
    HERE.device = first if first is not None and first.type == "CPU" else None
    devices = machine.by_name.values() if machine is not None and quiet else ()
    HERE.elsewhere = frozenset([device for device in devices if device.lane and device is not HERE.device])
    HERE.first = first if first is HERE.device or first in HERE.elsewhere else None
    recording = machine.devices if machine is not None and only_recorders else ()
    HERE.recorded = frozenset([device for device in recording if device.records_in_lane])
    logging = machine.first if machine is not None and only_log else None
    HERE.logged = logging if logging is not None and logging.type == "CPU" else None


def close_lanes() -> None:
    """Sends every op down the road until lanes are opened again."""
    HERE.device, HERE.first, HERE.logged = None, None, None
    HERE.elsewhere = HERE.recorded = frozenset()


def lane_of(request: Request | None, machine: Machine) -> Device | None:
    """Returns the device whose lane may serve plain ops under a request; None if there is none."""
    if request is None or request.name is None:
        return HERE.first
    device = machine.by_name.get(request.name)
    return device if device is HERE.device or device in HERE.elsewhere else None


def is_watched() -> bool:
    """Returns whether the placement log or an observer is set."""
    return HERE.watched


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
    """Returns a new scope, with the lane of its request open if the scope allows one."""
    if (
        HERE.device is not None
        and scope.plain
        and (scope.request is None or scope.request.name in (None, HERE.device.name))
    ):
        scope.lane = HERE.device
    return scope
