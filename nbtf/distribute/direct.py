"""How do tasks of a cluster add up what each has, without the program in between? Each adds up a part.

A reduce-scatter and an all-gather, made of plain ops: every device is sent its part of each buffer, adds the parts up
in the order of the devices, and sends the sum to all. Tensors go from task to task by themselves, so nothing of this
passes the program, and no device sends or gets more than twice its own buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.joining import concat, split
from nbtf._ops.math.arithmetic import add_n
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.device import device
from nbtf._runtime.tensor import Tensor


def sums_on_all(buffers: Sequence[Any], devices: Sequence[str]) -> list[Tensor]:
    """Returns the sum of buffers on each of their devices, added up in the order of the devices.

    Args:
      buffers: one of each device, of the same shape.
      devices: full names.
    """
    tensors = [as_tensor(buffer) for buffer in buffers]
    shape = tensors[0].shape
    lengths = _shares(shape.num_elements() or 0, len(devices))
    shares_of_devices: list[Sequence[Tensor]] = []
    for tensor, name in zip(tensors, devices, strict=True):
        with device(name):
            shares_of_devices.append(split(tensor if len(shape) == 1 else reshape(tensor, [-1]), lengths, 0))
    sums: list[Tensor] = []
    for number, name in enumerate(devices):
        with device(name):
            sums.append(add_n([shares[number] for shares in shares_of_devices]))
    results: list[Tensor] = []
    for name in devices:
        with device(name):
            total = concat(sums, 0)
            results.append(total if len(shape) == 1 else reshape(total, shape))
    return results


def _shares(count: int, devices: int) -> list[int]:
    """Returns how many of so many elements each device adds up."""
    share, remainder = divmod(count, devices)
    return [share + (number < remainder) for number in range(devices)]
