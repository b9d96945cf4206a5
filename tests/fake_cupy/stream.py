"""`cupy.cuda.stream`: streams belong to a device, the current one to a thread and a device [1.2]."""

from __future__ import annotations

import itertools
from typing import Any

from tests.fake_cupy.machine import MACHINE

_POINTERS = itertools.count(0x1000, 8)
_NUMBERS = itertools.count(1)
NON_BLOCKING: set[int] = set()
"""Pointers of streams that do not wait for the null stream, nor it for them."""


class Stream:
    """A queue of work."""

    null: Stream
    ptds: Stream

    def __init__(self, null: bool = False, non_blocking: bool = False, ptds: bool = False) -> None:
        plain = not (null or ptds)
        self.device_id = MACHINE.touch() if plain else -1
        self.ptr = next(_POINTERS) if plain else 2 if ptds else 0
        if plain and non_blocking:
            NON_BLOCKING.add(self.ptr)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.ptr == other.ptr

    def __hash__(self) -> int:
        return hash(self.ptr)

    def use(self) -> Stream:
        if self.device_id not in (-1, MACHINE.device):
            raise RuntimeError(f"This stream can only be used on the device {self.device_id}.")
        _currents()[MACHINE.device] = self
        return self

    def __enter__(self) -> Stream:
        _stack().append(get_current_stream())
        return self.use()

    def __exit__(self, *error: object) -> None:
        _stack().pop().use()

    def record(self, event: Event | None = None) -> Event:
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        if event.recorded_on is None:
            raise AssertionError("nobody recorded this event: waiting for it orders nothing")
        MACHINE.did("wait", _name(self), event.number)

    def synchronize(self) -> None:
        MACHINE.did("sync", _name(self), MACHINE.device)

    @property
    def done(self) -> bool:
        return True


class Event:
    """A mark in a stream."""

    def __init__(self, block: bool = False, disable_timing: bool = False) -> None:
        self.device_id = MACHINE.touch()
        self.number = next(_NUMBERS)
        self.recorded_on: Any = None

    def record(self, stream: Stream | None = None) -> None:
        stream = get_current_stream() if stream is None else stream
        if MACHINE.device != self.device_id:
            raise RuntimeError("cudaErrorInvalidResourceHandle: an event is recorded on the device that made it")
        self.recorded_on = stream
        MACHINE.did("record", _name(stream), self.number)

    def synchronize(self) -> None:
        MACHINE.did("sync", "event", self.number)

    @property
    def done(self) -> bool:
        return True


def _name(stream: Stream) -> tuple[int, int]:
    """A stream as the diary has it: its device and its pointer; there is a null stream on each device."""
    return (MACHINE.device if stream.device_id < 0 else stream.device_id, stream.ptr)


def _currents() -> dict[int, Stream]:
    if not hasattr(MACHINE.local, "streams"):
        MACHINE.local.streams = {}
    return MACHINE.local.streams


def _stack() -> list[Stream]:
    if not hasattr(MACHINE.local, "stack"):
        MACHINE.local.stack = []
    return MACHINE.local.stack


def get_current_stream(device_id: int = -1) -> Stream:
    MACHINE.need()
    return _currents().get(MACHINE.device if device_id < 0 else device_id, Stream.null)


def get_elapsed_time(start: Event, end: Event) -> float:
    return 1.0


Stream.null = Stream(null=True)
Stream.ptds = Stream(ptds=True)
