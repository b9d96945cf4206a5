"""`cupy.cuda`."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from tests.fake_cupy import memory, runtime, stream
from tests.fake_cupy.machine import MACHINE
from tests.fake_cupy.memory import BaseMemory as BaseMemory
from tests.fake_cupy.memory import Memory as Memory
from tests.fake_cupy.memory import MemoryHook as MemoryHook
from tests.fake_cupy.memory import MemoryPointer as MemoryPointer
from tests.fake_cupy.memory import MemoryPool as MemoryPool
from tests.fake_cupy.memory import UnownedMemory as UnownedMemory
from tests.fake_cupy.memory import alloc as alloc
from tests.fake_cupy.memory import get_allocator as get_allocator
from tests.fake_cupy.memory import set_allocator as set_allocator
from tests.fake_cupy.stream import Event as Event
from tests.fake_cupy.stream import Stream as Stream
from tests.fake_cupy.stream import get_current_stream as get_current_stream
from tests.fake_cupy.stream import get_elapsed_time as get_elapsed_time

driver = SimpleNamespace(ctxGetCurrent=lambda: int(MACHINE.device in MACHINE.contexts))

__all__ = ["driver", "memory", "runtime", "stream"]


class Device:
    """A device; making one never fails [1.2]."""

    def __init__(self, id: int | None = None) -> None:
        self.id = MACHINE.device if id is None else id

    def __enter__(self) -> Device:
        stack = MACHINE.local.__dict__.setdefault("devices", [])
        stack.append(MACHINE.device)
        runtime.setDevice(self.id)
        return self

    def __exit__(self, *error: object) -> None:
        runtime.setDevice(MACHINE.local.devices.pop())

    def use(self) -> None:
        runtime.setDevice(self.id)

    def synchronize(self) -> None:
        MACHINE.did("sync", "device", self.id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)


def is_available() -> bool:
    """Never raises [1.1]."""
    return MACHINE.available and bool(MACHINE.cards)


def get_cublas_handle() -> int:
    """Makes cuBLAS's own workspace, which no pool counts [2.2]."""
    MACHINE.did("cublas", MACHINE.touch())
    return 1


@contextmanager
def using_allocator(allocator: Any = None) -> Generator[None]:
    previous = memory._get_thread_local_allocator()
    memory._set_thread_local_allocator(allocator or memory._malloc)
    try:
        yield
    finally:
        memory._set_thread_local_allocator(previous)
