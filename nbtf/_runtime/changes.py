"""Blocks that change something besides the scope, such as a graph's name scope, and what undoes the change.

The change is attached to a scope that the block opens; like every scope, it has an owner (see
`nbtf/_runtime/blocks.py`). Whatever closes the scope undoes the change: the block, the next op, or the end of the cell.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ContextDecorator
from functools import partial, wraps
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar, cast

from nbtf._runtime.blocks import ScopeStack, close_later, current_scope, leaving, open_scopes, take_back
from nbtf._runtime.scopes import EMPTY, HERE, SCOPE, Scope

P = ParamSpec("P")
V = TypeVar("V")


class Change(NamedTuple, Generic[V]):
    """A change made by a block. Calling `write` again with the same value has no further effect."""

    title: str
    """How a program writes the block."""
    write: Callable[[Any], object]
    outer: Any
    inner: Any
    result: V
    """The value that the `with` statement binds."""

    def take_back(self) -> None:
        """Restores the earlier value."""
        self.write(self.outer)


class ChangingBlock(ScopeStack):
    """A block that changes something besides the scope."""

    __slots__ = ()

    def begin(self, change: Change[V], inner: Scope | None = None) -> V:
        """Opens a scope, then makes the change; in this order an interrupt cannot lose the undo.

        Args:
          change: the change to make.
          inner: the new, unshared scope; None keeps the current one.
        """
        if inner is None:
            outer = SCOPE() and current_scope()
            inner = EMPTY.with_tapes((), HERE.device) if outer is None else outer.with_tapes(outer.tapes, outer.lane)
        self.enter(inner, change)
        try:
            change.write(change.inner)
        except BaseException:
            self.end()
            raise
        return change.result

    @property
    def is_open(self) -> bool:
        """Whether the block is open in this thread or task."""
        return any(map(self._has_opened, open_scopes()))

    def end(self) -> None:
        """Undoes the change, even if other blocks were left open inside."""
        scope = next(filter(self._has_opened, open_scopes()), None)
        if scope is None or scope is current_scope():
            self.leave("Exiting a block that is not open")
            return
        take_back(scope)
        close_later(scope)


class changing(ChangingBlock, ContextDecorator, Generic[V]):  # noqa: N801  # named like a block
    """A block whose change is computed by a function each time the block is opened."""

    def __init__(self, plan: Callable[[], Change[V]]) -> None:
        """Stores the function."""
        super().__init__()
        self.plan = plan
        self._scopes: list[Scope] = []

    def __enter__(self) -> V:
        """Opens the block."""
        result = self.begin(self.plan())
        self._scopes += filter(self._has_opened, (SCOPE(),))
        return result

    @leaving
    def __exit__(self, *error: object) -> None:
        """Closes the block, even from another task: a notebook cell with `await` may end in a different one."""
        scope = (
            None
            if self.is_open
            else next((opened_scope for opened_scope in self._scopes if opened_scope.change is not None), None)
        )
        if scope is None:
            self.end()
        else:
            take_back(scope)
            close_later(scope)
        self._scopes = [opened_scope for opened_scope in self._scopes if opened_scope.change is not None]


def block(function: Callable[P, Change[V]]) -> Callable[P, changing[V]]:
    """Turns a function that returns a change into one that returns a block with this change."""

    @wraps(function)
    def opening(*args: P.args, **kwargs: P.kwargs) -> changing[V]:
        return changing(partial(function, *args, **kwargs))

    return cast("Any", opening)


def both(outer: Change[Any], inner: Change[V]) -> Change[V]:
    """Returns one change that combines two; it is named after the inner one."""

    def write(values: tuple[Any, Any]) -> None:
        try:
            inner.write(values[1])
        finally:
            outer.write(values[0])

    return Change(inner.title, write, (outer.outer, inner.outer), (outer.inner, inner.inner), inner.result)
