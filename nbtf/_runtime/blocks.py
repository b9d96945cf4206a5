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
from contextvars import ContextVar
from functools import partial
from types import MethodType
from typing import Any, TypeGuard
from weakref import ReferenceType, ref

from nbtf._runtime.logger import get_logger
from nbtf._runtime.scopes import EMPTY, SCOPE, Scope, set_scope

_LOOKED_UP: ContextVar[ReferenceType[MethodType] | None] = ContextVar("nbtf exit", default=None)
"""The `__exit__` that was asked for last: a `with` statement does so just before it calls `__enter__`."""
_last_exit, _set_last_exit = _LOOKED_UP.get, _LOOKED_UP.set


class leaving:  # noqa: N801  # a decorator
    """Marks the `__exit__` of a block: what a `with` statement holds can be its owner."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        """Takes the method."""
        self._function = function

    def __get__(self, block: Any, owner: type | None = None) -> Callable[..., Any]:
        """Binds the method, and remembers for `ScopeStack.enter` that it was asked for."""
        if block is None:
            return self._function
        bound = MethodType(self._function, block)
        _set_last_exit(ref(bound))
        return bound


class ScopeStack:
    """A block that replaces the scope: reusable, re-entrant, and safe to share between threads.

    What it has opened stands in the scope itself. A notebook cell with `await` may therefore close the block in another
    context, where the token of a context variable would be refused.
    """

    __slots__ = ("__weakref__",)

    def enter(self, inner: Scope) -> None:
        """Makes `inner`, which nobody else has, the scope of this thread or task."""
        inner.outer = SCOPE()
        looked_up = _last_exit()
        owner: Any = None if looked_up is None else looked_up()
        _own(inner, owner if owner is not None and owner.__self__ is self else self)
        set_scope(inner)

    def leave(self, message: str) -> None:
        """Restores what was there before; `RuntimeError(message)` if another block was left open inside."""
        scope = SCOPE()
        if not self._owns(scope):
            scope = close_abandoned()  # an inner block that could not end
            if not self._owns(scope):
                raise RuntimeError(message)
        scope.owner = None
        outer = scope.outer
        if outer is not None and (outer.tapes or outer.lane.__class__ is ReferenceType):
            outer = _revealed(outer)
        set_scope(outer)

    def _owns(self, scope: Scope | None) -> TypeGuard[Scope]:
        """Tells whether a scope is one that this block has opened, and not closed."""
        owner = None if scope is None or scope.owner is None else scope.owner()
        return owner is self or (owner.__class__ is MethodType and owner.__self__ is self)


class within(ScopeStack):  # noqa: N801  # as blocks are called
    """Opens a scope for a block."""

    __slots__ = ("_inner",)

    def __init__(self, inner: Callable[[Scope], Scope]) -> None:
        """Takes what makes the scope, which nobody else may have, from the outer one."""
        self._inner = inner

    def __enter__(self) -> None:
        """Opens the block."""
        self.enter(self._inner(current_scope() or EMPTY))

    @leaving
    def __exit__(self, *error: object) -> None:
        """Closes it."""
        self.leave("Exiting a scope without proper scope nesting")


def _own(scope: Scope, owner: object) -> None:
    scope.owner = ref(owner, partial(setattr, scope, "lane"))


# What nobody can close any more

_NOBODY: ReferenceType[Any] = ref(set[None]())
"""The owner of a scope that is closed, but hidden by another that is not."""


def current_scope() -> Scope | None:
    """Returns the scope of this thread or task, without what dead owners left open."""
    scope = SCOPE()
    return close_abandoned() if scope is not None and scope.lane.__class__ is ReferenceType else scope


def close_abandoned(ended: bool = False) -> Scope | None:
    """Closes what dead owners left open, and says so; returns the scope that is left.

    Args:
      ended: whether no code of the package's runs any more: then scopes without an owner are left over, too.
    """
    scope = SCOPE()
    if scope is None:
        return None
    left = _revealed(scope, ended)
    if left is scope:
        if scope.lane.__class__ is ReferenceType:
            scope.lane = None  # inherited
        return scope
    set_scope(left)
    names = [name for one in _chain(scope) if one.owner is not None and _is_over(one, ended) for name in _opened(one)]
    if names:
        get_logger().warning("nbtf: an interrupt left %s open; closed now.", ", ".join(names))
    return left


def hide(scope: Scope) -> bool:
    """Closes a scope that others still hide, when they end; tells whether it is one of those that are open."""
    hidden = any(one is scope for one in _chain(SCOPE()))
    if hidden:
        scope.lane, scope.owner = _NOBODY, _NOBODY  # pyright: ignore[reportAttributeAccessIssue]  # no lane's device
    return hidden


def _revealed(scope: Scope | None, ended: bool = False) -> Scope | None:
    """Returns the innermost scope that is still open, without the tapes that are not."""
    while scope is not None and _is_over(scope, ended):
        for tape in scope.tapes[0 if scope.outer is None else len(scope.outer.tapes) :]:
            tape.hearing, tape.closed = None, True
        scope = scope.outer
    if scope is None or not any([tape.closed for tape in scope.tapes]):
        return scope
    owner = None if scope.owner is None else scope.owner()
    left = scope.with_tapes(tuple([tape for tape in scope.tapes if not tape.closed]), None)
    left.outer = scope.outer
    if owner is not None:
        _own(left, owner)
    return left


def _is_over(scope: Scope, ended: bool) -> bool:
    return ended if scope.owner is None else scope.owner() is None


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
    return [name for name, is_added in added.items() if is_added] or ["a block"]
