"""Collective sums over a cluster's devices: one op per device, with the messages it sends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbtf._devices.base import Spec
from nbtf._devices.collectives import AUTO
from nbtf._ops.math.arithmetic import AddN
from nbtf._ops.op import Gradients, op
from nbtf._runtime.device import placed
from nbtf._runtime.placement import STRATEGY_REDUCTION
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import NUMBERS


@op("T* -> T", T=NUMBERS)
def CollectiveReduceV2(xp: Any, inputs: list[Any], algorithm: str) -> Any:
    return AddN.kernel(xp, inputs)


@CollectiveReduceV2.infer
def _(inputs: list[Spec], algorithm: str) -> Spec:
    specs: Any = AddN.specs([inputs], {})
    return specs[0]


@CollectiveReduceV2.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    shares: Any = [grad] * len(call.inputs[0])
    return [shares]


def all_reduce(tensors: Sequence[Tensor], devices: Sequence[str], algorithm: str = AUTO) -> list[Tensor]:
    """Returns the sum of the tensors as one copy on each of their devices, GPUs of a simulated cluster.

    The terms are added in the order of the devices. The algorithm decides only which messages are sent and how
    long that takes.

    Args:
      tensors: one tensor per device.
      devices: the devices' full names.
      algorithm: one of `collectives.ALGORITHMS` except the star, or `AUTO` (default).
    """
    sums: list[Tensor] = []
    for name in devices:
        with placed(name, STRATEGY_REDUCTION):
            sums.append(CollectiveReduceV2(sums[:1] or list(tensors), algorithm=algorithm))
    return sums
