"""Tries a function that needs values: its ops run on the host, and other threads are not affected."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from nbtf._devices.base import Buffer, nbytes_of
from nbtf._graph.operation import flat
from nbtf._ops.op import Op
from nbtf._ops.variables.resource import AssignVariableOp, VarHandleOp
from nbtf._record.events import Reason
from nbtf._runtime.context import CURRENT
from nbtf._runtime.execute import execute
from nbtf._runtime.scopes import EMPTY, SCOPE, Scope, requested, set_scope
from nbtf._runtime.seeds import Seeds
from nbtf._runtime.tensor import Tensor
from nbtf._types import DType, string

_MOST_BYTES = 2**24
"""Most bytes of the inputs and results of an op that is really run."""


def host_tensor(array: Any, dtype: DType, *origin: Any) -> Tensor:
    """Returns a tensor of a host array."""
    tensor = Tensor()
    tensor._array, tensor._dtype, tensor._device, tensor._watch = array, dtype, CURRENT.context.host, None
    return tensor


def uniform_array(dtype: DType, shape: Any) -> Any:
    """Returns an array that repeats one element at every position, without using memory for the others."""
    element: Any = b"0" if dtype is string else int(dtype.is_floating)
    return np.broadcast_to(np.array(element, dtype.np_dtype), shape)


class _SilentScope(Scope):
    """The scope in which one op of a trial takes the road: on the host, without notifying observers."""

    __slots__ = ("placed",)
    silent = True

    def __init__(self) -> None:
        """Sets the host as the device of ops."""
        super().__init__()
        self.placed = (CURRENT.context.host, Reason("explicit scope", "a trial"))


class Trial:
    """Takes the place of a graph in a scope: each op runs at once, without notifying observers.

    Changes to variables, including those with the state of a generator, are visible only to later ops of the trial.
    """

    silent = True
    """Whether observers receive no events from the scope."""
    is_trial = True
    """Whether only shapes and dtypes of results matter; what the function adds to other objects is discarded."""
    building_function = False
    """Whether ops become nodes of a function."""

    def __init__(self) -> None:
        """Starts with its own random numbers, and keeps the device requested outside."""
        self.request = requested(SCOPE() or EMPTY)
        self.seeds = Seeds()
        self._values: dict[int, tuple[Any, Buffer]] = {}
        self._handles: list[Any] = []

    def control_dependencies(self, control_inputs: Any) -> AbstractContextManager[None]:
        """Returns a block without effect: ops run in order, so all that an op could wait for has run."""
        return nullcontext()

    def add(self, op: Op, inputs: Any, attrs: dict[str, Any], name: str | None = None) -> Any:
        """Runs an op; variables keep their values outside the trial."""
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
        """Runs an op on the road; one that would need much memory returns only shapes and dtypes."""
        with inside(_SilentScope()):
            specs: Any = None if op.resource else op.specs(tensors, attrs)
            if specs is None or _nbytes(tensors, specs) <= _MOST_BYTES:
                return execute(op, tensors, attrs, name)
            outputs = [host_tensor(uniform_array(dtype, shape), dtype) for shape, dtype in specs]
            return outputs if op.many else outputs[0]

    def _updated(self, op: Op, variable: Any, value: Tensor) -> Any:
        """Stores a value for later ops; returns the unchanged variable, or a new variable's initial value."""
        self._values[id(variable)] = variable, value
        is_new = op is AssignVariableOp and any(variable._array is handle for handle in self._handles)
        return value if is_new else variable

    def _on_host(self, value: Any) -> Any:
        if value.__class__ is list:
            return [self._on_host(tensor) for tensor in value]
        variable = getattr(value, "__tf_variable__", None)  # a strategy's variable, with a copy on each device
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
    """Runs the ops of a block as a trial, in the open scope or in another one."""
    with inside((scope or SCOPE() or EMPTY).with_(graph=Trial())):
        yield


@contextmanager
def inside(scope: Scope) -> Generator[None]:
    """Runs the ops of a block in a scope."""
    outer = SCOPE()
    try:
        set_scope(scope)
        yield
    finally:
        set_scope(outer)


def outside(scope: Scope, **changes: Any) -> Scope:
    """Returns the scope outside all traced functions, where ops run at once on the device requested there."""
    return scope.with_(graph=None, request=requested(scope), **changes)


def init_scope() -> AbstractContextManager[None]:
    """Returns a block whose ops run at once, even while a `tf.function` is traced; tapes do not record them.

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
    """Returns whether a function is only being traced or tried."""
    scope = SCOPE()
    return scope is not None and getattr(scope.graph, "silent", False)


def is_trial() -> bool:
    """Returns whether a function is called only to learn the shapes and dtypes of its results."""
    scope = SCOPE()
    return scope is not None and getattr(scope.graph, "is_trial", False)


@contextmanager
def in_earnest() -> Generator[None]:
    """Really runs the ops of a block, even inside a trial; used for creating weights."""
    scope = SCOPE()
    with nullcontext() if scope is None or not is_silent() else inside(outside(scope)):
        yield
