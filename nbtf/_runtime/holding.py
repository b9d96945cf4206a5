"""The piece of a device's memory that a tensor or variable holds."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from nbtf._devices.base import Buffer
from nbtf._runtime.context import CURRENT


class Holding(NamedTuple):
    """A piece of a device's memory. Tensors with the same device, region and offset share it.

    `nbytes` is the charged size and `requested` the requested size, both in bytes. `sharers` is the number of tensors
    and variables that currently hold it.

    >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
    1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
    >>> x = tf.zeros([10])
    >>> y = tf.reshape(x, [2, 5])
    >>> tf.runtime.holding(x)[:3] == tf.runtime.holding(y)[:3]
    True
    """

    device: str
    region: int
    offset: int
    nbytes: int
    requested: int
    sharers: int


def holding(value: Any) -> Holding | None:
    """Returns the piece that a tensor or variable of nbtf holds, as `tf.runtime.holding` does; runs no code of it."""
    if not issubclass(type(value), Buffer):
        return None
    allocation = value._allocation
    machine = CURRENT.context.machine
    device = getattr(value, "_device", None)
    if allocation is None or machine is None or device is None or machine.by_name.get(device.name) is not device:
        return None
    piece = None if device.memory is None else device.memory.piece(allocation)
    if piece is None:
        return None
    # This function and the `getrefcount` call itself each add a reference.
    sharers = sys.getrefcount(value._allocation) - 2
    return Holding(device.short_name, piece.region, piece.offset, piece.nbytes, piece.requested, sharers)
