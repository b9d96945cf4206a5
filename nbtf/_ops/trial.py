"""How a function is tried: its ops run on the host, only their results come of it, and only its own thread notices."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from nbtf._devices.base import Buffer
from nbtf._ops.op import Op
from nbtf._ops.resource import AssignVariableOp, VarHandleOp
from nbtf._runtime.context import CURRENT
from nbtf._runtime.execute import FAILURES, _explained, called
from nbtf._runtime.scopes import EMPTY, SCOPE, Scope, set_scope
from nbtf._runtime.seeds import Seeds
from nbtf._runtime.tensor import Tensor, tensor_of
from nbtf._types import DType


def host_tensor(array: Any, dtype: DType) -> Tensor:
    """Returns a tensor of a host array."""
    tensor = Tensor()
    tensor._array, tensor._dtype, tensor._device, tensor._watch = array, dtype, CURRENT.context.host, None
    return tensor


class Trial:
    """Takes the place of a graph in a scope: each op is run at once, and nobody is told of it.

    What ops do to variables, those with the state of a generator included, only later ops of the trial see.
    """

    silent = True
    """Whether observers are told of nothing that happens in the scope."""

    def __init__(self) -> None:
        """Starts with random numbers of its own."""
        self.seeds = Seeds()
        self._values: dict[int, tuple[Any, Buffer]] = {}
        self._handles: list[Any] = []

    def add(self, op: Op, inputs: Any, attrs: dict[str, Any], name: str | None = None) -> Any:
        """Runs an op; variables keep their values outside of the trial."""
        tensors = op.convert(inputs)
        attrs = op.normalised(attrs)
        dtypes = op.check(tensors, attrs)
        host = CURRENT.context.host
        buffers = [
            [self._on_host(item) for item in value] if value.__class__ is list else self._on_host(value)
            for value in tensors
        ]
        try:
            with host.xp.errstate(all="ignore"):
                outputs = self.run(op, buffers, attrs, dtypes)
        except FAILURES as error:
            raise _explained(error, op, tensors, attrs, host, called(op, inputs, attrs, name)) from error
        if op is VarHandleOp:
            self._handles.append(outputs[0]._array)
        if op.updates:
            return self._updated(op, tensors[0], outputs[0])
        result = outputs if op.many else outputs[0]
        scope = SCOPE()
        for tape in () if scope is None else scope.tapes:
            tape.hear(op, tensors, attrs, result)
        return result

    def run(self, op: Op, buffers: Any, attrs: Mapping[str, Any], dtypes: Sequence[DType]) -> list[Tensor]:
        """Returns the results of an op."""
        host = CURRENT.context.host
        computed = host.run(op, buffers, attrs, None, None)
        results = op.output_dtypes(dtypes, attrs, len(computed))
        return [tensor_of(buffer, dtype, host) for buffer, dtype in zip(computed, results, strict=True)]

    def _updated(self, op: Op, variable: Any, value: Tensor) -> Any:
        """Remembers a value; returns the variable, which so stays as it is, or the first value of a new one."""
        self._values[id(variable)] = variable, value
        is_new = op is AssignVariableOp and any(variable._array is handle for handle in self._handles)
        return value if is_new else variable

    def _on_host(self, tensor: Any) -> Any:
        variable = getattr(tensor, "__tf_variable__", None)  # a strategy's, of which each device has a copy
        tensor = tensor if variable is None else variable
        if id(tensor) in self._values:
            return self._values[id(tensor)][1]
        host = CURRENT.context.host
        if tensor._device is host or tensor._host:
            return tensor
        return host_tensor(tensor._device.get(tensor), tensor._dtype)

    constant = staticmethod(host_tensor)


def current_trial() -> Trial | None:
    """Returns the trial that runs here, if any."""
    scope = SCOPE()
    return scope.graph if scope is not None and isinstance(scope.graph, Trial) else None


@contextmanager
def trying(trial: Trial, scope: Scope | None = None) -> Generator[None]:
    """Has the ops of a block run as a trial, in the scope that is open or in another one."""
    outer = SCOPE()
    try:
        set_scope((scope or outer or EMPTY).with_(graph=trial))
        yield
    finally:
        set_scope(outer)


@contextmanager
def in_earnest() -> Generator[None]:
    """Has the ops of a block run as they should, also inside a trial: weights are made there."""
    outer = SCOPE()
    if outer is None or current_trial() is None:
        yield
        return
    try:
        set_scope(outer.with_(graph=None))
        yield
    finally:
        set_scope(outer)
