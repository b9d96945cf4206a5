"""How long would a card take for an op or a copy? Times are calculated; nothing waits for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from nbtf._devices.catalog import Card

Shape: TypeAlias = tuple[int, ...]

_PRODUCTS = frozenset({"MatMul", "BatchMatMul", "BatchMatMulV2"})


def op_seconds(card: Card, nbytes: int, operations: float) -> float:
    """Returns how long a card is busy with its bytes or with its arithmetic, whichever takes longer.

    Args:
      card: provides bandwidth and peak rate.
      nbytes: bytes read and written, each counted once.
      operations: number of float32 operations.

    Source: the roofline model, Williams, Waterman and Patterson, CACM 52(4), 2009; the cost of a launch is left out.
    """
    return max(nbytes / card.memory_bandwidth, operations / card.peak_flops)


def copy_seconds(card: Card, nbytes: int) -> float:
    """Returns how long a transfer takes over the bus between the computer and the card."""
    return nbytes / card.pcie_bandwidth


def operations(op_type: str, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> float:
    """Returns the number of arithmetic operations for these shapes: one per element unless the op has a better formula.

    >>> operations("MatMul", [(2, 3), (3, 5)], [(2, 5)])
    60.0
    """
    elements = float(max(map(math.prod, (*inputs, *outputs)), default=0))
    if len(inputs) != 2 or len(outputs) != 1 or not elements or not math.prod(outputs[0]):
        return elements
    first, second, result = map(math.prod, (*inputs, outputs[0]))
    if op_type in _PRODUCTS:
        # |A| |B| = m k · k n = k² |C| for each matrix of a batch, whichever of them is transposed.
        length = math.sqrt(first * second / result / math.prod(outputs[0][:-2]))
        return 2.0 * result * length
    if op_type == "Conv2D":  # two operations for each filter element at each position of each image
        return 2.0 * result / outputs[0][-1] * second
    return elements
