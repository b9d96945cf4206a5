"""Times a matrix product on a GPU and on the CPU."""

from __future__ import annotations

from time import perf_counter

from nbtf._ops.arrays.creation import ones
from nbtf._ops.linalg.products import matmul
from nbtf._runtime.context import CURRENT
from nbtf._runtime.device import placed
from nbtf._runtime.placement import CALLED

_SIDE = 1024
_TIMES = 5


def compared_with_cpu(gpu: str) -> tuple[bool, str]:
    """Returns whether a matrix product is faster on a GPU than on the CPU, and a text with both times."""
    seconds = {name: _seconds_of_a_product(name) for name in (gpu, "CPU:0")}
    told = " and ".join(f"{1000 * time:.1f} ms on {name}" for name, time in seconds.items())
    return seconds[gpu] < seconds["CPU:0"], f"a product of {_SIDE} x {_SIDE} matrices took {told}, measured here"


def _seconds_of_a_product(name: str) -> float:
    """Returns the shortest time of several runs, since the first runs load libraries."""
    target = next(candidate for candidate in CURRENT.context.devices.devices if candidate.short_name == name)
    times: list[float] = []
    with placed(name, CALLED):
        x = ones([_SIDE, _SIDE])
        for _ in range(_TIMES):
            target.synchronize()
            start = perf_counter()
            matmul(x, x)
            target.synchronize()
            times.append(perf_counter() - start)
    return min(times)
