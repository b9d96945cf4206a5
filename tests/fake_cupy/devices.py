"""Devices and contexts over fake cards, for tests."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from nbtf._devices import discovery
from nbtf._devices.cuda.device import CudaGPU
from nbtf._devices.cuda.memory import plan_for
from nbtf._devices.cuda.probe import ask
from nbtf._runtime.context import Context, use_context
from tests import fake_cupy
from tests.fake_cupy import cuda
from tests.fake_cupy.machine import FakeMachine

MIB = 1 << 20


def gpu(
    index: int = 0,
    card: int = 0,
    limit: float | None = 64,
    *,
    alone: bool = True,
    fraction: float | None = None,
    growth: bool | None = None,
    **environ: str,
) -> CudaGPU:
    """Makes a logical GPU on a fake card; `limit` in MiB."""
    plan = plan_for(limit, fraction, growth, environ)
    return CudaGPU(index, ask(fake_cupy).cards[card], plan, alone, fake_cupy)


@contextmanager
def fake_context(cards: int = 1, environ: dict[str, str] | None = None, **how: Any) -> Generator[FakeMachine]:
    """Is a process on a machine with fake cards."""
    with fake_cupy.installed(cards, **how) as machine:
        found = ask(fake_cupy).cards
        context = Context(environ=environ or {})
        with patch.object(discovery, "real_cards", lambda environ: found), use_context(context):
            try:
                yield machine
            finally:
                context.close()


def state_of_thread() -> tuple[Any, ...]:
    """Returns what a user's code would work with now: device, stream, allocator."""
    stream = cuda.get_current_stream()
    return cuda.runtime.getDevice(), stream.ptr, stream.device_id, cuda.memory._get_thread_local_allocator()
