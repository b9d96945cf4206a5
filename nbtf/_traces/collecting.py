"""What does a trace contain? Its pieces of time in columns, with the names, categories and memory that occur in it."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from nbtf._traces.json_stream import TraceStream
from nbtf._traces.slices import ANNOTATION, Slice, Track, dictionary, own_device, slice_of

_MICRO = 1e-6
_NAME = 2000  # characters; names of templates in C++ have hundreds
_MEMORY = "[memory]"
_LONGEST = 1e15
"""The latest time in microseconds that a trace can have: 31 years after its beginning."""


class Work(NamedTuple):
    """The common fields of pieces of time: name, role, and a number for process and thread."""

    name: str
    piece: Slice
    track: int


class MemoryChange(NamedTuple):
    """Memory that a library allocated (or freed, if `nbytes` is negative); sizes are in bytes, `time` in seconds."""

    time: float
    device: str
    nbytes: int
    in_use: int
    pool: int


class Content(NamedTuple):
    """The content of a trace; times are in seconds since its first piece.

    Attributes:
      works: the distinct works.
      work: for each piece, an index into `works`.
      start: when each piece begins.
      seconds: how long it takes.
      memory: changes of memory on GPUs, in order.
      left_out: number of events that are not shown, by category.
      epoch: the time of the first piece in seconds since the epoch; 0 if the trace does not contain it.
      header: the values beside the events.
      is_cut: whether the end of the file was missing.
    """

    works: list[Work]
    work: Any
    start: Any
    seconds: Any
    memory: list[MemoryChange]
    left_out: Counter[str]
    epoch: float
    header: Mapping[str, Any]
    is_cut: bool


class Collector:
    """Takes the events of a trace one by one."""

    def __init__(self) -> None:
        """Starts empty."""
        self._works: dict[Work, int] = {}
        self._columns = array("L"), array("d"), array("d")
        self._memory: list[MemoryChange] = []
        self._left_out: Counter[str] = Counter()
        self._processes: dict[Any, str] = {}
        self._threads: dict[tuple[Any, Any], str] = {}
        self._tracks: dict[tuple[Any, Any], int] = {}
        self._open: dict[tuple[Any, Any], list[tuple[Mapping[str, Any], float]]] = {}
        self._levels: dict[str, int] = {}
        self._is_understood = False

    def take(self, event: Any) -> None:
        """Adds an event."""
        if event == {}:
            return  # TensorFlow writes one at the end
        fields = dictionary(event)
        if not fields:
            self._left_out["not an event"] += 1
            return
        phase = fields.get("ph")
        key = _key(fields.get("pid")), _key(fields.get("tid"))
        if phase == "X":
            self._piece(fields, key, _real(fields.get("ts")), _real(fields.get("dur", 0.0)))
        elif phase == "M":
            self._name(fields, key)
        elif phase == "B":
            self._open.setdefault(key, []).append((fields, _real(fields.get("ts"))))
        elif phase == "E":
            waiting = self._open.get(key)
            if waiting:
                beginning, start = waiting.pop()
                self._piece(beginning, key, start, _real(fields.get("ts")) - start)
            else:
                self._left_out["end without a beginning"] += 1
        elif fields.get("name") == _MEMORY:
            self._take_memory(fields)
        elif phase == "C":
            self._counter(fields)
        else:
            self._left_out[_category(fields) or f"phase {str(phase)[:20]!r}"] += 1

    def content(self, stream: TraceStream) -> Content:
        """Returns everything collected from a stream that has ended.

        Raises:
          ValueError: if nothing in it is an op, a kernel or a copy.
        """
        unfinished = sum(map(len, self._open.values()))
        if unfinished:
            self._left_out["beginning without an end"] += unfinished
        if not self._is_understood:
            listed = ", ".join([f"{count:,} x {name}" for name, count in self._left_out.most_common(5)])
            raise ValueError(
                f"it has no ops, kernels or copies that nbtf knows ({listed or 'no events'}). Expected a trace of the "
                "profiler of PyTorch, TensorFlow or JAX."
            )
        work, start, seconds = (np.frombuffer(column, column.typecode) for column in self._columns)
        first = float(start.min())
        base = self._base(stream.header)
        for change in self._memory:
            first = min(first, change.time)
        epoch = (base + first) * _MICRO if base else 0.0
        memory = [change._replace(time=(change.time - first) * _MICRO) for change in self._memory]
        memory.sort(key=lambda change: change.time)
        order = start.argsort(kind="stable")
        tracks = [*self._tracks]
        works = [each._replace(piece=self._named(each, tracks)) for each in self._works]
        columns = work[order].astype(np.int64), (start[order] - first) * _MICRO, seconds[order] * _MICRO
        return Content(works, *columns, memory, self._left_out, epoch, stream.header, stream.is_cut)

    def _piece(self, fields: Mapping[str, Any], key: tuple[Any, Any], start: float, duration: float) -> None:
        name, category = str(fields.get("name", ""))[:_NAME], _category(fields)
        track = Track(self._processes.get(key[0], ""), self._threads.get(key, ""))
        piece = slice_of(fields, name, category, track)
        if not piece.role:
            thread = track.thread or track.process or "without a name"
            self._left_out[piece.track or category or f"line {thread}"[:60]] += 1
            return
        if not 0 <= duration <= _LONGEST or not -_LONGEST * 10 <= start <= _LONGEST * 10:
            self._left_out["without a time"] += 1
            return
        if piece.is_modelled or track.process == "nbtf":
            name = name.removesuffix(" (modelled time)")
        self._is_understood |= piece.role != ANNOTATION
        number = self._tracks.setdefault(key, len(self._tracks))
        work = Work(name, piece, number)
        values = self._works.setdefault(work, len(self._works)), start, duration
        for column, value in zip(self._columns, values, strict=True):
            column.append(cast("Any", value))

    def _named(self, work: Work, tracks: Sequence[tuple[Any, Any]]) -> Slice:
        """Returns a piece with the name of its thread, which may follow the events."""
        if work.piece.track:
            return work.piece
        process, thread = tracks[work.track]
        name = self._threads.get((process, thread)) or (f"thread {thread}" if work.piece.device == "CPU:0" else "")
        return work.piece._replace(track="" if self._processes.get(process) == "nbtf" else name)

    def _name(self, fields: Mapping[str, Any], key: tuple[Any, Any]) -> None:
        name: Any = dictionary(fields.get("args")).get("name")
        if isinstance(name, str):
            if fields.get("name") == "process_name":
                self._processes[key[0]] = name[:_NAME]
            elif fields.get("name") == "thread_name":
                self._threads[key] = name[:_NAME]

    def _take_memory(self, fields: Mapping[str, Any]) -> None:
        args = dictionary(fields.get("args"))
        if args.get("Device Type") != 1:
            self._left_out["memory of the host"] += 1
            return
        figures: list[Any] = [args.get(name) for name in ("Device Id", "Bytes", "Total Allocated", "Total Reserved")]
        start = _real(fields.get("ts"))
        is_known = all(isinstance(figure, int) and abs(figure) < 2**62 for figure in figures)
        if not is_known or not abs(start) <= _LONGEST * 10:
            self._left_out["memory without figures"] += 1
            return
        number, nbytes, in_use, pool = figures
        self._memory.append(MemoryChange(start, f"GPU:{max(0, number)}", nbytes, in_use, pool))

    def _counter(self, fields: Mapping[str, Any]) -> None:
        """Takes the level of memory in a trace of nbtf."""
        device = own_device(str(fields.get("name", "")).removesuffix(" in use"))
        level: Any = dictionary(fields.get("args")).get("bytes")
        start = _real(fields.get("ts"))
        if not device or not isinstance(level, int) or not 0 <= level < 2**62 or not abs(start) <= _LONGEST * 10:
            self._left_out["counter"] += 1
            return
        self._memory.append(MemoryChange(start, device, level - self._levels.get(device, 0), level, level))
        self._levels[device] = level

    @staticmethod
    def _base(header: Mapping[str, Any]) -> float:
        """Returns the time of timestamp 0 in microseconds since the epoch; 0 if the trace does not contain it."""
        base = header.get("baseTimeNanoseconds")
        return base / 1000 if isinstance(base, int) and 0 < base < 2**63 else 0.0


def _category(fields: Mapping[str, Any]) -> str:
    category = fields.get("cat")
    return category[:60] if isinstance(category, str) else ""


def _key(value: Any) -> Any:
    """Returns the number of a process or a thread, which may be text as well."""
    return value if isinstance(value, int | str) else None


def _real(value: Any) -> float:
    if isinstance(value, str):  # some writers quote large numbers
        try:
            value = float(value)
        except ValueError:
            return float("nan")
    return float(value) if isinstance(value, int | float) and abs(value) < 1e300 else float("nan")
