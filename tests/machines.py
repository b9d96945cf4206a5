"""Which machines do tests run on? Simulated cards, and an environment that is not the caller's."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from nbtf._devices.discovery import simulated_machine
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
