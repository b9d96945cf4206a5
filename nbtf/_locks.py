"""Which locks there are: a forked process must find all of them free, and nothing half done behind them.

Only the thread that forks goes on in the child. What another thread had begun under a lock would stay half done there
for ever, and the lock taken. So a fork first waits until it holds every lock, and lets them all go afterwards, in
both processes.

Who holds several takes them in this order: a session's, that of optimizers that are built, those of variables (by
`id`), the context's, those of observers and recorders, those of devices, a card's. Only the first three call the
user's code, such as observers, under a lock.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator
from time import monotonic
from typing import Any, TypeVar
from weakref import ref

Item = TypeVar("Item")

Lock = Any
"""A `threading.RLock`, whose class has no name. It knows which thread has it, and a finalizer that the garbage
collector runs does not wait for its own thread."""

_LOCKS: set[ref[Lock]] = set()
_TAKEN: dict[int, list[Lock]] = {}
"""What the threads that are about to fork hold."""

_PATIENCE, _STEP = 2.0, 0.02
"""Seconds that a fork waits for all locks, and for each: the thread that has one may be waiting for this one."""


def new_lock() -> Lock:
    """Returns a lock that a forked process finds free, and the next cell."""
    lock = threading.RLock()
    _LOCKS.add(ref(lock, _LOCKS.discard))
    return lock


def new_event() -> threading.Event:
    """Returns an event that a forked process can set: its lock is one of these."""
    event: Any = threading.Event()
    event._cond = threading.Condition(new_lock())
    return event


def _all_locks() -> list[Lock]:
    return [lock for reference in tuple(_LOCKS) if (lock := reference()) is not None]


def drain(queue: deque[Item]) -> Iterator[Item]:
    """Yields and removes what waits in a queue, the oldest first.

    Several threads may drain a queue at the same time. Each item goes to one of them.
    """
    while True:
        try:
            item = queue.popleft()
        except (
            IndexError
        ):  # asking first whether the queue is empty would let another thread take the last item meanwhile
            return
        yield item


def release_abandoned() -> None:
    """Lets go of what this thread still has: when a cell is over, none of its code that took a lock still runs.

    An interrupt may come after a lock was taken and before Python knows that there is a block that will let it go.
    """
    for lock in _all_locks():
        while lock._is_owned():
            lock.release()


def _take_all() -> None:
    """Takes all locks; after some time goes on without: a child with one thing half done is better than a deadlock."""
    locks = _TAKEN[threading.get_ident()] = []
    until = monotonic() + _PATIENCE
    while True:
        for lock in _all_locks():
            if not lock.acquire(timeout=_STEP):
                break
            locks.append(lock)
        else:
            return
        if monotonic() > until:
            return
        while locks:
            locks.pop().release()


def _let_go() -> None:
    for lock in _TAKEN.pop(threading.get_ident(), ()):
        lock.release()


def _begin_child() -> None:
    """Lets go of all locks; those of threads that are no longer there are made anew."""
    _let_go()
    _TAKEN.clear()
    for lock in _all_locks():
        if lock.acquire(blocking=False):
            lock.release()
        else:
            lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(before=_take_all, after_in_parent=_let_go, after_in_child=_begin_child)
