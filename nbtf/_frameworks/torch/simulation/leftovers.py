"""Tracks tensors on simulated devices that were removed: a new device of the same name may exist since."""

from __future__ import annotations

import gc
from typing import Any
from weakref import ref

from nbtf._devices.caching.blocks import Allocation
from nbtf._own_name import own_name


def of_before(device: str) -> str:
    """Returns the error text for using a tensor of a removed device."""
    runtime = f"{own_name()}.runtime"
    return (
        f"The tensor was created on {device} before the simulated GPUs were replaced ({runtime}.restart() and "
        f"{runtime}.simulate_gpus). Create a new tensor from an earlier copy on the CPU, or run its cell again."
    )


class Leftovers:
    """The host memory under tensors of removed devices, for as long as it is held."""

    def __init__(self) -> None:
        """Starts empty."""
        self.allocations: dict[int, ref[Allocation]] = {}
        """By the address of the memory."""

    def add_living(self) -> None:
        """Adds all tensors that exist now."""
        living: list[Allocation] = [each for each in gc.get_objects() if type(each) is Allocation]
        self.allocations = {each.host: ref(each) for each in living if each.host}

    def has(self, tensor: Any) -> bool:
        """Returns whether a tensor is left over; its memory may have been freed and reused since."""
        address = tensor.untyped_storage().data_ptr()
        allocation = self.allocations.get(address)
        if allocation is None:
            return False
        if allocation() is None:
            del self.allocations[address]
            return False
        return True
