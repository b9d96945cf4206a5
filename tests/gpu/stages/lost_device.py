"""Stage 6: after a persistent error, does every later op fail at once, and does the process exit cleanly?"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

from nbtf.errors import InternalError
from tests.gpu.stages import cards
from tests.gpu.stages.record import Record

BAD = 'extern "C" __global__ void bad(float *x) { x[1ULL << 40] = 1.0f; }'


def run(record: Record) -> None:
    """Runs the stage."""
    if record.fake:
        code, seconds = 0, 0.0
        told: dict[str, Any] = lose(fake=True)
    else:
        start = time.perf_counter()
        done = cards.python("-m", "tests.gpu.stages.lost_device", timeout=60)
        seconds, code = time.perf_counter() - start, done.returncode
        told = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {"first": done.stderr[-300:]}
    record.check("an illegal address raises InternalError", told.get("first", "").startswith("InternalError"), told)
    record.check("the message says what to do", "restart it" in told.get("first", ""), told.get("first"))
    record.check("the device is lost", told.get("state", "").startswith("lost"), told.get("state"))
    record.check("later ops fail with the same error", told.get("later") == told.get("first"), told)
    record.check("later ops fail at once", told.get("milliseconds", 1e9) < 10, told.get("milliseconds"))
    record.check("the process exits cleanly", code == 0, code)
    record.figure("the whole process", seconds, "s")


def lose(fake: bool = False) -> dict[str, Any]:
    """Breaks the device of this process; returns the messages that followed."""
    gpu = cards.device()
    x = gpu.put(np.ones(4, np.float32))
    gpu.synchronize()
    cp = cards.cupy()
    if fake:
        cp.MACHINE.faults.append(("sync", cp.cuda.runtime.CUDARuntimeError(700)))
    else:
        cp.RawKernel(BAD, "bad")((1,), (1,), (x._array,))
    first = _said(gpu.synchronize)
    start = time.perf_counter()
    later = _said(lambda: gpu.get(x))
    return {
        "first": first,
        "later": later,
        "milliseconds": (time.perf_counter() - start) * 1000,
        "state": gpu.state,
    }


def _said(do: Any) -> str:
    try:
        do()
    except InternalError as error:
        return f"InternalError: {error.message}"
    except Exception as error:
        return repr(error)
    return "nothing"


if __name__ == "__main__":
    json.dump(lose(), sys.stdout)
