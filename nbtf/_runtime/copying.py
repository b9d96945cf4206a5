"""Copies tensors between devices, and notifies listeners."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from nbtf._devices.base import Buffer, Device, buffer_of, label_of
from nbtf._devices.collectives import COLLECTIVE
from nbtf._devices.sites import CallSite, find_call_site, warn
from nbtf._own_name import own_name
from nbtf._record.collectives import take_note_of_collective
from nbtf._record.events import CopyKind
from nbtf._record.rows import note_of_copy
from nbtf._runtime.context import CURRENT, Context
from nbtf._runtime.phases import part_of
from nbtf._runtime.scopes import EMPTY, SCOPE
from nbtf._runtime.tape import AT_LENGTH, Call
from nbtf._runtime.tensor import Mover, Tensor, tensor_of
from nbtf._types import int32
from nbtf.errors import FailedPreconditionError, InvalidArgumentError


class Reader(Protocol):
    """The part of an op that reading its inputs needs."""

    type: str
    host_outputs: bool


def moved(context: Context, op: Reader, tensor: Any, runner: Device, call_site: CallSite | None) -> Any:
    """Returns an input's buffer on the device that runs the op; copies it if it is elsewhere.

    Args:
      context: the current context.
      op: the op that reads the input; one with `host_outputs` reads only shapes, wherever the input is stored.
      tensor: the input, or a list if the op accepts a list.
      runner: the device that runs the op.
      call_site: where the program called the op, for observers; None without observers.
    """
    if tensor.__class__ is list:
        return [moved(context, op, element, runner, call_site) for element in tensor]
    home = tensor._device
    if op.type == COLLECTIVE and not tensor._host:
        check_current(context, op, home)
        return tensor  # a collective's messages are reported separately
    if home is runner and not tensor._host:
        return tensor if tensor.__class__ is Tensor or runner.memory is None else _shown_buffer(tensor)
    check_current(context, op, home)
    source = context.host if tensor._host else home
    if source is runner or op.host_outputs:
        return tensor
    return copy(context, tensor, source, runner, call_site)


def _shown_buffer(variable: Any) -> Buffer:
    """Returns a variable's current buffer; another thread may update the variable before the op has run."""
    array, allocation = variable._array, variable._allocation  # read in this order, see `Variable._take`
    return buffer_of(array, allocation)


def check_current(context: Context, op: Reader, device: Device) -> None:
    """Rejects a tensor or variable whose device a restart has replaced, or whose task is lost."""
    if not context.logical_devices.has(device):
        if (departure := device.departure) is not None:
            raise type(departure)(None, None, departure.message)
        raise FailedPreconditionError(
            f"An input of {op.type} was made on {device.name} before {own_name()}.runtime.restart(). "
            "Read it with .numpy() and create a new tensor from the result."
        )


def copied_to(tensor: Tensor, device: Device, copy_kind: CopyKind = "move") -> Tensor:
    """Returns a copy of a tensor on a device, or the tensor itself if it is already there."""
    if tensor._device is device:
        return tensor
    context = CURRENT.context
    source = context.host if tensor._host else tensor._device
    scope = SCOPE()
    call_site = find_call_site(part_of(scope)) if context.observers.listening else None
    return tensor_of(copy(context, tensor, source, device, call_site, copy_kind), tensor._dtype, device)


class _Move:
    """Tape entry of `x.cpu()` and `x.gpu()`: gradients return to the device that the tensor came from."""

    taped = AT_LENGTH
    resource = no_gradient = freezes = keeps_outputs = False
    keeps_inputs = has_gradient = True

    def gradients(self, call: Call, grad: Tensor) -> list[Tensor]:
        """Returns the gradient of the tensor that was copied."""
        return [move_to(grad, call.inputs[0]._device)]


_MOVE = _Move()


def move_to(tensor: Tensor, device: Device) -> Tensor:
    """Returns the result of `copied_to` and records the copy on open tapes."""
    result = copied_to(tensor, device)
    if result is not tensor:
        for tape in (SCOPE() or EMPTY).tapes:
            tape.record(_MOVE, [tensor], {}, [result])
    return result


Mover.move_to = move_to


def copy(
    context: Context,
    tensor: Any,
    source: Device,
    target: Device,
    call_site: CallSite | None,
    copy_kind: CopyKind = "move",
) -> Buffer:
    """Copies a tensor to a device; notifies listeners unless `call_site` is None."""
    label = label_of("copy", tensor._dtype.name, tuple(tensor._array.shape), call_site)
    if call_site is None or source is target:
        return target.copy_from(source, tensor, label)
    started = time.perf_counter()
    buffer = target.copy_from(source, tensor, label)
    seconds = time.perf_counter() - started
    context.observers.take(note_of_copy(source, target, copy_kind, tensor._array.nbytes, seconds, call_site))
    return buffer


def tell_collective(
    context: Context, tensors: Sequence[Sequence[Any]], attrs: Mapping[str, Any], call_site: CallSite
) -> None:
    """Notifies listeners of an all-reduce's messages; the op that has all inputs does it for all devices."""
    inputs = tensors[0]
    if len(inputs) > 1:
        devices = tuple([tensor._device for tensor in inputs])
        nbytes = inputs[0]._array.nbytes
        take_note_of_collective(context.observers, devices, attrs["algorithm"], nbytes, call_site)


# The device policy


def check_policy(context: Context, op: Reader, tensors: Sequence[Any], runner: Device, name: str | None) -> None:
    """Warns about inputs that must be copied to run an op, or raises, as `set_device_policy` requires.

    `tf.identity` may always copy, because programs use it to copy on purpose. So may an all-reduce.
    """
    if op.type in ("Identity", "IdentityN", COLLECTIVE) or op.host_outputs:
        return
    flat = [element for tensor in tensors for element in (tensor if tensor.__class__ is list else (tensor,))]
    for number, tensor in enumerate(flat):
        source = context.host if tensor._host else tensor._device
        if source is not runner:
            _complain(context.settings.device_policy, op, number, tensor, source, runner, name)


def _complain(
    policy: str, op: Reader, number: int, tensor: Any, source: Device, runner: Device, name: str | None
) -> None:
    conflict = (
        f"input #{number} was expected to be on {runner.name} but is actually on {source.name} "
        f"(operation running on {runner.name})"
    )
    if policy == "warn":
        warn(f"before computing {op.type} {conflict}. This triggers a copy which can be a performance bottleneck.")
    elif policy != "silent_for_int32" or tensor._dtype is not int32:
        raise InvalidArgumentError(
            f"Tensors on conflicting devices: cannot compute {op.type} as {conflict} Tensors can be copied explicitly "
            "using: `with tf.device(device_name): x = tf.identity(x)` or transparently copied by using "
            "tf.config.experimental.set_device_policy('silent'). Copying tensors between devices may slow down your "
            f"model [Op:{op.type}] name: {name or ''}"
        )
