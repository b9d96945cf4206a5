"""Which device runs an op, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from nbtf._devices.base import Device
from nbtf._devices.names import short_name
from nbtf._runtime.arguments import check_has, check_text
from nbtf._runtime.events import Reason
from nbtf._runtime.scopes import Request
from nbtf._types import DType
from nbtf.errors import InvalidArgumentError, MissingDeviceError

KINDS = {
    "explicit scope": "asked for by tf.device",
    "cell": "asked for by the cell",
    "session default": "the default device of this session",
    "lowest-numbered GPU": "lowest-numbered GPU",
    "no GPU": "no GPU",
    "no kernel on GPU": "no GPU kernel for {detail}",
    "soft placement": "asked for {detail}, soft placement",
    "follows variable": "follows variable {detail}",
    "host-memory dtype": "{detail} values are kept in host memory",
    "replica of a strategy": "replica {detail} of a strategy",
    "session placer": "placed by the session: {detail}",
}
"""The kinds of reasons and how they read; the list may grow."""


def in_words(op: str, device: str, reason: Reason) -> str:
    """Returns a reason as people read it: `GPU:0: asked for GPU:7, soft placement`."""
    short = short_name(check_text(device, "device"))
    check_has(reason, "kind", "reason", "a reason")
    text = KINDS.get(reason.kind, reason.kind).format(detail=reason.detail or op)
    return f"{short}: {text}"


class Placeable(Protocol):
    """An op, as far as placing it goes."""

    type: str

    def has_kernel(self, device_type: str, dtypes: Sequence[DType]) -> bool:
        """Tells whether the op can run on such a device with inputs of these dtypes."""
        ...


class Machine(NamedTuple):
    """What placement needs to know of devices and settings.

    `devices` are in order of priority, GPUs first; `host` is CPU:0, where Python values come from.
    """

    devices: tuple[Device, ...]
    by_name: dict[str, Device]
    host: Device
    soft: bool = True
    cell: Request | None = None
    default: Request | None = None

    @property
    def first(self) -> Device:
        """The device that plain ops go to."""
        return self.devices[0]


def place(
    op: Placeable,
    dtypes: Sequence[DType],
    pinned_to: Device | None,
    request: Request | None,
    replica: int | None,
    machine: Machine,
) -> tuple[Device, Reason]:
    """Chooses the device of an op; depends on nothing but its arguments.

    In order: the device of a variable the op works on, the open `tf.device`, the cell, the session's default
    device, the lowest-numbered GPU, the CPU.

    Raises:
      MissingDeviceError: the device is not there, or has no kernel, and soft placement is off.
      InvalidArgumentError: the request can never be met: another job or task, an impossible index.
    """
    if pinned_to is not None:
        return pinned_to, Reason("follows variable", pinned_to.short_name)
    if request is not None:
        if request.name is not None:
            kind = "explicit scope" if replica is None else "replica of a strategy"
            return _as_asked(op, dtypes, request, Reason(kind, "" if replica is None else str(replica)), machine)
    elif machine.cell is not None:
        return _as_asked(op, dtypes, machine.cell, Reason("cell"), machine)
    elif machine.default is not None:
        return _as_asked(op, dtypes, machine.default, Reason("session default"), machine)
    return _anywhere(op, dtypes, machine)


_NO_GPU = Reason("no GPU")
_FIRST_GPU = Reason("lowest-numbered GPU")


def _anywhere(op: Placeable, dtypes: Sequence[DType], machine: Machine) -> tuple[Device, Reason]:
    first = machine.first
    if first.type == "CPU":
        return first, _NO_GPU
    if op.has_kernel("GPU", dtypes):
        return first, _FIRST_GPU
    return _best(op, dtypes, machine), Reason("no kernel on GPU", op.type)


def _best(op: Placeable, dtypes: Sequence[DType], machine: Machine) -> Device:
    return next(device for device in machine.devices if op.has_kernel(device.type, dtypes))


def _as_asked(
    op: Placeable, dtypes: Sequence[DType], request: Request, reason: Reason, machine: Machine
) -> tuple[Device, Reason]:
    device = machine.by_name.get(request.name or "")
    if device is not None and op.has_kernel(device.type, dtypes):
        return device, reason
    if device is None:
        _refuse_impossible(op, request)
    asked = request.fields
    local = (asked.job, asked.replica, asked.task) == ("localhost", 0, 0)
    if not local and op.type == "_EagerConst":  # TensorFlow copies constants, and a copy fails in other words
        raise MissingDeviceError(None, None, f"{request.name} unknown device.")
    if not (machine.soft and local):
        raise MissingDeviceError(None, None, _unsatisfied(op, dtypes, request, machine))
    if device is not None:
        return _best(op, dtypes, machine), Reason("no kernel on GPU", op.type)
    return _best(op, dtypes, machine), Reason("soft placement", f"{asked.device_type}:{asked.device_index}")


def _refuse_impossible(op: Placeable, request: Request) -> None:
    """TensorFlow's own parser of full names knows only int32 indices and identifiers as jobs."""
    asked = request.fields
    index = asked.device_index or 0
    if not 0 <= index < 2**31 or not (asked.job or "").isidentifier():
        raise InvalidArgumentError(
            None, None, f"Malformed device specification '{request.name}' in eager op: {op.type}"
        )


def _unsatisfied(op: Placeable, dtypes: Sequence[DType], request: Request, machine: Machine) -> str:
    types = dict.fromkeys(device.type for device in machine.devices if op.has_kernel(device.type, dtypes))
    return (
        f"Could not satisfy device specification '{request.name}'. enable_soft_placement={int(machine.soft)}. "
        f"Supported device types [{', '.join(types)}]. "
        f"All available devices [{', '.join(device.name for device in machine.devices)}]."
    )
