"""How a block opens a scope and closes it, and who closes it when the block cannot any more.

An interrupt may come between the moment when a block has opened its scope and the moment when Python knows that there
is a block to end, or in the middle of its end. So each open scope has an owner, and is given up when the owner dies.

The owner is the bound `__exit__` that a `with` statement holds until its block is over; a traceback does not keep it.
Where a block was entered by hand, it is the block object itself: such a scope stays open as long as a name holds it.
A dying owner runs no code of Python's; it writes itself into `Scope.lane`, and the next op, or the end of the cell,
closes what it left.
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
    """Marks the `__exit__` of a block: what a `with` statement holds can be its owner."""
    return cast("F", _Leaving(function))


class _Leaving:
    """Binds the `__exit__` of a block, and leaves what it has made on the block."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        """Takes the method."""
        self._function = function

    def __get__(self, block: Any, owner: type | None = None) -> Callable[..., Any]:
        """Binds the method; a `with` statement asks for it just before it calls `__enter__`, which finds it."""
        if block is None:
            return self._function
        bound = MethodType(self._function, block)
        if block._exit is None or getrefcount(block._exit) == NOBODY_ELSE:
            block._exit = bound
        else:  # two threads use the same block at once, and neither knows whose it is: then the block owns both scopes
            block._exit = None
        return bound


class ScopeStack:
    """A block that replaces the scope: reusable, re-entrant, and safe to share between threads.

    What it has opened stands in the scope itself. A notebook cell with `await` may therefore close the block in another
    context, where the token of a context variable would be refused.
    """

    __slots__ = ("__weakref__", "_exit")

    _exit: MethodType | None

    def __init__(self) -> None:
        """Starts outside."""
        self._exit = None

    def enter(self, inner: Scope, change: Any = None) -> None:
        """Makes `inner`, which nobody else has, the scope of this thread or task; its end takes a change back."""
        inner.outer, inner.change = SCOPE(), change
        # No local variable holds an owner anywhere in this file: a traceback would keep it alive.
        by_hand = self._exit is None or getrefcount(self._exit) == NOBODY_ELSE
        # The lane of the CPU does what it would do without a scope, but for tapes; the road looks for itself.
        if (inner.lane is None or inner.lane is HERE.device) and not inner.tapes:
            inner.owner = ref(self if by_hand else self._exit)
        else:
            inner.owner = ref(self if by_hand else self._exit, partial(setattr, inner, "lane"))
        self._exit = None
        set_scope(inner)

    def leave(self, message: str) -> None:
        """Restores what was there before; `RuntimeError(message)` if another block was left open inside."""
        self._exit = None
        scope = SCOPE()
        if not self._has_opened(scope):
            scope = close_abandoned()  # inner blocks that could not end
            if not self._has_opened(scope):
                raise RuntimeError(message)
        close(scope)

    def _has_opened(self, scope: Scope | None) -> TypeGuard[Scope]:
        """Tells whether this block has opened a scope, and not closed it."""
        if scope is None or scope.owner is None:
            return False
        return getattr(scope.owner(), "__self__", None) is self or scope.owner() is self


def close(scope: Scope) -> None:
    """Restores what was there before the innermost scope."""
    take_back(scope)
    outer = scope.outer
    set_scope(outer if outer is None else _revealed(outer))
    scope.owner = None  # last: until then an interrupt leaves the closing to others


def close_alone(scope: Scope, token: Token[Scope | None]) -> None:
    """Does the same for a scope that was opened in no other, and changed nothing else, in half the time."""
    try:
        reset_scope(token)
        scope.owner = None
    except ValueError:  # of another thread that uses the same block, or of a context that this one is a copy of
        close(scope)


def take_back(scope: Scope) -> None:
    """Undoes what the block of a scope has changed elsewhere, if it is not undone yet."""
    if scope.change is not None:
        scope.change.take_back()
        scope.change = None


class within(ScopeStack):  # noqa: N801  # as blocks are called
    """Opens a scope for a block."""

    __slots__ = ("_inner",)

    def __init__(self, inner: Callable[[Scope], Scope]) -> None:
        """Takes what makes the scope, which nobody else may have, from the outer one."""
        self._exit = None
        self._inner = inner

    def __enter__(self) -> None:
        """Opens the block."""
        self.enter(self._inner(current_scope() or EMPTY))

    @leaving
    def __exit__(self, *error: object) -> None:
        """Closes it."""
        self.leave("Exiting a scope without proper scope nesting")


_SAMPLE = within(lambda outer: outer)
_SAMPLE._exit = MethodType(print, _SAMPLE)
NOBODY_ELSE = getrefcount(_SAMPLE._exit)
"""What `getrefcount` says of what one attribute alone refers to: it is not the same in all releases of Python."""
_SAMPLE._exit = None


# What is said for as long as a function runs

_OF_CALLS: list[tuple[ContextVar[Any], Any]] = []


def call_variable(name: str, default: T) -> ContextVar[T]:
    """Returns a variable that functions of the package set while they run; when a cell is over it has its default."""
    variable = ContextVar(name, default=default)
    _OF_CALLS.append((variable, default))
    return variable


# What nobody can close any more

_NOBODY: ReferenceType[Any] = ref(set[None]())
"""The owner of a scope that is closed, but hidden by another that is not."""


def current_scope() -> Scope | None:
    """Returns the scope of this thread or task, without what dead owners left open."""
    scope = SCOPE()
    return close_abandoned() if scope is not None and scope.owner is not None and scope.owner() is None else scope


def close_abandoned(cell_ended: bool = False) -> Scope | None:
    """Closes what dead owners left open, and says so; returns the scope that is left.

    Args:
      cell_ended: whether no code of the package's runs any more: then scopes without an owner are left over, too.
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
        get_logger().warning("nbtf: closed what was left open: %s.", " and ".join(names))
    return remaining


def end_cell() -> None:
    """Restores what a cell may have left behind that was interrupted: scopes, variables of calls, locks.

    Nothing of the cell runs any more. Blocks that were entered by hand stay open as long as a name holds them.

    >>> tf.runtime.end_cell()
    """
    close_abandoned(cell_ended=True)
    for variable, default in _OF_CALLS:
        if variable.get() is not default:
            variable.set(default)
    release_abandoned()


def close_later(scope: Scope) -> None:
    """Closes a scope as soon as no other hides it."""
    scope.owner = _NOBODY


def _revealed(scope: Scope | None) -> Scope | None:
    """Returns a scope that shows again, or the next that is still open, without the tapes that are not."""
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
    """Returns what a scope adds to the outer one, as a program writes it."""
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
