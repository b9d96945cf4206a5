"""How do devices of other tasks join the context, and leave it?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbtf._devices.base import Device
from nbtf._runtime.configuration import PhysicalDevice
from nbtf._runtime.context import Context
from nbtf.errors import AbortedError


def join(context: Context, devices: Sequence[Device]) -> None:
    """Adds devices of other tasks; those of the same name that were there before leave.

    Args:
      context: the current one, whose own devices are made now.
      devices: they keep their names.
    """
    with Context._lock:
        context.freeze()
        names = {device.name for device in devices}
        joined = [device for device in context.logical_devices.joined if device.name not in names]
        _use(context, [*joined, *devices])


def leave(context: Context, devices: Sequence[Device]) -> None:
    """Removes devices of other tasks: tensors on them say why they can no longer be used."""
    with Context._lock:
        leaving = set(map(id, devices))
        _use(context, [device for device in context.logical_devices.joined if id(device) not in leaving])


def disconnect(context: Context) -> None:
    """Ends the sessions that the program has with tasks: they forget its tensors, which say so from now on."""
    if context.cluster is not None:
        context.cluster.end(AbortedError(_RESTARTED))


_RESTARTED = (
    "This tensor was on a task of a cluster, and is gone: tf.runtime.restart() has ended the program's session there. "
    "Connect with tf.config.experimental_connect_to_cluster, and make it anew."
)


def renew(context: Context) -> None:
    """Adds the devices of tasks that have come since, also in the place of lost ones."""
    if context.cluster is not None:
        join(context, context.cluster.renew())


def finish(context: Context) -> None:
    """Waits until all tasks have done what they were asked; raises what went wrong there."""
    if context.cluster is not None:
        context.cluster.wait()


def drop(context: Context) -> None:
    """Has no task do what it has not begun: the program was interrupted."""
    if context.cluster is not None:
        context.cluster.drop()


def forget_failures(context: Context) -> None:
    """Lets all tasks finish after an error; what failed there with it is not told again."""
    if context.cluster is not None:
        context.cluster.forget_failures()


def forget_losses(context: Context) -> None:
    """Lets the tasks that are left finish; what failed there because another was lost is not told again."""
    if context.cluster is not None:
        context.cluster.forget_losses()


def _use(context: Context, devices: Sequence[Any]) -> None:
    for device in devices:
        physical = PhysicalDevice(device.name.replace("/device:", "/physical_device:"), device.type)
        context.logical_devices.made_from[device.name] = physical
        if device.card is not None:
            context.configuration.cards[physical] = device.card
    context.admit(devices)
