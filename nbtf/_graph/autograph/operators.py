"""The branches, loops and calls of converted functions: Python semantics for values, graph ops for tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbtf._graph.autograph.symbolic import (
    UNBOUND,
    State,
    as_condition,
    branch,
    is_symbolic,
    loop_over,
    loop_over_elements,
    loop_while,
)
from nbtf._graph.control_flow import cond
from nbtf._ops.math.logic import logical_not
from nbtf._runtime.context import open_graph

Action = Callable[..., Any]

_CHANGED = (
    "The condition of while loop started as non-Tensor, then changed to Tensor. This may happen either because "
    "variables changed type, or when a break or return statement inside the loop depends on a Tensor condition. In "
    "both cases, changing to a TF loop should remove the error."
)
_IN_PYTHON_LOOP = (
    "break and return statements which depend on a TF condition are not supported in Python for loops. Did you intend "
    "to make it a TF loop?"
)


class Attribute:
    """An attribute that a branch or loop sets."""

    def __init__(self, title: str, owner: Action, key: Any) -> None:
        """Stores its source text, a function that returns the object, and the attribute's name."""
        self.title, self._owner, self._key = title, owner, key

    def read(self) -> Any:
        """Returns the value, or `UNBOUND`."""
        return getattr(self._owner(), self._key, UNBOUND)

    def write(self, value: Any) -> None:
        """Sets the value; `UNBOUND` deletes it."""
        if value is not UNBOUND:
            self._set(value)
        elif self.read() is not UNBOUND:
            self._delete()

    def _set(self, value: Any) -> None:
        setattr(self._owner(), self._key, value)

    def _delete(self) -> None:
        delattr(self._owner(), self._key)


class Item(Attribute):
    """An item that a branch or loop sets; its key takes the place of the attribute's name."""

    def read(self) -> Any:
        """Returns the value, or `UNBOUND`."""
        try:
            return self._owner()[self._key]
        except (KeyError, IndexError):
            return UNBOUND

    def _set(self, value: Any) -> None:
        self._owner()[self._key] = value

    def _delete(self) -> None:
        del self._owner()[self._key]


# Statements


def if_stmt(test: Any, then: Action, otherwise: Action, readers: Sequence[Any], live: Sequence[str]) -> None:
    """Runs one of two branches; traces both if the condition is a symbolic tensor."""
    if is_symbolic(test):
        branch(test, then, otherwise, State(readers), live)
    elif test:
        then()
    else:
        otherwise()


def while_stmt(test: Action, body: Action, readers: Sequence[Any], options: Any) -> None:
    """Repeats a body while a condition holds.

    Raises:
      NotImplementedError: if the condition becomes a tensor after some iterations.
    """
    graph = open_graph()
    steps: list[Any] = getattr(graph, "steps", [])
    count = len(steps)
    holds = test()
    if is_symbolic(holds):
        del steps[count:]  # the condition ran only to see what it returns
        loop_while(test, body, State(readers), options)
        return
    while holds:
        body()
        holds = test()
        if is_symbolic(holds):
            raise NotImplementedError(_CHANGED)


def for_stmt(values: Any, body: Action, goes_on: Action | None, readers: Sequence[Any], options: Any) -> None:
    """Calls a body with each of the given values.

    Raises:
      NotImplementedError: if the values are Python's but a tensor decides whether to continue.
    """
    if is_symbolic(values):
        loop_over(values, body, goes_on, State(readers), options)
        return
    if hasattr(values, "element_spec") and hasattr(open_graph(), "add_composite"):
        loop_over_elements(values, body, goes_on, State(readers), options)
        return
    for value in values:
        body(value)
        holds = True if goes_on is None else goes_on()
        if is_symbolic(holds):
            raise NotImplementedError(_IN_PYTHON_LOOP)
        if not holds:
            break


def returned(result: Action) -> Any:
    """Returns the value that a function set as its result; None if it set none."""
    try:
        return result()
    except NameError:
        return None


# Expressions


def if_exp(test: Any, then: Action, otherwise: Action) -> Any:
    """Returns one of two values, depending on a condition."""
    if is_symbolic(test):
        return cond(as_condition(test, "if expression"), then, otherwise)
    return then() if test else otherwise()


def and_(*values: Action) -> Any:
    """Returns the first false value, or the last value."""
    return _combined(values, lambda value, join_others: cond(value, join_others, lambda: value), stops_at=False)


def or_(*values: Action) -> Any:
    """Returns the first true value, or the last value."""
    return _combined(values, lambda value, join_others: cond(value, lambda: value, join_others), stops_at=True)


def _combined(values: Sequence[Action], join: Callable[[Any, Action], Any], stops_at: bool) -> Any:
    value = values[0]()
    if len(values) == 1:
        return value
    if is_symbolic(value):
        return join(value, lambda: _combined(values[1:], join, stops_at))
    return value if bool(value) is stops_at else _combined(values[1:], join, stops_at)


def not_(value: Any) -> Any:
    """Returns the negation of a truth value."""
    return logical_not(value) if is_symbolic(value) else not value
