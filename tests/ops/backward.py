"""Gradients of a function of tensors: by the rules of the ops it runs, and by central differences."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from nbtf._ops.elementwise import add
from nbtf._ops.sparse import SparseTensor
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.scopes import HERE, Scope, ScopeStack
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor

# Where the errors of rounding and of the neglected third derivative are alike: the cube root of float64's precision.
STEP = float(np.finfo(np.float64).eps) ** (1 / 3)


class Listener:
    """A tape that keeps all calls, and watches what comes of them."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def hear(self, op: Any, inputs: Sequence[Any], attrs: Any, result: Any) -> None:
        kept = tuple(tuple(one) if isinstance(one, list) else one for one in inputs)
        results = result if isinstance(result, list) else [result]
        self.calls.append(Call(op, kept, attrs, [watched(one) for one in results]))


@contextmanager
def listening(lane: bool = False) -> Generator[list[Call]]:
    """Collects the calls of a block; on the express lane those with an input that `watched` has marked."""
    tape, blocks = Listener(), ScopeStack()
    as_tensor(0.0)  # opens the lane
    blocks.enter(Scope(tapes=(tape,), lane=HERE.device if lane else None))
    try:
        yield tape.calls
    finally:
        blocks.leave("a block inside was left open")


def watched(tensor: Tensor) -> Tensor:
    """Marks a tensor as one that a tape watches."""
    tensor._watch = object()
    return tensor


def flat(value: Any) -> list[Any]:
    """Returns the tensors and variables in a result; for variables, what they hold."""
    if isinstance(value, SparseTensor):
        return [value.indices, value.values, value.dense_shape]
    if isinstance(value, list | tuple):
        return [one for item in value for one in flat(item)]
    if isinstance(value, dict):
        return flat(list(value.values()))
    return [] if value is None else [value]


def gradients(
    calls: Sequence[Call], outputs: Sequence[Any], upstream: Sequence[Any], inputs: Sequence[Any]
) -> list[Any]:
    """Walks calls backwards; returns one gradient for each input, None where nothing arrives."""
    arrived: dict[int, Any] = {}
    for output, grad in zip(outputs, upstream, strict=True):
        _arrive(arrived, output, grad)
    for call in reversed(calls):
        grads = [arrived.get(id(output)) for output in call.outputs]
        if any(grad is not None for grad in grads) and call.op.has_gradient:
            for taken, grad in zip(call.inputs, call.op.gradients(call, *grads), strict=True):
                _arrive(arrived, taken, grad)
    return [arrived.get(id(one)) for one in inputs]


def _arrive(arrived: dict[int, Any], place: Any, grad: Any) -> None:
    if isinstance(place, tuple | list):
        for one, part in zip(place, grad or (), strict=False):
            _arrive(arrived, one, part)
    elif grad is not None:
        known = arrived.get(id(place))
        arrived[id(place)] = grad if known is None else add(known, grad)


def differences(function: Callable[[], float], array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns the slope of a function along each number of an array it reads, real and imaginary parts apart."""
    slopes = np.zeros_like(array)
    numbers, found = array.view(np.float64).reshape(-1), slopes.view(np.float64).reshape(-1)
    for place in range(numbers.size):
        kept = numbers[place]
        numbers[place] = kept + STEP
        above = function()
        numbers[place] = kept - STEP
        found[place] = (above - function()) / (2 * STEP)
        numbers[place] = kept
    return slopes
