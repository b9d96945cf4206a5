"""Opens and closes the scopes of blocks, including scopes that a block could not close itself.

An interrupt may arrive after a block has opened its scope and before Python knows that it must call `__exit__`, or in
the middle of `__exit__`. So each open scope has an owner, and the scope is abandoned when its owner is destroyed.

The owner is the bound `__exit__` that a `with` statement holds until its block ends; a traceback does not keep it.
If a block was entered by hand, the owner is the block object itself: the scope stays open as long as a name holds it.
Destroying an owner runs no Python code. The owner writes itself into `Scope.lane`, and the next op, or the end of the
cell, closes the scopes that were left open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar, Token
from functools import partial
from itertools import takewhile
from sys import getrefcount
from types import MethodType
from typing import Any, TypeGuard, TypeVar, cast
from weakref import ReferenceType, ref

from nbtf._locks import release_abandoned
from nbtf._runtime.logger import get_logger
from nbtf._runtime.scopes import EMPTY, HERE, SCOPE, Scope, reset_scope, set_scope

T = TypeVar("T")


F = TypeVar("F", bound=Callable[..., Any])


def leaving(function: F) -> F:
    """Marks a block's `__exit__` so that the bound method held by a `with` statement can be the owner."""
    return cast("F", _Leaving(function))


class _Leaving:
    """Binds the `__exit__` of a block, and stores the bound method on the block."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        """Stores the method."""
        self._function = function

    def __get__(self, block: Any, owner: type | None = None) -> Callable[..., Any]:
        """Binds the method. A `with` statement does this just before it calls `__enter__`, which finds the result."""
        if block is None:
            return self._function
        bound = MethodType(self._function, block)
        if block._exit is None or getrefcount(block._exit) == NOBODY_ELSE:
            block._exit = bound
        else:  # two threads use the same block at once and cannot be told apart, so the block itself owns both scopes
            block._exit = None
        return bound


class ScopeStack:
    """A block that replaces the scope: reusable, re-entrant, and safe to share between threads.

    The scope itself stores what the block has opened. A notebook cell with `await` may therefore close the block in
    another context, where Python would reject the token of a context variable.
    """

    __slots__ = ("__weakref__", "_exit")

    _exit: MethodType | None

    def __init__(self) -> None:
        """Starts outside the block."""
        self._exit = None

    def enter(self, inner: Scope, change: Any = None) -> None:
        """Makes `inner`, which must not be shared, the scope of this thread or task; closing it undoes `change`."""
        inner.outer, inner.change = SCOPE(), change
        # No local variable holds an owner anywhere in this file: a traceback would keep it alive.
        by_hand = self._exit is None or getrefcount(self._exit) == NOBODY_ELSE
        # On the CPU's lane, ops run as they do without a scope, apart from tapes; the road reads the scope itself.
        if (inner.lane is None or inner.lane is HERE.device) and not inner.tapes:
            inner.owner = ref(self if by_hand else self._exit)
        else:
            inner.owner = ref(self if by_hand else self._exit, partial(setattr, inner, "lane"))
        self._exit = None
        set_scope(inner)

    def leave(self, message: str) -> None:
        """Restores the outer scope; raises `RuntimeError(message)` if another block was left open inside."""
        self._exit = None
        scope = SCOPE()
        if not self._has_opened(scope):
            scope = close_abandoned()  # closes inner blocks whose `__exit__` never ran
            if not self._has_opened(scope):
                raise RuntimeError(message)
        close(scope)

    def _has_opened(self, scope: Scope | None) -> TypeGuard[Scope]:
        """Returns whether this block has opened a scope that is still open."""
        if scope is None or scope.owner is None:
            return False
        return getattr(scope.owner(), "__self__", None) is self or scope.owner() is self


def close(scope: Scope) -> None:
    """Restores the scope outside the innermost one."""
    take_back(scope)
    outer = scope.outer
    set_scope(outer if outer is None else _revealed(outer))
    scope.owner = None  # last: until here, an interrupted close is completed elsewhere


def close_alone(scope: Scope, token: Token[Scope | None]) -> None:
    """Closes an outermost scope that changed nothing else, in half the time that `close` takes."""
    try:
        reset_scope(token)
        scope.owner = None
    except ValueError:  # another thread uses the same block, or this context is a copy of the one that opened it
        close(scope)


def take_back(scope: Scope) -> None:
    """Undoes the other changes of a scope's block, unless they are undone already."""
    if scope.change is not None:
        scope.change.take_back()
        scope.change = None


class within(ScopeStack):  # noqa: N801  # named like a block
    """A block that opens a scope."""

    __slots__ = ("_inner",)

    def __init__(self, inner: Callable[[Scope], Scope]) -> None:
        """Stores the function that makes a new, unshared scope from the outer one."""
        self._exit = None
        self._inner = inner

    def __enter__(self) -> None:
        """Opens the block."""
        self.enter(self._inner(current_scope() or EMPTY))

    @leaving
    def __exit__(self, *error: object) -> None:
        """Closes the block."""
        self.leave("Exiting a scope without proper scope nesting")


_SAMPLE = within(lambda outer: outer)
_SAMPLE._exit = MethodType(print, _SAMPLE)
NOBODY_ELSE = getrefcount(_SAMPLE._exit)
"""The value of `getrefcount` for an object that one attribute alone refers to; it varies between Python releases."""
_SAMPLE._exit = None


# Variables that are set while a function runs

_OF_CALLS: list[tuple[ContextVar[Any], Any]] = []


def call_variable(name: str, default: T) -> ContextVar[T]:
    """Returns a variable that nbtf's functions set while they run; the end of a cell restores its default."""
    variable = ContextVar(name, default=default)
    _OF_CALLS.append((variable, default))
    return variable


# Scopes that no block can close any more

_NOBODY: ReferenceType[Any] = ref(set[None]())
"""The owner of a closed scope that an open one still hides."""


def current_scope() -> Scope | None:
    """Returns the scope of this thread or task, after closing those whose owners are gone."""
    scope = SCOPE()
    return close_abandoned() if scope is not None and scope.owner is not None and scope.owner() is None else scope


def close_abandoned(cell_ended: bool = False) -> Scope | None:
    """Closes abandoned scopes and logs a warning; returns the scope that remains.

    Args:
      cell_ended: whether no nbtf code is running any more, so that scopes without an owner are abandoned as well.
    """
    scope = SCOPE()
    if scope is None:
        return None
    over = list(takewhile(lambda open_scope: _is_over(open_scope, cell_ended), _chain(scope)))
    if not over:
        return scope
    names = [name for open_scope in over if open_scope.owner is not None for name in _opened(open_scope)]
    for open_scope in over:
        take_back(open_scope)
        for tape in open_scope.tapes[0 if open_scope.outer is None else len(open_scope.outer.tapes) :]:
            tape.hearing, tape.closed = None, True
    remaining = _revealed(over[-1].outer)
    set_scope(remaining)
    if names:
        get_logger().warning("nbtf: closed blocks that were left open: %s.", " and ".join(names))
    return remaining


def end_cell() -> None:
    """Restores the state that an interrupted cell may have left behind: scopes, call variables and locks.

    Call it only when no code of the cell is running. Blocks that were entered by hand stay open as long as a name
    holds them.

    >>> tf.runtime.end_cell()
    """
    close_abandoned(cell_ended=True)
    for variable, default in _OF_CALLS:
        if variable.get() is not default:
            variable.set(default)
    release_abandoned()


def close_later(scope: Scope) -> None:
    """Closes a scope as soon as no other scope hides it."""
    scope.owner = _NOBODY


def _revealed(scope: Scope | None) -> Scope | None:
    """Returns the first scope in a chain that is still open, without the tapes that have closed."""
    while scope is not None and _is_over(scope):
        take_back(scope)
        scope = scope.outer
    if scope is None or not scope.tapes or not any([tape.closed for tape in scope.tapes]):
        return scope
    remaining = scope.with_tapes(tuple([tape for tape in scope.tapes if not tape.closed]), None)
    remaining.outer, remaining.change = scope.outer, scope.change
    if scope.owner is not None:
        remaining.owner = ref(scope.owner(), partial(setattr, remaining, "lane"))
    return remaining


def _is_over(scope: Scope, cell_ended: bool = False) -> bool:
    return cell_ended if scope.owner is None else scope.owner() is None


def open_scopes() -> Iterator[Scope]:
    """Yields the scopes of this thread or task, the innermost first."""
    return _chain(SCOPE())


def _chain(scope: Scope | None) -> Iterator[Scope]:
    while scope is not None:
        yield scope
        scope = scope.outer


def _opened(scope: Scope) -> list[str]:
    """Returns what a scope adds to the outer one, written as a program would write it."""
    outer = scope.outer or EMPTY
    added = {
        "tf.device": scope.request is not outer.request,
        "tf.GradientTape": len(scope.tapes) > len(outer.tapes),
        "a strategy": scope.strategy is not outer.strategy,
        "a graph": scope.graph is not outer.graph,
        "tf.name_scope": scope.names != outer.names,
    }
    if scope.change is not None:
        return [scope.change.title]
    return [name for name, is_added in added.items() if is_added] or ["a block"]
