"""Does every access to memory of a fake card have an order? Streams are not ordered by themselves; events order them.

The fake executes everything at once, so a wait that is missing changes no value. This checker knows what a card might
do: each stream has a vector clock, events carry clocks from one stream to another, and each piece of memory remembers
who wrote it last and who has read it since. An access that is not behind all it must be behind is a race. Pieces of
memory are looked at, not arrays: a block that is used again is written by its next owner.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch

from tests.fake_cupy import arrays, memory, runtime, stream
from tests.fake_cupy.machine import MACHINE

PIECE = 256
"""Bytes; no two blocks of an allocator share such a piece."""

StreamName = tuple[int, int]
"""Device and pointer; pointer 0 is the null stream of the device.

It waits for all others, as they do for it, except for those that were made as non-blocking.
"""
Clock = dict[StreamName, int]


class RaceError(BaseException):
    """Two accesses to the same memory, one of them a write, that may happen in any order.

    Not an `Exception`: the device must not take it for one of CUDA's.
    """


class Access(NamedTuple):
    """Who did it: the stream, its how-many-th step, and what it was."""

    stream: StreamName
    step: int
    what: str

    def __str__(self) -> str:
        device, pointer = self.stream
        return f"{self.what} (step {self.step} of stream {pointer:#x} of device {device})"


class Races:
    """The clocks of all streams and the history of all memory.

    All threads of the host count as one: what one has waited for, the others know.
    """

    def __init__(self) -> None:
        self.host: Clock = {}
        self.streams: dict[StreamName, Clock] = {}
        self.events: dict[int, Clock] = {}
        self.writes: dict[int, Access] = {}
        self.reads: dict[int, dict[StreamName, Access]] = {}
        self.accesses = 0

    def clock(self, name: StreamName) -> Clock:
        """Returns the clock of a stream, with all it is behind by now."""
        clock = self.streams.setdefault(name, {})
        merge(clock, self.host)
        device, pointer = name
        for other, theirs in list(self.streams.items()):
            if other[0] == device and 0 in (pointer, other[1]) and not {pointer, other[1]} & stream.NON_BLOCKING:
                merge(clock, theirs)
        return clock

    def access(self, what: str, reads: Iterable[Any], writes: Iterable[Any], name: StreamName | None = None) -> None:
        """Looks whether a step of a stream is behind all it must be behind; then it has been."""
        name = current() if name is None else name
        clock = self.clock(name)
        clock[name] = clock.get(name, 0) + 1
        now = Access(name, clock[name], what)
        self.accesses += 1
        for piece in pieces(reads):
            self._behind(now, clock, self.writes.get(piece))
            self.reads.setdefault(piece, {})[name] = now
        for piece in pieces(writes):
            self._behind(now, clock, self.writes.get(piece))
            for read in self.reads.pop(piece, {}).values():
                self._behind(now, clock, read)
            self.writes[piece] = now

    @staticmethod
    def _behind(now: Access, clock: Clock, before: Access | None) -> None:
        if before is not None and clock.get(before.stream, 0) < before.step:
            raise RaceError(f"{now} is not ordered behind {before}")

    def record(self, event: int, name: StreamName) -> None:
        """An event stands behind all that the stream has done."""
        self.events[event] = dict(self.clock(name))

    def wait(self, event: int, name: StreamName) -> None:
        """The stream goes on behind the event."""
        merge(self.streams.setdefault(name, {}), self.events.get(event, {}))

    def host_waits(self, *names: StreamName) -> None:
        """The host, and so all that it starts later, goes on behind these streams."""
        for name in names:
            merge(self.host, self.clock(name))

    def fresh(self, start: int, nbytes: int) -> None:
        """Memory from the driver: nobody has used it."""
        for piece in pieces([(start, nbytes)]):
            self.writes.pop(piece, None)
            self.reads.pop(piece, None)


def merge(clock: Clock, other: Clock) -> None:
    """Puts a clock forward to where another one is."""
    for name, step in other.items():
        if clock.get(name, 0) < step:
            clock[name] = step


def pieces(parts: Iterable[Any]) -> Iterable[int]:
    """Yields the pieces of memory of arrays and of (address, bytes)."""
    for part in parts:
        start, nbytes = part if isinstance(part, tuple) else (part.data.ptr, part.nbytes)
        if nbytes:
            yield from range(start // PIECE, (start + nbytes - 1) // PIECE + 1)


def current() -> StreamName:
    """Returns the stream on which the next step would be."""
    return (MACHINE.device, stream.get_current_stream().ptr)


def arrays_in(values: Iterable[Any]) -> list[Any]:
    """Returns the arrays among the arguments of a kernel."""
    return [one for one in arrays.host_operands(values) if isinstance(one, arrays.ndarray)]


@contextmanager
def checked_for_races() -> Generator[Races]:
    """Checks all that happens on the fake machine inside a `with`; devices must be made inside, too."""
    races = Races()
    patches: list[Any] = []

    def around(owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        patches.append(patch.object(owner, name, make(getattr(owner, name))))

    _kernels(races, around)
    _copies(races, around)
    _order(races, around)
    for one in patches:
        one.start()
    try:
        yield races
    finally:
        for one in reversed(patches):
            one.stop()


def _kernels(races: Races, around: Callable[..., None]) -> None:
    """Kernels read their operands and write what they make or change."""

    def reading(operands: Any) -> Any:
        def read(*values: Any) -> None:
            operands(*values)
            races.access("a kernel reads", arrays_in(values), [])

        return read

    def making(made: Any) -> Any:
        def make(result: Any, *inputs: Any) -> Any:
            array = made(result, *inputs)
            if isinstance(array, arrays.ndarray) and array.base is None and not any(array is one for one in inputs):
                races.access("a kernel writes its result", [], [array])
            return array

        return make

    def changing(change: Any) -> Any:
        def changed(self: Any, *args: Any, **kwargs: Any) -> Any:
            target = args[0] if isinstance(self, arrays.Ufunc) else self
            result = change(self, *args, **kwargs)
            races.access("a kernel changes an array", [], [target])
            return result

        return changed

    around(arrays, "operands", reading)
    around(arrays, "made", making)
    around(arrays.Ufunc, "at", changing)
    in_place = [f"__i{name}__" for name in arrays._OPERATORS.split()]
    for name in ("__setitem__", "fill", "sort", "set", *in_place):
        around(arrays.ndarray, name, changing)


def _copies(races: Races, around: Callable[..., None]) -> None:
    """Copies between devices read and write; copies to the host let it wait."""

    def copying(memcpy: Any) -> Any:
        def copy(target: int, source: int, size: int, kind: int, pointer: int) -> None:
            memcpy(target, source, size, kind, pointer)
            races.access("a copy between devices", [(source, size)], [(target, size)], (MACHINE.device, pointer))

        return copy

    def getting(get: Any) -> Any:
        def got(self: Any, stream: Any = None, *args: Any, **kwargs: Any) -> Any:
            result = get(self, stream, *args, **kwargs)
            name = (self.data.device_id, stream.ptr)
            races.access("a copy to the host", [self], [], name)
            races.host_waits(name)
            return result

        return got

    def looking(read: Any) -> Any:
        def look(self: Any) -> Any:
            races.access("a look at a value", [self], [])
            races.host_waits(current())
            return read(self)

        return look

    def mapping(init: Any) -> Any:
        def mapped(self: Any, size: int) -> None:
            init(self, size)
            races.fresh(self.ptr, size)

        return mapped

    around(runtime, "memcpyAsync", copying)
    around(arrays.ndarray, "get", getting)
    around(arrays.ndarray, "_read", looking)
    around(memory.Memory, "__init__", mapping)


def _order(races: Races, around: Callable[..., None]) -> None:
    """Events and syncs make order."""

    def recording(record: Any) -> Any:
        def recorded(self: Any, where: Any = None) -> None:
            record(self, where)
            races.record(self.number, stream._name(self.recorded_on))

        return recorded

    def waiting(wait: Any) -> Any:
        def waited(self: Any, event: Any) -> None:
            wait(self, event)
            races.wait(event.number, stream._name(self))

        return waited

    def syncing(sync: Any) -> Any:
        def synced(*args: Any) -> None:
            sync(*args)
            match args:
                case [stream.Stream() as one]:
                    races.host_waits(stream._name(one))
                case [stream.Event() as one]:
                    merge(races.host, races.events.get(one.number, {}))
                case _:
                    races.host_waits(*(name for name in list(races.streams) if name[0] == MACHINE.device))

        return synced

    around(stream.Event, "record", recording)
    around(stream.Stream, "wait_event", waiting)
    around(stream.Stream, "synchronize", syncing)
    around(stream.Event, "synchronize", syncing)
    around(runtime, "deviceSynchronize", syncing)
