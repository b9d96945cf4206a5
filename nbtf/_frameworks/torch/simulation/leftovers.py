"""Which tensors are left on simulated devices that are gone? PyTorch's own, on devices that may be there anew."""

from __future__ import annotations

import gc
from typing import Any
from weakref import ref

from nbtf._devices.caching.blocks import Allocation


def of_before(device: str) -> str:
    """Returns the text of the error of who uses one."""
    return (
        f"A tensor was made on {device} before the simulated GPUs were changed (tf.runtime.restart() and "
        "tf.runtime.simulate_gpus). Make a new one, from a copy on the CPU that was made before, or run its cell again."
    )


class Leftovers:
    """The memory of this computer under tensors whose devices are gone, as long as something holds it."""

    def __init__(self) -> None:
        """Begins without any."""
        self._allocations: dict[int, ref[Allocation]] = {}

    def __bool__(self) -> bool:
        """Tells whether there may be any."""
        return bool(self._allocations)

    def add_living(self) -> None:
        """Adds all that there are at this moment."""
        living: list[Allocation] = [each for each in gc.get_objects() if type(each) is Allocation]
        self._allocations = {each.host: ref(each) for each in living if each.host}

    def has(self, tensor: Any) -> bool:
        """Tells whether a tensor is left over; its memory may have died since, and be another's."""
        address = tensor.untyped_storage().data_ptr()
        allocation = self._allocations.get(address)
        if allocation is None:
            return False
        if allocation() is None:
            del self._allocations[address]
            return False
        return True
