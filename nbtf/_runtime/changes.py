"""How a block changes something besides the scope, such as a graph's open name scope, and who takes the change back.

The change hangs on a scope that the block opens, which has an owner as every scope has: see `nbtf/_runtime/blocks.py`.
Whoever closes the scope takes the change back, be it the block, the next op, or the end of the cell.
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
    """What a block changes: `write` sets what is changed, to the same as often as it is called with the same."""

    title: str
    """How a program writes the block."""
    write: Callable[[Any], object]
    outer: Any
    inner: Any
    result: V
    """What the block gives its program."""

    def take_back(self) -> None:
        """Restores what was there before."""
        self.write(self.outer)


class ChangingBlock(ScopeStack):
    """A block that changes something besides the scope."""

    __slots__ = ()

    def begin(self, change: Change[V], inner: Scope | None = None) -> V:
        """Opens a scope, then changes what is to be changed; the scope comes first, so that nothing is ever forgotten.

        Args:
          change: what is changed.
          inner: the scope, which nobody else has; None to leave the scope as it is.
        """
        if inner is None:
            outer = SCOPE() and current_scope()
            inner = EMPTY.with_tapes((), HERE.first) if outer is None else outer.with_tapes(outer.tapes, outer.lane)
        self.enter(inner, change)
        try:
            change.write(change.inner)
        except BaseException:
            self.end()
            raise
        return change.result

    @property
    def is_open(self) -> bool:
        """Whether it is open in this thread or task."""
        return any(map(self._has_opened, open_scopes()))

    def end(self) -> None:
        """Takes the change back, also where other blocks were left open inside."""
        scope = next(filter(self._has_opened, open_scopes()), None)
        if scope is None or scope is current_scope():
            self.leave("Exiting a block that is not open")
            return
        take_back(scope)
        close_later(scope)


class changing(ChangingBlock, ContextDecorator, Generic[V]):  # noqa: N801  # as blocks are called
    """A block of a function that says what is changed, asked anew each time when the block is opened."""

    def __init__(self, plan: Callable[[], Change[V]]) -> None:
        """Takes the function."""
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
        """Closes it, also from another task: the end of a notebook cell with `await` may be told in one."""
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
    """Makes a function that returns a change return a block with this change instead."""

    @wraps(function)
    def opening(*args: P.args, **kwargs: P.kwargs) -> changing[V]:
        return changing(partial(function, *args, **kwargs))

    return cast("Any", opening)


def both(outer: Change[Any], inner: Change[V]) -> Change[V]:
    """Returns one change of two, called as the inner one is."""

    def write(values: tuple[Any, Any]) -> None:
        try:
            inner.write(values[1])
        finally:
            outer.write(values[0])

    return Change(inner.title, write, (outer.outer, inner.outer), (outer.inner, inner.inner), inner.result)
