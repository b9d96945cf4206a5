"""The calls of ops that a function of tensors makes, and what is in its results."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from nbtf._ops.ragged_and_sparse.sparse import SparseTensor
from nbtf._runtime.blocks import ScopeStack
from nbtf._runtime.scopes import Scope
from nbtf._runtime.tape import Call


class Listener:
    """Stands in a scope like a tape, and keeps all calls."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.closed = False

    def record(self, op: Any, inputs: Sequence[Any], attrs: Any, result: Any) -> None:
        kept = tuple(tuple(one) if isinstance(one, list) else one for one in inputs)
        self.calls.append(Call(op, kept, attrs, result if isinstance(result, list) else [result]))


@contextmanager
def listening() -> Generator[list[Call]]:
    """Collects the calls of a block, all of which take the road."""
    tape, blocks = Listener(), ScopeStack()
    blocks.enter(Scope(tapes=(tape,)))
    try:
        yield tape.calls
    finally:
        blocks.leave("a block inside was left open")


def flat(value: Any) -> list[Any]:
    """Returns the tensors and variables in a result; for variables, what they hold."""
    if isinstance(value, SparseTensor):
        return [value.indices, value.values, value.dense_shape]
    if isinstance(value, list | tuple):
        return [one for item in value for one in flat(item)]
    if isinstance(value, dict):
        return flat(list(value.values()))
    return [] if value is None else [value]
