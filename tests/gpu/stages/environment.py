"""Stage 0: what is installed, do all libraries see the same card, and is listing devices silent?"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time

import nbtf as tf
from tests.gpu.stages import cards
from tests.gpu.stages.record import Record

PACKAGES = ("numpy", "cupy-cuda12x", "cupy-cuda13x", "cupy", "nvidia-ml-py", "torch", "jax", "pytest")
LOOK = "import nbtf as tf; tf.config.list_physical_devices('GPU'); tf.runtime.devices()"
IMPORT = "import time, numpy; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def run(record: Record) -> None:
    """Runs the stage."""
    _versions(record)
    _card(record)
    _silence(record)
    _imports(record)
    gpu = cards.device()
    start = time.perf_counter()
    gpu.open()
    gpu.synchronize()
    record.figure("first context", time.perf_counter() - start, "s")
    free, total = gpu.mem_info()
    record.figure("free memory of the card", free / cards.GIB, "GiB")
    record.figure("total memory of the card", total / cards.GIB, "GiB")


def _versions(record: Record) -> None:
    record.fact("nbtf", tf.runtime.version)
    record.fact("python", platform.python_version())
    record.fact("system", platform.platform())
    record.fact("processors", os.cpu_count())
    for name in PACKAGES:
        try:
            record.fact(name, importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            pass
    record.fact("CUDA version of the driver", cards.cupy().cuda.runtime.driverGetVersion())


def _card(record: Record) -> None:
    card = cards.card()
    record.fact("card", card.card.name)
    record.fact("compute capability", ".".join(map(str, card.card.compute_capability)))
    record.fact("bus id", card.bus_id)
    monitor = tf.runtime.CardMonitor()
    by_uuid, by_bus = monitor.card(card.uuid, None, 0), monitor.card(None, card.bus_id, 0)
    if by_uuid.number is None and by_bus.number is None:
        record.note(cards.why_not(by_bus))
        return
    record.fact("driver", by_bus.driver)
    record.fact("number of the card", by_bus.number)
    record.check("NVML finds the same card by UUID and by bus address", by_uuid.number == by_bus.number)
    record.check("NVML and CUDA name it alike", by_bus.name == card.card.name, f"{by_bus.name}, {card.card.name}")


def _silence(record: Record) -> None:
    done = cards.python("-c", LOOK, PYTHONWARNINGS="always")
    said = done.stdout + done.stderr
    record.check("looking for GPUs prints nothing", (done.returncode, said) == (0, ""), said)


def _imports(record: Record) -> None:
    for name in ("nbtf",) if record.fake else ("nbtf", "cupy"):
        found = [float(cards.python("-c", IMPORT.format(name)).stdout) for _ in range(record.size(3, 2, 1))]
        record.figure(f"import {name}, in addition to NumPy", min(found) * 1000, "ms")
