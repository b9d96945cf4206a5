"""Machines for tests: simulated cards, and an environment that is independent of the caller's."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from nbtf._devices.machines import simulated_cluster, simulated_machine
from nbtf._runtime.context import Context, use_context

LOCAL = "/job:localhost/replica:0/task:0/device:"
"""The common beginning of all full device names."""

SCRATCH = 1280
"""Bytes that TensorFlow's own buffer uses on every active GPU."""

MIB = 1 << 20


@contextmanager
def machine(
    count: int, model: str | None = None, memory: float | str | None = None, **environ: str
) -> Generator[Context]:
    """A fresh nbtf, as in a new process, on a machine with `count` cards of one model (V100 by default)."""
    with use_context(Context(simulated_machine(count, model, memory), environ=environ)) as context:
        yield context


@contextmanager
def cluster(
    hosts: int, gpus: int, model: str = "H100", link: str = "100Gb/s", memory: float | str | None = None
) -> Generator[Context]:
    """A fresh nbtf, as in a new process, with simulated hosts."""
    with use_context(Context(simulated_cluster(hosts, gpus, model, link, memory), environ={})) as context:
        yield context


def worker(task: int, device: str) -> str:
    """Returns the full name of a device of a simulated host."""
    return f"/job:worker/replica:0/task:{task}/device:{device}"
