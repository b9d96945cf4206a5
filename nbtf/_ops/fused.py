"""Runs several ops as one kernel where the difference cannot be observed.

Where TensorFlow runs several ops eagerly, nbtf also reports, charges and differentiates these ops. On the CPU,
while no observer is registered, one kernel processes the numbers once, block by block, so that intermediate values
stay in a cache. It computes what the ops compute, in their order: results are bit-identical.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from nbtf._devices.base import buffer_of
from nbtf._devices.cpu import CPU
from nbtf._ops.express import HANDED_OVER
from nbtf._runtime.scopes import HERE, SCOPE
from nbtf._runtime.tape import AT_LENGTH, Call, Tape
from nbtf._runtime.tensor import Tensor, tensor_of
from nbtf._types import DType

Function = Callable[..., Any]

FUSED: dict[str, Fused] = {}
"""All fused kernels by module and name; filled at import, then only read."""


class Fused:
    """A kernel that replaces several ops of one dtype; created by `@fused`. Tapes record it as one op."""

    taped = AT_LENGTH
    resource = no_gradient = freezes = keeps_outputs = False
    keeps_inputs = has_gradient = True
    _composed: Function
    _backward: Function | None = None

    def __init__(self, kernel: Function, dtypes: frozenset[DType]) -> None:
        """Stores the kernel and the dtypes that it supports.

        The kernel takes `(xp, inputs..., attributes...)` and returns an array, or a list of them, and what `backward`
        needs.
        """
        self._kernel, self._dtypes = kernel, dtypes
        FUSED[f"{kernel.__module__}.{kernel.__qualname__}"] = self

    def composed(self, function: Function) -> Function:
        """Registers the function that computes the same with single ops."""
        self._composed = function
        return function

    def backward(self, kernel: Function) -> Function:
        """Registers the gradient kernel: `(xp, inputs, kept, grads, attributes...)` returns one gradient per input.

        A missing gradient is None. Without a gradient kernel, ops are run one by one while a tape records.
        """
        self._backward = kernel
        return kernel

    def __call__(self, *inputs: Any, name: str | None = None, **attrs: Any) -> Any:
        """Computes the results with the fused kernel or op by op."""
        scope = SCOPE()
        tape = None if scope is None else scope.tape
        arrays = None if tape is not None and self._backward is None else self._arrays(inputs)
        if arrays is None:
            return self._composed(*inputs, name=name, **attrs)
        try:
            results, kept = self._kernel(CPU.xp, *arrays, **attrs)
        except HANDED_OVER:
            return self._composed(*inputs, name=name, **attrs)
        result = (
            [_tensor(array, inputs[0]) for array in results]
            if results.__class__ is list
            else _tensor(results, inputs[0])
        )
        if tape is not None:
            tape.record(self, inputs, {**attrs, "kept": kept}, result)
        return result

    def gradients(self, call: Call, *grads: Tensor | None) -> Sequence[Any]:
        """Returns the inputs' gradients from the gradient kernel, or op by op while a tape or an observer records."""
        scope, inputs, attrs = SCOPE(), call.inputs, dict(call.attrs)
        kept = attrs.pop("kept")
        is_heard = scope is not None and scope.tape is not None
        arrays = None if is_heard else self._arrays([*inputs, *[grad for grad in grads if grad is not None]])
        if arrays is not None and self._backward is not None:
            back = [None if grad is None else grad._array for grad in grads]
            try:
                results = self._backward(CPU.xp, arrays[: len(inputs)], kept, back, **attrs)
                return [_tensor(array, inputs[0]) for array in results]
            except HANDED_OVER:
                pass
        with Tape.block(watch_accessed_variables=False) as tape:
            for tensor in inputs:
                tape.watch(tensor)
            results = self._composed(*inputs, **attrs)
        return tape.gradient(results, inputs, list(grads) if results.__class__ is list else grads[0])

    def _arrays(self, tensors: Sequence[Any]) -> list[Any] | None:
        """Returns the arrays of tensors on the current CPU device; None if ops would take the road."""
        device, scope = HERE.device, SCOPE()
        if device is None or (scope is not None and scope.lane is not device):
            return None
        try:
            dtype = tensors[0]._dtype
            if dtype in self._dtypes and all([t._device is device and t._dtype is dtype for t in tensors]):
                return [tensor._array for tensor in tensors]
        except AttributeError:  # a Python value, or a graph tensor that has no value yet
            pass
        return None


def _tensor(array: Any, like: Any) -> Tensor:
    return tensor_of(buffer_of(array), like._dtype, like._device)


def fused(*dtypes: DType) -> Callable[[Function], Fused]:
    """Returns a decorator that makes a kernel replace several ops."""
    return partial(Fused, dtypes=frozenset(dtypes))


_BLOCK = 1 << 16
"""Elements per block: a few arrays of 256 KiB fit into a processor's second-level cache."""


def blocks(length: int, numbers: int = 1, multiple: int = 1) -> list[slice]:
    """Returns slices that divide lines of `numbers` elements into blocks of a `multiple` of lines, except the last."""
    at_once = max(1, _BLOCK // max(1, numbers * multiple)) * multiple
    return [slice(start, start + at_once) for start in range(0, length, at_once)]


def in_blocks(xp: Any, compute: Function, inputs: Sequence[Any], results: int = 1) -> list[Any]:
    """Returns new arrays with the first input's shape and dtype, computed block by block.

    Kernels that work in blocks get their results from here. The new memory is contiguous, so flattening it gives a view
    that can be written. Flattening another array may copy it, so it is only read.

    Args:
      xp: the array library.
      compute: function that takes a block of each input, then a block of each result, all of rank 1, and writes the
        results.
      inputs: arrays of the same shape, in any memory layout.
      results: number of results.
    """
    outputs = [xp.empty(inputs[0].shape, inputs[0].dtype) for _ in range(results)]
    rows = [array.reshape(-1) for array in (*inputs, *outputs)]
    for block in blocks(rows[0].size) if xp is CPU.xp else [slice(None)]:
        compute(*[row[block] for row in rows])
    return outputs
