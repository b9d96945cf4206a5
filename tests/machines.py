"""Which machines do tests run on? Simulated cards, and an environment that is not the caller's."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from nbtf._devices.machines import simulated_cluster, simulated_machine
from nbtf._runtime.context import Context, use_context

LOCAL = "/job:localhost/replica:0/task:0/device:"
"""What all full names of devices begin with."""

SCRATCH = 1280
"""Bytes that TensorFlow's own buffer takes on every GPU in use."""

MIB = 1 << 20


@contextmanager
def machine(
    count: int, model: str | None = None, memory: float | str | None = None, **environ: str
) -> Generator[Context]:
    """A fresh process, as far as nbtf goes, on a machine with some cards of a kind; V100s when not said."""
    with use_context(Context(simulated_machine(count, model, memory), environ=environ)) as context:
        yield context


@contextmanager
def cluster(
    hosts: int, gpus: int, model: str = "H100", link: str = "100Gb/s", memory: float | str | None = None
) -> Generator[Context]:
    """A fresh process beside simulated hosts."""
    with use_context(Context(simulated_cluster(hosts, gpus, model, link, memory), environ={})) as context:
        yield context


def worker(task: int, device: str) -> str:
    """The full name of a device of a simulated host."""
    return f"/job:worker/replica:0/task:{task}/device:{device}"
