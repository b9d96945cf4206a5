"""Traces a function: calls it once with symbolic tensors. No op runs, and other threads are not affected."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from nbtf._devices.base import Spec
from nbtf._graph.operation import PLACEHOLDER
from nbtf._graph.shapes import spec_of
from nbtf._graph.tensor import GraphTensor
from nbtf._graph.trace import Trace
from nbtf._graph.trial import inside
from nbtf._ops.op import Op
from nbtf._ops.variables.resource import VarHandleOp
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.scopes import EMPTY, SCOPE, Scope
from nbtf._runtime.seeds import Seeds
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape


class FunctionTrace(Trace):
    """A trace of a function of tensors; it leaves variables and generators unchanged."""

    silent = True
    """Whether observers receive no events from the scope."""
    is_trial = True
    """Whether only shapes and dtypes of results matter; what the function adds to other objects is discarded."""

    def __init__(self) -> None:
        """Starts with its own random numbers."""
        super().__init__()
        self.seeds = Seeds()
        self._captures: dict[int, tuple[Tensor, GraphTensor]] = {}

    def add(self, op: Op, inputs: Sequence[Any], attrs: dict[str, Any], name: str | None) -> Any:
        """Records an op; an op on a variable leaves it unchanged, and returns a tensor with the shape of its result."""
        if op is VarHandleOp:
            raise ValueError(
                "tf.function only supports singleton tf.Variables created on the first call. Make sure the tf.Variable "
                "is only created once or created outside tf.function."
            )
        if not op.resource:
            read = {key: _as_read(value) for key, value in attrs.items()}
            return super().add(op, inputs, read, name)
        variable: Any = inputs[0]
        if op.updates:
            return variable
        specs = [Spec(variable.shape._dims, variable.dtype), *[spec_of(self._own(x)) for x in op.convert(inputs)[1:]]]
        dtypes = op.output_dtypes([spec.dtype for spec in specs], attrs, 1)
        (dims,) = op.shapes(specs, op.normalised(attrs))
        return self.placeholder(dims, dtypes[0])

    def _own(self, value: Any) -> Any:
        """Returns an input as a tensor of this graph; a tensor with a value stays where it is."""
        if value.__class__ is not Tensor:
            return super()._own(value)
        if id(value) not in self._captures:
            node = self.add_source(PLACEHOLDER, "captured", {}, [(value.shape, value.dtype)])
            self._captures[id(value)] = value, node.outputs[0]
        return self._captures[id(value)][1]

    def shown_shape(self, shape: TensorShape) -> TensorShape:
        """Returns a shape as programs see it, with None for unknown lengths."""
        return TensorShape(shape._dims)


def _as_read(value: Any) -> Any:
    """Returns an attribute; for a variable, its value, which is unknown."""
    return as_tensor(value) if hasattr(value, "assign_add") else value


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
