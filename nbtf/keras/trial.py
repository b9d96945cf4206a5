"""Which shapes a function gives: found out with small stand-ins that no device, log or view hears of."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from nbtf import nest
from nbtf._devices.base import nbytes_of
from nbtf._ops.op import Op
from nbtf._runtime.context import CURRENT
from nbtf._runtime.execute import FAILURES, _explained
from nbtf._runtime.scopes import EMPTY, SCOPE, set_scope
from nbtf._runtime.tensor import Tensor, tensor_of
from nbtf._types import DType, as_dtype, string
from nbtf.keras.kinds import is_list
from nbtf.keras.operation import replaced, symbolic_in

_BATCHES = (2, 3)
_LENGTHS = (16, 32)
"""What stands for lengths that are not known, once and once more: a length that differs then is not known either."""

_MOST_BYTES = 2**24
"""Of the inputs and results of an op that is really run."""


class Trial:
    """Takes the place of a graph: each op is run on the host at once, and nothing but its result comes of it."""

    def add(self, op: Op, inputs: Any, attrs: dict[str, Any], name: str | None = None) -> Any:
        """Runs an op; variables are read, but not changed."""
        tensors = op.convert(inputs)
        attrs = op.normalised(attrs)
        dtypes = op.check(tensors, attrs)
        if op.resource and op.type.startswith("Assign"):
            return tensors[0]
        host = CURRENT.context.host
        buffers = [[_on_host(one) for one in value] if is_list(value) else _on_host(value) for value in tensors]
        try:
            with np.errstate(all="ignore"):
                sketch = None if op.data_dependent or op.resource else _sketched(op.specs(buffers, attrs), buffers)
                if sketch is not None:
                    return sketch if op.many else sketch[0]
                made = host.run(op, buffers, attrs, None, None)
        except FAILURES as error:
            raise _explained(error, op, tensors, attrs, host, name) from error
        results = op.output_dtypes(dtypes, attrs, len(made))
        outputs = [tensor_of(buffer, dtype, host) for buffer, dtype in zip(made, results, strict=True)]
        return outputs if op.many else outputs[0]

    def constant(self, array: Any, dtype: DType) -> Tensor:
        """Returns a tensor of a host array."""
        tensor = Tensor()
        tensor._array, tensor._dtype, tensor._device, tensor._watch = array, dtype, CURRENT.context.host, None
        return tensor


_TRIAL = Trial()


def _sketched(specs: Sequence[Any] | None, inputs: Any) -> list[Tensor] | None:
    """Returns results of which only shape and dtype are right, where an op would take much memory or makes text."""
    nbytes = sum(tensor._array.nbytes for tensor in nest.flatten(inputs))
    nbytes += sum(nbytes_of(shape, dtype) for shape, dtype in specs or ())
    if not specs or (nbytes <= _MOST_BYTES and specs[0].dtype is not string):
        return None
    return [_TRIAL.constant(_repeated(dtype, shape), dtype) for shape, dtype in specs]


def _repeated(dtype: DType, shape: Any) -> Any:
    """Returns an array of one element that stands at every place: it takes no memory."""
    element: Any = b"" if dtype is string else int(dtype.is_floating)
    return np.broadcast_to(np.array(element, dtype.np_dtype), shape)


def _on_host(tensor: Any) -> Any:
    variable = getattr(tensor, "__tf_variable__", None)  # a strategy's, of which each device has a copy
    tensor = tensor if variable is None else variable
    host = CURRENT.context.host
    if tensor._device is host or tensor._host:
        return tensor
    return _TRIAL.constant(tensor._device.get(tensor), tensor._dtype)


@contextmanager
def trying() -> Generator[None]:
    """Has the ops of a block run as trials."""
    outer = SCOPE()
    set_scope((EMPTY if outer is None else outer).with_(graph=_TRIAL))
    try:
        yield
    finally:
        set_scope(outer)


def is_on() -> bool:
    """Tells whether ops are run as trials here."""
    scope = SCOPE()
    return scope is not None and scope.graph is _TRIAL


@contextmanager
def in_earnest() -> Generator[None]:
    """Has the ops of a block run as they should, also inside a trial: weights are made there."""
    outer = SCOPE()
    if outer is None or outer.graph is not _TRIAL:
        yield
        return
    inner = outer.with_(graph=None)
    set_scope(inner)
    try:
        yield
    finally:
        set_scope(outer)


def outputs_of(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], kind: Callable[..., Any]
) -> Any:
    """Returns what a function gives for symbolic arguments, as symbolic tensors.

    Args:
      function: takes tensors.
      args: arguments, with symbolic tensors in them.
      kwargs: arguments by name.
      kind: makes a symbolic tensor of a shape and a dtype.
    """
    first, structure = _shapes(function, args, kwargs, 0)
    if any(None in tensor.shape for tensor in symbolic_in((args, kwargs))):
        second, _ = _shapes(function, args, kwargs, 1)
        first = [
            (tuple(one if one == other else None for one, other in zip(shape, again, strict=True)), dtype)
            for (shape, dtype), (again, _) in zip(first, second, strict=True)
        ]
    return nest.pack_sequence_as(structure, [kind(shape, dtype) for shape, dtype in first])


def _shapes(function: Callable[..., Any], args: Any, kwargs: Any, which: int) -> tuple[list[Any], Any]:
    with trying():
        outputs = function(*replaced(args, _stand_in(which)), **replaced(kwargs, _stand_in(which)))
        flat: list[Any] = nest.flatten(outputs)
        return [(tuple(one.shape), as_dtype(one.dtype).name) for one in flat], outputs


def _stand_in(which: int) -> Callable[[Any], Tensor]:
    def make(tensor: Any) -> Tensor:
        shape = [
            (_LENGTHS if axis else _BATCHES)[which] if length is None else length
            for axis, length in enumerate(tensor.shape)
        ]
        dtype = as_dtype(str(tensor.dtype))
        return _TRIAL.constant(_repeated(dtype, shape), dtype)

    return make
