"""Which locks exist, and how does a fork find all of them free, with no operation left half done?

Only the thread that forks continues in the child. Operations that other threads had begun under a lock would stay
incomplete there forever, and the locks taken. So a fork first waits until it holds every lock, and releases them all
afterwards, in both processes.

A thread that takes several locks must take them in this order: a session's, that of optimizers being built, those of
variables (by `id`), the context's, those of observers and recorders, those of devices, a card's. Only the first three
may call the user's code, such as observers, while they are held.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any, Generic, Self, TypeVar, overload
from weakref import ref

Item = TypeVar("Item")
Value = TypeVar("Value")

Lock = Any
"""A `threading.RLock`, whose class has no public name. It knows the thread that holds it, so a finalizer that the
garbage collector runs does not wait for its own thread."""

_LOCKS: set[ref[Lock]] = set()
_TAKEN: dict[int, list[Lock]] = {}
"""The locks held by threads that are about to fork."""

_PATIENCE, _STEP = 2.0, 0.02
"""Seconds that a fork waits for all locks, and for each: the thread that holds one may be waiting for this thread."""


def new_lock() -> Lock:
    """Returns a lock that is free in a forked process and in the next cell."""
    lock = threading.RLock()
    _LOCKS.add(ref(lock, _LOCKS.discard))
    return lock


def new_event() -> threading.Event:
    """Returns an event that a forked process can set, because its lock is one of ours."""
    event: Any = threading.Event()
    event._cond = threading.Condition(new_lock())
    return event


def _all_locks() -> list[Lock]:
    return [lock for reference in tuple(_LOCKS) if (lock := reference()) is not None]


def drain(queue: deque[Item]) -> Iterator[Item]:
    """Yields and removes the items waiting in a queue, oldest first.

    Several threads may drain a queue at the same time. Each item goes to one of them.
    """
    while True:
        try:
            item = queue.popleft()
        except IndexError:  # checking for an empty queue first would let another thread take the last item in between
            return
        yield item


def release_abandoned() -> None:
    """Releases the locks that this thread still holds after a cell, when none of the cell's code is running.

    An interrupt may arrive after a lock was taken, but before Python enters the block that would release it.
    """
    for lock in _all_locks():
        while lock._is_owned():
            lock.release()


def _take_all() -> None:
    """Takes all locks, but gives up after some time: an incomplete operation in the child is better than a deadlock."""
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
    """Releases all locks, and replaces those of threads that do not exist in the child."""
    _let_go()
    _TAKEN.clear()
    for lock in _all_locks():
        if lock.acquire(blocking=False):
            lock.release()
        else:
            lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):  # missing on Windows, which has no fork
    os.register_at_fork(before=_take_all, after_in_parent=_let_go, after_in_child=_begin_child)


class computed_once(Generic[Value]):  # noqa: N801  # named like a decorator
    """A property that is computed when it is first read, and then kept.

    `functools.cached_property` does the same, but in Python 3.11 it holds one lock for all objects. A child that was
    forked meanwhile would wait for that lock forever.
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        """Stores the function that computes the value of an object."""
        self._compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Value: ...

    def __get__(self, instance: object | None, owner: type | None = None) -> Self | Value:
        """Returns the value, and stores it in the object under the property's name."""
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._compute(instance)
        return value
