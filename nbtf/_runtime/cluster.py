"""Adds devices of other tasks to the context, and removes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbtf._devices.base import Device
from nbtf._own_name import own_name
from nbtf._runtime.configuration import PhysicalDevice
from nbtf._runtime.context import Context
from nbtf.errors import AbortedError


def join(context: Context, devices: Sequence[Device]) -> None:
    """Adds devices of other tasks; earlier devices of the same names leave.

    Args:
      context: the current context, whose own devices are created now.
      devices: the devices to add, which keep their names.
    """
    with Context._lock:
        context.freeze()
        names = {device.name for device in devices}
        joined = [device for device in context.logical_devices.joined if device.name not in names]
        _use(context, [*joined, *devices])


def leave(context: Context, devices: Sequence[Device]) -> None:
    """Removes devices of other tasks; using a tensor on them raises an error that gives the reason."""
    with Context._lock:
        leaving = set(map(id, devices))
        _use(context, [device for device in context.logical_devices.joined if id(device) not in leaving])


def disconnect(context: Context) -> None:
    """Ends the program's sessions with tasks. The tasks drop its tensors, and using one raises an error."""
    if context.cluster is not None:
        context.cluster.end(AbortedError(_RESTARTED.format(own_name())))


_RESTARTED = (
    "This tensor was on a task of a cluster. {0}.runtime.restart() ended the session there, and the tensor is lost. "
    "Connect again with {0}.config.experimental_connect_to_cluster, then recreate the tensor."
)


def renew(context: Context) -> None:
    """Adds the devices of tasks that have joined since, and replaces lost devices."""
    if context.cluster is not None:
        join(context, context.cluster.renew())


def finish(context: Context) -> None:
    """Waits until all tasks have finished their work; raises errors that occurred there."""
    if context.cluster is not None:
        context.cluster.wait()


def drop(context: Context) -> None:
    """Cancels work that tasks have not started, because the program was interrupted."""
    if context.cluster is not None:
        context.cluster.drop()


def forget_failures(context: Context) -> None:
    """Lets all tasks finish after an error, without raising the errors that followed from it."""
    if context.cluster is not None:
        context.cluster.forget_failures()


def forget_losses(context: Context) -> None:
    """Lets the remaining tasks finish, without raising errors caused by the lost one."""
    if context.cluster is not None:
        context.cluster.forget_losses()


def _use(context: Context, devices: Sequence[Any]) -> None:
    for device in devices:
        physical = PhysicalDevice(device.name.replace("/device:", "/physical_device:"), device.type)
        context.logical_devices.made_from[device.name] = physical
        if device.card is not None:
            context.configuration.cards[physical] = device.card
    context.admit(devices)
