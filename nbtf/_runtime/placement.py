"""Chooses the device of an op, and records the reason."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import NamedTuple, Protocol

from nbtf._devices.base import Device
from nbtf._devices.names import Fields, describe_tasks, short_name
from nbtf._record.events import Reason, Rule
from nbtf._runtime.arguments import check_has, check_text
from nbtf._runtime.scopes import EXPLICIT, Request
from nbtf._types import DType
from nbtf.errors import InvalidArgumentError, MissingDeviceError

FOLLOWS_INPUT, ASKED, DEFAULT_DEVICE = "follows its input", "asked by the call", "default device"
BACKWARD_OF, VIEW, BACKWARD_VIEW, COMPILED = "backward", "view", "backward view", "compiled"
FOLLOWS_RESOURCE, FOLLOWS_USE, HOST_RESULT = "follows resource", "follows its use", "host-memory result"
COLOCATED, PLACER, OPTIMIZER = "TensorFlow's colocation", "TensorFlow's placer", "TensorFlow's optimizer"
"""Kinds of reasons for ops that other libraries place themselves."""
SEVERAL_DEVICES = "several devices"
"""The kind of reason for an op that failed because its operands are on several devices."""
VIEWS = frozenset({VIEW, BACKWARD_VIEW})
"""Kinds of reasons for ops that only return a view of their input's memory."""

STRATEGY, STRATEGY_INPUT, STRATEGY_VARIABLE, STRATEGY_REDUCTION, STRATEGY_UPDATE = map(
    Reason, ("strategy", "strategy input", "strategy variable", "strategy reduction", "strategy update")
)
"""Reasons for the ops of `tf.distribute` outside the replicas' own functions."""
DATASET, CALLED = Reason("dataset"), Reason(ASKED)
"""Reasons for ops on a dataset's elements, and for those of a call that takes the device as an argument."""

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
    "strategy": "placed by the strategy",
    "strategy input": "input, placed by the strategy",
    "strategy variable": "variable, placed by the strategy",
    "strategy reduction": "reduction, placed by the strategy",
    "strategy update": "update, placed by the strategy",
    "dataset": "placed by the dataset",
    "session placer": "placed by the session: {detail}",
    FOLLOWS_INPUT: "follows its input",
    ASKED: "asked for by the call",
    DEFAULT_DEVICE: "the library's default device",
    BACKWARD_OF: "backward of {detail}",
    VIEW: "a view of its input",
    BACKWARD_VIEW: "a view, in backward of {detail}",
    COMPILED: "compiled: {detail}",
    FOLLOWS_RESOURCE: "follows the resource on {detail}",
    FOLLOWS_USE: "follows the op that uses its result",
    HOST_RESULT: "the GPU kernel of {detail} writes to host memory",
    COLOCATED: "placed by TensorFlow, colocated with {detail}",
    PLACER: "placed by TensorFlow",
    OPTIMIZER: "made by TensorFlow's optimizer",
    SEVERAL_DEVICES: "its operands are on several devices: {detail}",
}
"""The kinds of reasons and their texts; more may be added."""


def in_words(op: str, device: str, reason: Reason) -> str:
    """Returns a reason as readable text: `GPU:0: asked for GPU:7, soft placement`.

    >>> _ = tf.runtime.simulate_gpus(2, model="Tesla K20m")
    2 simulated GPUs (Tesla K20m, 5 GiB each): NumPy on this computer's CPU. No GPU is used.
    >>> tf.runtime.in_words("MatMul", "GPU:0", tf.runtime.Reason("lowest-numbered GPU"))
    'GPU:0: lowest-numbered GPU'
    """
    short = short_name(check_text(device, "device"))
    check_has(reason, "kind", "reason", "a reason")
    template = KINDS.get(reason.kind)  # a kind that was read from a file is text, not a template
    text = reason.kind if template is None else template.format(detail=reason.detail or op)
    return f"{short}: {text}"


def is_view(reason: Reason) -> bool:
    """Returns whether an op only makes a view of its input: it computes nothing and allocates no memory."""
    return reason.kind in VIEWS


def op_matches(op: str, pattern: str) -> bool:
    """Returns whether an op type matches a pattern, which may omit the library: `mm` matches `aten::mm`."""
    return fnmatchcase(op, pattern) or ("::" not in pattern and fnmatchcase(op.rpartition("::")[2], pattern))


class Placeable(Protocol):
    """The part of an op that placement needs."""

    type: str

    def has_kernel(self, device_type: str, dtypes: Sequence[DType]) -> bool:
        """Returns whether the op can run on such a device with inputs of these dtypes."""
        ...


class Machine(NamedTuple):
    """The devices and settings that placement needs.

    `devices` are in order of priority, GPUs first. `host` is CPU:0, where Python values are created.
    """

    devices: tuple[Device, ...]
    by_name: dict[str, Device]
    host: Device
    soft: bool = True
    cell: Request | None = None
    default: Request | None = None

    @property
    def first(self) -> Device:
        """The device that runs plain ops."""
        return self.devices[0]

    @property
    def local(self) -> list[Device]:
        """The devices of this process, without those of other hosts."""
        return [device for device in self.devices if device.task == self.host.task]


def place_op(
    op: Placeable,
    dtypes: Sequence[DType],
    pinned_to: Device | None,
    request: Request | None,
    machine: Machine,
) -> tuple[Device, Reason]:
    """Chooses the device of an op, from its arguments alone.

    The order is: the device of the variable that the op works on, the open `tf.device`, the cell, the session's default
    device, the lowest-numbered GPU, the CPU.

    Raises:
      MissingDeviceError: if the device does not exist or has no kernel, and soft placement is off.
      InvalidArgumentError: if the request can never be met: another job or task, or an impossible index.
    """
    if pinned_to is not None:
        return pinned_to, follows_variable(pinned_to)
    request = request or machine.cell or machine.default
    if request is not None and request.name is not None:
        return _as_asked(op, dtypes, request, machine)
    return _anywhere(op, dtypes, machine)


def follows_variable(device: Device) -> Reason:
    """Returns the reason for an op that is placed where its variable is stored."""
    name = device.short_name
    return Reason("follows variable", name).after(Rule("variable", "Where is it?", name))


_ASKED_BY = {
    "explicit scope": "tf.device",
    "cell": "%%device",
    "session default": "default device",
    "dataset": "dataset",
    ASKED: "call",
}
"""The rule that names who requested a device, if not a strategy."""

IN_SCOPES = frozenset(
    {EXPLICIT, STRATEGY, STRATEGY_INPUT, STRATEGY_VARIABLE, STRATEGY_REDUCTION, STRATEGY_UPDATE, DATASET, CALLED}
)
"""Reasons for ops in a device scope that TensorFlow opens for them, or the program."""


@lru_cache
def on_host(reason: Reason, dtype: str) -> Reason:
    """Returns the reason for an op whose results stay in host memory because of their dtype."""
    return Reason("host-memory dtype", dtype).after(*reason.path, Rule("dtype", f"Where is {dtype} kept?", "host"))


def _anywhere(op: Placeable, dtypes: Sequence[DType], machine: Machine) -> tuple[Device, Reason]:
    first = machine.first
    if first.type == "CPU":
        return first, Reason("no GPU").after(Rule("lowest-numbered GPU", "Is there one?", "no"), _cpu(first))
    if op.has_kernel("GPU", dtypes):
        return first, Reason("lowest-numbered GPU").after(_lowest(first))
    best = _best(op, dtypes, machine.devices)
    return best, Reason("no kernel on GPU", op.type).after(_lowest(first), *_without_kernel(op, best))


_MOST_NAMES = 64
"""Maximum number of devices in an error message; a cluster may have a thousand."""


def _lowest(device: Device) -> Rule:
    return Rule("lowest-numbered GPU", "Which is it?", device.short_name)


def _cpu(device: Device) -> Rule:
    return Rule("CPU", "Which is it?", device.short_name)


def _without_kernel(op: Placeable, best: Device) -> tuple[Rule, ...]:
    return Rule("kernel", f"Has {op.type} one on GPUs?", "no"), _cpu(best)


def _describe_missing(devices: Sequence[Device], device_type: str) -> str:
    """Returns the available devices of a type: `GPU:0 to GPU:3`."""
    names = [device.short_name for device in devices if device.type == device_type]
    return "none" if not names else names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


def _best(op: Placeable, dtypes: Sequence[DType], devices: Sequence[Device]) -> Device:
    return next(device for device in devices if op.has_kernel(device.type, dtypes))


def _as_asked(op: Placeable, dtypes: Sequence[DType], request: Request, machine: Machine) -> tuple[Device, Reason]:
    reason = request.reason
    device = machine.by_name.get(request.name or "")
    requested = request.fields
    name = short_name(request.name or "")
    begin = Rule(_ASKED_BY.get(reason.kind, "strategy"), "What was asked for?", name)
    if device is not None and op.has_kernel(device.type, dtypes):
        return device, reason.after(begin, Rule("machine", "Is it here?", "yes"))
    if device is None:
        _refuse_impossible(op, request)
    task = Fields(requested.job, requested.replica, requested.task).to_string()
    of_task = [candidate for candidate in machine.devices if candidate.task == task]
    if not of_task and op.type == "_EagerConst":  # TensorFlow copies constants, and a failed copy has another message
        missing = MissingDeviceError(f"{request.name} unknown device.")
        missing.add_note(f"Available tasks: {describe_tasks(device.name for device in machine.devices)}.")
        raise missing
    if not (machine.soft and of_task):  # soft placement stays within the requested task
        raise MissingDeviceError(_unsatisfied(op, dtypes, request, machine))
    best = _best(op, dtypes, of_task)
    soft = Rule("soft placement", "Is it on?", "yes")
    if device is not None:
        present = Rule("machine", "Is it here?", "yes")
        missing, instead = _without_kernel(op, best)
        return best, Reason("no kernel on GPU", op.type).after(begin, present, missing, soft, instead)
    absent = Rule("machine", "Is it here?", f"no: {_describe_missing(of_task, requested.device_type or '')}")
    instead = _cpu(best) if best.type == "CPU" else _lowest(best)
    return best, Reason("soft placement", name).after(begin, absent, soft, instead)


def _refuse_impossible(op: Placeable, request: Request) -> None:
    """Raises for indices beyond int32 and malformed job names, which TensorFlow's parser of full names rejects."""
    requested = request.fields
    index = requested.device_index or 0
    if not 0 <= index < 2**31 or not (requested.job or "").isidentifier():
        raise InvalidArgumentError(f"Malformed device specification '{request.name}' in eager op: {op.type}")


def _unsatisfied(op: Placeable, dtypes: Sequence[DType], request: Request, machine: Machine) -> str:
    types = dict.fromkeys(device.type for device in machine.devices if op.has_kernel(device.type, dtypes))
    names = [device.name for device in machine.devices]
    if len(names) > _MOST_NAMES:
        names[_MOST_NAMES:] = [f"... and {len(names) - _MOST_NAMES} more of {len(names)}"]
    return (
        f"Could not satisfy device specification '{request.name}'. enable_soft_placement={int(machine.soft)}. "
        f"Supported device types [{', '.join(types)}]. All available devices [{', '.join(names)}]."
    )
