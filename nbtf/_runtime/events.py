"""What happened, as plain data, and who is told."""

from __future__ import annotations

import itertools
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

Site: TypeAlias = "tuple[str, int] | None"
"""File name and line of the code that caused an event."""

Where: TypeAlias = "tuple[Site, str | None, int | None]"
"""The last three fields of every event: site, graph node, replica."""


class Reason(NamedTuple):
    """Why an op was placed where it was: a kind from `placement.KINDS`, and what it refers to."""

    kind: str
    detail: str = ""


class OutputSpec(NamedTuple):
    """Shape, dtype and size of a result, in bytes."""

    shape: tuple[int, ...]
    dtype: str
    nbytes: int


class OpPlaced(NamedTuple):
    """An op is about to run; told before it does, so that a failing op still shows where it would have run."""

    op: str
    device: str
    reason: Reason
    seq: int
    time: float
    site: Site = None
    node: str | None = None
    replica: int | None = None


class OpExecuted(NamedTuple):
    """An op has run. `timing` says what `seconds` are: `finished`, `launch` or `modelled`."""

    op: str
    device: str
    outputs: tuple[OutputSpec, ...]
    seconds: float
    timing: str
    seq: int
    time: float
    site: Site = None
    node: str | None = None
    replica: int | None = None


class Copied(NamedTuple):
    """Bytes went from one device to another."""

    source: str
    target: str
    nbytes: int
    seconds: float
    modelled: bool
    seq: int
    time: float
    site: Site = None
    node: str | None = None
    replica: int | None = None


class Allocated(NamedTuple):
    """A device gave memory to a result. `in_use` and `pool`, what it has taken from its card, are as of afterwards."""

    device: str
    nbytes: int
    in_use: int
    pool: int
    seq: int
    time: float
    site: Site = None
    node: str | None = None
    replica: int | None = None


Event: TypeAlias = OpPlaced | OpExecuted | Copied | Allocated
Observer: TypeAlias = Callable[[Event], object]

_SEQUENCE = itertools.count(1)


def stamp() -> tuple[int, float]:
    """Returns the next sequence number, unique in the process, and the time in seconds since the epoch."""
    return next(_SEQUENCE), time.time()


_PACKAGE = __name__.partition(".")[0]
_IS_OURS: dict[str, bool] = {}


def call_site() -> Site:
    """Returns file and line of the nearest caller outside the package."""
    frame = sys._getframe(1)
    while frame is not None:
        module: str = frame.f_globals.get("__name__", "")
        ours = _IS_OURS.get(module)
        if ours is None:
            ours = _IS_OURS[module] = module.partition(".")[0] == _PACKAGE
        if not ours:
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None


def whereabouts(replica: int | None) -> Where:
    """Returns the place in the user's program, as events tell it."""
    return call_site(), None, replica


def warn(text: str) -> None:
    """Warns, naming the user's line and not ours."""
    warnings.warn_explicit(text, RuntimeWarning, *(call_site() or (_PACKAGE, 0)))


class Observers:
    """The functions that are told of events, in the order they were added."""

    __slots__ = ("_changed", "_lock", "_telling", "all")

    def __init__(self, changed: Callable[[], None]) -> None:
        """Makes an empty set; `changed` is called after every addition and removal."""
        self.all: tuple[tuple[object, Observer], ...] = ()
        self._changed = changed
        self._lock = threading.Lock()
        self._telling = threading.local()

    def belong_to(self, changed: Callable[[], None]) -> None:
        """Says who wants to know of additions and removals from now on."""
        self._changed = changed

    def add(self, observer: Observer) -> Callable[[], None]:
        """Adds an observer; returns the function that removes it again (once; a second call does nothing)."""
        entry = (object(), observer)  # one function may be added twice; each addition is undone by itself
        with self._lock:
            self.all = (*self.all, entry)
        self._changed()

        def remove() -> None:
            self._drop(entry)

        return remove

    def _drop(self, entry: tuple[object, Observer]) -> None:
        with self._lock:
            self.all = tuple(other for other in self.all if other is not entry)
        self._changed()

    @property
    def telling(self) -> bool:
        """Whether this thread is inside an observer: what it does is not reported."""
        return getattr(self._telling, "on", False)

    @property
    def listening(self) -> bool:
        """Whether events should be made: someone is there, and this thread is not inside an observer."""
        return bool(self.all) and not self.telling

    def tell(self, event: Event) -> None:
        """Tells everyone. Ops run by an observer are not reported, so it cannot feed itself."""
        self._telling.on = True
        try:
            for entry in self.all:
                try:
                    entry[1](event)
                except Exception as error:
                    self._drop(entry)
                    warn(f"an observer was dropped: {type(error).__name__}: {error}")
        finally:
            self._telling.on = False
