"""How do tasks of a cluster add up their values without the program in between? Each adds up a part.

It is a reduce-scatter and an all-gather made of plain ops: every device receives its part of each buffer, adds the
parts in the order of the devices, and sends the sum to all. Tensors pass directly between tasks, and no device sends
or receives more than twice its own buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.joining import concat, split
from nbtf._ops.math.arithmetic import add_n
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.device import placed
from nbtf._runtime.placement import STRATEGY_REDUCTION
from nbtf._runtime.tensor import Tensor


def sums_on_all(buffers: Sequence[Any], devices: Sequence[str]) -> list[Tensor]:
    """Returns the sum of buffers on each of their devices, added in the order of the devices.

    Args:
      buffers: one buffer per device, all of the same shape.
      devices: full device names.
    """
    tensors = [as_tensor(buffer) for buffer in buffers]
    shape = tensors[0].shape
    lengths = _shares(shape.num_elements() or 0, len(devices))
    shares_of_devices: list[Sequence[Tensor]] = []
    for tensor, name in zip(tensors, devices, strict=True):
        with placed(name, STRATEGY_REDUCTION):
            shares_of_devices.append(split(tensor if len(shape) == 1 else reshape(tensor, [-1]), lengths, 0))
    sums: list[Tensor] = []
    for number, name in enumerate(devices):
        with placed(name, STRATEGY_REDUCTION):
            sums.append(add_n([shares[number] for shares in shares_of_devices]))
    results: list[Tensor] = []
    for name in devices:
        with placed(name, STRATEGY_REDUCTION):
            total = concat(sums, 0)
            results.append(total if len(shape) == 1 else reshape(total, shape))
    return results


def _shares(count: int, devices: int) -> list[int]:
    """Returns the number of elements that each device adds up."""
    share, remainder = divmod(count, devices)
    return [share + (number < remainder) for number in range(devices)]
