"""Makes threads take turns at chosen lines: they pass one baton according to a schedule.

Only the thread with the baton runs. Before each line of the package, the schedule may pass the baton on. A schedule is
a list of preemptions; each has the number of a line, counted over all threads, and the thread that continues there. A
thread that waits for a lock, or has ended, passes the baton to the first thread that can run, in an order that is given
with the schedule. Schedule and order determine the whole run, so a failure can be repeated.

The scheduler replaces the package's locks by locks that it understands. If all threads wait, that is a deadlock. If the
thread with the baton waits for anything else, such as a lock that another thread has kept, the run fails as well.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import cache
from inspect import isclass
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any, NamedTuple

import nbtf
from nbtf import _locks
from nbtf._runtime import context, seeds

PACKAGE = str(Path(nbtf.__file__).parent)
"""Threads can be preempted at lines of files below this folder."""

LOADED = (context, seeds)
"""Modules that are loaded before the first run, so that their locks can be replaced in it."""

LANES = "<express lane"
"""The common beginning of the file names of generated functions."""

PATIENCE = 60.0
"""Seconds after which a run without an end has failed; a usual run takes milliseconds."""


class Preemption(NamedTuple):
    """The thread that continues before this line; lines are counted over all threads."""

    line: int
    thread: int


Schedule = tuple[Preemption, ...]


class Deadlock(Exception):  # noqa: N818  # what it is
    """All threads wait for locks."""


class _Abandoned(BaseException):
    """Ends a thread of a run that has failed."""


class Scheduler:
    """One run of several threads with one schedule."""

    current: Scheduler | None = None
    """The current run, which the locks use."""

    def __init__(self, bodies: Sequence[Callable[[], object]], schedule: Schedule, order: Sequence[int]) -> None:
        self._bodies, self._order = bodies, order
        self._schedule = dict(schedule)
        self._batons = [threading.Semaphore(0) for _ in bodies]
        self._numbers: dict[int, int] = {}
        self._waits: dict[int, TurnLock] = {}
        self._over = set[int]()
        self._finished = threading.Event()
        self.choices: list[tuple[int, ...]] = []
        """For each executed line, the other threads that could have continued there."""
        self.errors: list[BaseException] = []

    def run(self) -> None:
        """Runs the threads to their ends; raises the error of a thread that failed."""
        threads = [threading.Thread(target=self._work, args=[n], daemon=True) for n in range(len(self._bodies))]
        Scheduler.current = self
        try:
            for thread in threads:
                thread.start()
            self._batons[self._order[0]].release()
            if not self._finished.wait(PATIENCE):
                raise Deadlock("a thread waits for something that no other thread gives: " + _stacks(threads))
            for thread in threads:
                thread.join()
        finally:
            Scheduler.current = None
        if self.errors:
            raise self.errors[0]

    def _work(self, number: int) -> None:
        self._numbers[threading.get_ident()] = number
        self._batons[number].acquire()
        try:
            if not self.errors:
                sys.settrace(self._trace)
                self._bodies[number]()
        except _Abandoned:
            pass
        except BaseException as error:
            self.errors.append(error)
        finally:
            sys.settrace(None)
            self._over.add(number)
            self._pass_on(number)

    def _trace(self, frame: FrameType, event: str, arg: object) -> Any:
        name = frame.f_code.co_filename
        return self._trace_lines if name.startswith((PACKAGE, LANES)) else None

    def _trace_lines(self, frame: FrameType, event: str, arg: object) -> Any:
        if event == "line":
            runner = self._numbers[threading.get_ident()]
            chosen = self._schedule.get(len(self.choices))
            self.choices.append(tuple([number for number in self._ready() if number != runner]))
            if chosen in self.choices[-1]:
                self._hand(runner, chosen)
        return self._trace_lines

    def _ready(self) -> list[int]:
        """Returns the threads that can run."""
        return [
            number
            for number in self._order
            if number not in self._over and (number not in self._waits or self._waits[number].is_free_for(number))
        ]

    def _hand(self, runner: int, target: int) -> None:
        self._batons[target].release()
        self._batons[runner].acquire()
        if self.errors:
            raise _Abandoned

    def _pass_on(self, runner: int) -> None:
        """Passes the baton on at the end of a thread; after an error, ends all other threads."""
        left = [number for number in self._order if number not in self._over]
        if not left:
            self._finished.set()
            return
        candidates = left if self.errors else self._ready()
        if not candidates:
            self.errors.append(Deadlock(f"threads {left} wait for locks that nobody lets go"))
            candidates = left
        self._batons[candidates[0]].release()

    # Methods for the locks

    @property
    def number(self) -> int | None:
        """Returns the number of the calling thread; None for threads outside this run."""
        return self._numbers.get(threading.get_ident())

    def wait_for(self, lock: TurnLock) -> None:
        """Lets other threads run until a lock is free."""
        runner = self.number
        assert runner is not None
        self._waits[runner] = lock
        while not lock.is_free_for(runner):
            others = [number for number in self._ready() if number != runner]
            if not others:
                raise Deadlock(f"thread {runner} waits for a lock that nobody lets go")
            self._hand(runner, others[0])
        del self._waits[runner]


class TurnLock:
    """A lock whose owner the scheduler knows."""

    def __init__(self, reentrant: bool = False) -> None:
        self._reentrant, self._owner, self._depth = reentrant, -2, 0

    def is_free_for(self, number: int) -> bool:
        return not self._depth or (self._reentrant and self._owner == number)

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        scheduler = Scheduler.current
        number = -1 if scheduler is None or scheduler.number is None else scheduler.number
        if not self.is_free_for(number):
            if not blocking:
                return False
            assert scheduler is not None, "a lock was left behind"
            scheduler.wait_for(self)
        self._owner, self._depth = number, self._depth + 1
        return True

    def release(self) -> None:
        assert self._depth, "a lock is let go that nobody has"
        self._depth -= 1

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    @property
    def is_held(self) -> bool:
        return self._depth > 0


MADE: list[TurnLock] = []
"""Locks that were created in this run; all must be free afterwards."""


def _lock() -> TurnLock:
    MADE.append(TurnLock())
    return MADE[-1]


def _reentrant_lock() -> TurnLock:
    MADE.append(TurnLock(reentrant=True))
    return MADE[-1]


def _stacks(threads: Sequence[threading.Thread]) -> str:
    frames = sys._current_frames()
    return "\n".join(
        ["".join(traceback.format_stack(frames[one.ident])) for one in threads if one.ident in frames]  # pyright: ignore[reportArgumentType]
    )


@cache
def _shared_locks(modules_loaded: int) -> list[tuple[Any, str, Any]]:
    """Returns the locks that modules and classes of the package share: their owners, names and the locks."""
    locks = {id(lock) for lock in _locks._all_locks()}
    modules = [module for name, module in sorted(sys.modules.items()) if name.split(".")[0] == "nbtf"]
    classes = [each for module in modules for each in vars(module).values() if isclass(each)]
    return [
        (owner, name, lock)
        for owner in dict.fromkeys([*modules, *classes])
        for name, lock in vars(owner).items()
        if id(lock) in locks
    ]


@contextmanager
def turn_locks() -> Generator[None]:
    """Makes the package create locks that the scheduler understands, and replaces existing ones."""
    before, shared = _locks.threading, _shared_locks(len(sys.modules))
    MADE.clear()
    _locks.threading = SimpleNamespace(Lock=_lock, RLock=_reentrant_lock, get_ident=threading.get_ident)  # pyright: ignore[reportAttributeAccessIssue]
    replacements = {id(lock): _reentrant_lock() for _, _, lock in shared}
    for owner, name, lock in shared:
        setattr(owner, name, replacements[id(lock)])
    try:
        yield
    finally:
        _locks.threading = before
        for owner, name, lock in shared:
            setattr(owner, name, lock)
        references = [reference for reference in _locks._LOCKS if isinstance(reference(), TurnLock)]
        _locks._LOCKS.difference_update(references)  # the end of a cell releases only real locks
