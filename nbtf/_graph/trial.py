"""How a function that needs values is tried: its ops run on the host, and only its own thread notices."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from nbtf._devices.base import Buffer, nbytes_of
from nbtf._graph.operation import flat
from nbtf._ops.op import Op
from nbtf._ops.variables.resource import AssignVariableOp, VarHandleOp
from nbtf._runtime.context import CURRENT
from nbtf._runtime.events import Reason
from nbtf._runtime.execute import execute
from nbtf._runtime.scopes import EMPTY, SCOPE, Scope, requested, set_scope
from nbtf._runtime.seeds import Seeds
from nbtf._runtime.tensor import Tensor
from nbtf._types import DType, string

_MOST_BYTES = 2**24
"""Of the inputs and results of an op that is really run."""


def host_tensor(array: Any, dtype: DType, *origin: Any) -> Tensor:
    """Returns a tensor of a host array."""
    tensor = Tensor()
    tensor._array, tensor._dtype, tensor._device, tensor._watch = array, dtype, CURRENT.context.host, None
    return tensor


def uniform_array(dtype: DType, shape: Any) -> Any:
    """Returns an array of one element that stands at every place: it takes no memory."""
    element: Any = b"0" if dtype is string else int(dtype.is_floating)
    return np.broadcast_to(np.array(element, dtype.np_dtype), shape)


class _SilentScope(Scope):
    """The scope in which one op of a trial takes the road: on the host, and nobody is told."""

    __slots__ = ("placed",)
    silent = True

    def __init__(self) -> None:
        """Says where ops run."""
        super().__init__()
        self.placed = (CURRENT.context.host, Reason("explicit scope", "a trial"))


class Trial:
    """Takes the place of a graph in a scope: each op is run at once, and nobody is told of it.

    What ops do to variables, those with the state of a generator included, only later ops of the trial see.
    """

    silent = True
    """Whether observers are told of nothing that happens in the scope."""
    is_trial = True
    """Whether only the shapes and dtypes of results count: what the function adds to other objects does not."""

    def __init__(self) -> None:
        """Starts with random numbers of its own, and keeps the device that is asked for around it."""
        self.request = requested(SCOPE() or EMPTY)
        self.seeds = Seeds()
        self._values: dict[int, tuple[Any, Buffer]] = {}
        self._handles: list[Any] = []

    def add(self, op: Op, inputs: Any, attrs: dict[str, Any], name: str | None = None) -> Any:
        """Runs an op; variables keep their values outside of the trial."""
        tensors, attrs = op.convert(inputs), op.normalised(attrs)
        result = self._run(op, [self._on_host(value) for value in tensors], attrs, name)
        if op is VarHandleOp:
            self._handles.append(result._array)
        if op.updates:
            return self._updated(op, tensors[0], result)
        for tape in (SCOPE() or EMPTY).tapes:
            tape.record(op, tensors, attrs, result)
        return result

    def _run(self, op: Op, tensors: Sequence[Any], attrs: dict[str, Any], name: str | None) -> Any:
        """Sends an op down the road; one that would take much memory gives only shapes and dtypes."""
        with inside(_SilentScope()):
            specs: Any = None if op.resource else op.specs(tensors, attrs)
            if specs is None or _nbytes(tensors, specs) <= _MOST_BYTES:
                return execute(op, tensors, attrs, name)
            outputs = [host_tensor(uniform_array(dtype, shape), dtype) for shape, dtype in specs]
            return outputs if op.many else outputs[0]

    def _updated(self, op: Op, variable: Any, value: Tensor) -> Any:
        """Remembers a value; returns the variable, which so stays as it is, or the first value of a new one."""
        self._values[id(variable)] = variable, value
        is_new = op is AssignVariableOp and any(variable._array is handle for handle in self._handles)
        return value if is_new else variable

    def _on_host(self, value: Any) -> Any:
        if value.__class__ is list:
            return [self._on_host(tensor) for tensor in value]
        variable = getattr(value, "__tf_variable__", None)  # a strategy's, of which each device has a copy
        tensor = value if variable is None else variable
        if id(tensor) in self._values:
            return self._values[id(tensor)][1]
        host = CURRENT.context.host
        if tensor._device is host or tensor._host:
            return tensor
        return host_tensor(tensor._device.get(tensor), tensor._dtype)

    constant = staticmethod(host_tensor)


def _nbytes(tensors: Sequence[Any], specs: Sequence[Any]) -> int:
    return sum([x._array.nbytes for x in flat(tensors)]) + sum([nbytes_of(shape, dtype) for shape, dtype in specs])


@contextmanager
def trying(scope: Scope | None = None) -> Generator[None]:
    """Has the ops of a block run as a trial, in the scope that is open or in another one."""
    with inside((scope or SCOPE() or EMPTY).with_(graph=Trial())):
        yield


@contextmanager
def inside(scope: Scope) -> Generator[None]:
    """Has the ops of a block run in a scope."""
    outer = SCOPE()
    try:
        set_scope(scope)
        yield
    finally:
        set_scope(outer)


def outside(scope: Scope, **changes: Any) -> Scope:
    """Returns the scope around all functions that are traced: ops run at once, on the device asked for there."""
    return scope.with_(graph=None, request=requested(scope), **changes)


def init_scope() -> AbstractContextManager[None]:
    """Returns a block whose ops run at once, also where a `tf.function` is traced; tapes do not hear of them.

    >>> @tf.function
    ... def add_offset(x):
    ...     with tf.init_scope():
    ...         offset = tf.constant(2).numpy()
    ...     return x + offset
    >>> add_offset(tf.constant(1))
    <tf.Tensor: shape=(), dtype=int32, numpy=3>
    """
    scope = SCOPE()
    return nullcontext() if scope is None or scope.graph is None else inside(outside(scope, tapes=()))


def is_silent() -> bool:
    """Tells whether a function is only traced or tried here."""
    scope = SCOPE()
    return scope is not None and getattr(scope.graph, "silent", False)


def is_trial() -> bool:
    """Tells whether a function is only called to learn the shapes and dtypes of its results."""
    scope = SCOPE()
    return scope is not None and getattr(scope.graph, "is_trial", False)


@contextmanager
def in_earnest() -> Generator[None]:
    """Has the ops of a block run as they should, also inside a trial: weights are made there."""
    scope = SCOPE()
    with nullcontext() if scope is None or not is_silent() else inside(outside(scope)):
        yield
