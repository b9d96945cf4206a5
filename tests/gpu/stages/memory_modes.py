"""Stage 4: how does the device allocate memory: all at once, on demand, as a fraction, or in parts?"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

from tests.gpu.stages import cards
from tests.gpu.stages.record import Record

MODES: dict[str, dict[str, Any]] = {
    "preallocated": {"NBTF_GPU_PREALLOCATE": "1"},
    "growing": {},
    "fraction 0.4": {"fraction": 0.4},
    "two of 1024 MiB": {"limit_mib": 1024, "count": 2},
}


def run(record: Record) -> None:
    """Runs the stage."""
    found = {name: _look(record, name) for name in MODES}
    for name, told in found.items():
        record.figure(f"{name}: first use", told["seconds"], "s")
        record.figure(f"{name}: limit", told["limit"] / cards.MIB, "MiB")
        if told["nvml"] is not None:
            record.figure(f"{name}: used on the card, according to NVML", told["nvml"] / cards.MIB, "MiB")
    _preallocated(record, found["preallocated"])
    growing = found["growing"]
    record.check("growing: nothing is reserved before it is needed", growing["pool"][0] == 0, growing)
    record.check("growing: exactly the memory needed is reserved", growing["pool"][1] == growing["asked"], growing)
    record.check("growing: freed memory stays reserved", growing["pool"][2] == growing["pool"][1], growing)
    part = found["fraction 0.4"]
    record.check("fraction of the whole card", part["limit"] == int(part["total"] * 0.4) // 512 * 512, part)
    two = found["two of 1024 MiB"]
    wanted = 1024 * cards.MIB
    record.check("two limits: each GPU has its own", two["limits"] == [wanted, wanted] or record.fake, two["limits"])
    _limit_of_cupy(record)


def _preallocated(record: Record, told: dict[str, Any]) -> None:
    record.check("preallocated: the pool is as large as the limit", told["pool"][0] == told["limit"], told)
    record.check("preallocated: work allocates nothing from the driver", len(set(told["pool"])) == 1, told["pool"])
    if told["nvml"] is not None and not record.fake:
        over = (told["nvml"] - told["limit"]) / cards.MIB
        record.figure("preallocated: in addition to the limit (context, libraries, others)", over, "MiB")
        record.check("preallocated: NVML shows the limit and the additional memory", 0 <= over < 4096, over)


def _look(record: Record, name: str) -> dict[str, Any]:
    if record.fake:
        return mode(name, 8 * cards.MIB)
    done = cards.python("-m", "tests.gpu.stages.memory_modes", name)
    if done.returncode:
        raise RuntimeError(done.stderr[-500:])
    return json.loads(done.stdout.splitlines()[-1])


def mode(name: str, nbytes: int = 512 * cards.MIB) -> dict[str, Any]:
    """Opens devices in a mode, allocates and frees memory, and returns the figures after each step."""
    how = dict(MODES[name])
    count = how.pop("count", 1)
    devices = [cards.device(number, alone=count == 1, **how) for number in range(count)]
    start = time.perf_counter()
    for one in devices:
        one.open()
    seconds = time.perf_counter() - start
    first = devices[0]
    pools = [first.memory.stats().pool]
    held = [first.put(np.zeros(nbytes // 2, np.uint8)) for _ in range(2)]
    first.synchronize()
    pools.append(first.memory.stats().pool)
    held.clear()
    pools.append(first.memory.stats().pool)
    return {
        "seconds": seconds,
        "limit": first.memory.stats().limit,
        "limits": [one.memory.stats().limit for one in devices],
        "pool": pools,
        "asked": nbytes,
        "total": first.mem_info()[1],
        "nvml": cards.used_by_nvml(),
    }


def _limit_of_cupy(record: Record) -> None:
    """CuPy's own variable must not limit nbtf's pools."""
    if record.fake:
        return
    done = cards.python("-m", "tests.gpu.stages.memory_modes", "growing", CUPY_GPU_MEMORY_LIMIT=str(64 * cards.MIB))
    record.check("CUPY_GPU_MEMORY_LIMIT does not change nbtf's limit", done.returncode == 0, done.stderr[-300:])


if __name__ == "__main__":
    json.dump(mode(sys.argv[1]), sys.stdout)
