"""The GPU that the stages use: a real card, or a fake card for testing the stages themselves."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbtf as tf
from nbtf._devices import discovery
from nbtf._devices.cards import PhysicalGPU
from nbtf._devices.cuda import probe as cuda_probe
from nbtf._devices.cuda.device import CudaGPU
from nbtf._devices.cuda.library import load_cupy
from nbtf._devices.cuda.memory import plan_for
from nbtf._runtime.context import Context, use_context

ROOT = Path(__file__).parents[3]
MIB = 1 << 20
GIB = 1 << 30
INSTALLED: list[Any] = []


def use_a_fake_card() -> None:
    """Makes this process find a fake card until it ends."""
    from tests import fake_cupy

    INSTALLED.append(fake_cupy.installed(1, memory=4 * GIB))
    INSTALLED[0].__enter__()
    found = cuda_probe.ask(fake_cupy)
    cuda_probe._FOUND.probe, cuda_probe._FOUND.process = found, os.getpid()


def card() -> PhysicalGPU:
    """Returns the first card."""
    return discovery.real_cards(dict(os.environ))[0]


def cupy() -> Any:
    """Returns CuPy."""
    return load_cupy()


def device(
    index: int = 0, limit_mib: float | None = None, fraction: float | None = None, alone: bool = True, **environ: str
) -> Any:
    """Returns a logical GPU on the first card; no context contains it."""
    return CudaGPU(index, card(), plan_for(limit_mib, fraction, None, environ), alone)


@contextmanager
def context(logical: int = 1, limit_mib: float = 1024, **environ: str) -> Generator[Context]:
    """A context on the first card, divided into `logical` GPUs."""
    with use_context(Context(environ=environ)) as made:
        if logical > 1:
            first = tf.config.list_physical_devices("GPU")[0]
            most = card().memory_bytes // MIB * 0.8 / logical  # so that a small card is sufficient
            parts = [tf.config.LogicalDeviceConfiguration(memory_limit=min(limit_mib, most)) for _ in range(logical)]
            tf.config.set_logical_device_configuration(first, parts)
        yield made
        for one in made.devices.devices:
            one.synchronize()
    gc.collect()


def on(number: int) -> Any:
    """Returns the `tf.device` block for a GPU."""
    return tf.device(f"GPU:{number}")


def wait(made: Context | None = None) -> None:
    """Waits until all work that was started has finished."""
    if made is not None:
        for one in made.devices.devices:
            one.synchronize()
    cupy().cuda.runtime.deviceSynchronize()


def python(*args: str, timeout: float = 300, **environ: str) -> subprocess.CompletedProcess[str]:
    """Runs the same Python in the repository's root."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]), **environ}
    command = [sys.executable, *args]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=timeout)


def why_not(reading: Any) -> str:
    """Returns the reason why NVML reports no figures for a card."""
    reasons = dict.fromkeys(reading.missing.values())
    return f"NVML reports no figures: {'; '.join(reasons)}"


def used_by_nvml() -> int | None:
    """Returns the bytes in use on the whole card, according to NVML; None if NVML does not report them."""
    return tf.runtime.CardMonitor().card(card().uuid, card().bus_id, 0).used
