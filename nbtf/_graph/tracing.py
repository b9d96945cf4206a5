"""Traces a function: calls it once with symbolic tensors. No op runs, and other threads are not affected."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from nbtf._graph.tensor import GraphTensor
from nbtf._graph.trace import SINGLETON, CapturingTrace, value_read
from nbtf._graph.trial import inside
from nbtf._ops.op import Op
from nbtf._ops.variables.resource import VarHandleOp
from nbtf._runtime.scopes import EMPTY, SCOPE, Scope
from nbtf._runtime.seeds import Seeds


class FunctionTrace(CapturingTrace):
    """A trace of a function of tensors; it leaves variables and generators unchanged."""

    is_trial = True
    """Whether only shapes and dtypes of results matter; what the function adds to other objects is discarded."""

    def __init__(self) -> None:
        """Starts with its own random numbers."""
        super().__init__()
        self.seeds = Seeds()

    def add(self, op: Op, inputs: Sequence[Any], attrs: dict[str, Any], name: str | None) -> Any:
        """Records an op; an op on a variable leaves it unchanged, and returns a tensor with the shape of its result."""
        if op is VarHandleOp:
            raise ValueError(SINGLETON)
        if not op.resource:
            return super().add(op, inputs, {key: value_read(value) for key, value in attrs.items()}, name)
        return inputs[0] if op.updates else self.placeholder(*self.output_on_variable(op, op.convert(inputs), attrs))


def traced(call: Callable[[Callable[..., GraphTensor]], Any], scope: Scope | None = None) -> Any:
    """Returns a description of a function's results, found without values; None if the function needs values.

    Args:
      call: calls the function and describes its results; takes a function that makes an argument from shape and dtype.
      scope: the open scope during the trace.
    """
    try:
        with tracing(scope) as trace:
            return call(trace.placeholder)
    except Exception:  # the function may do anything with the missing values
        return None


@contextmanager
def tracing(scope: Scope | None = None) -> Generator[FunctionTrace]:
    """Records the ops of a block instead of running them, in the open scope or in another one."""
    trace = FunctionTrace()
    with inside((scope or SCOPE() or EMPTY).with_(graph=trace, tapes=())):
        yield trace
