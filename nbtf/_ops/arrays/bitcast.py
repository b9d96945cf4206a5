"""Reinterprets the bits of a tensor as another dtype: bitcast."""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.op import no_gradient, op
from nbtf._runtime.tensor import Tensor
from nbtf._types import NUMBERS, DType, DTypeLike, TensorLike, as_dtype
from nbtf.errors import InvalidArgumentError


@op("T -> type", T=NUMBERS, plain={"type": as_dtype}, shares_memory=True)
def Bitcast(xp: Any, input: Any, type: DType) -> Any:
    size, target_size = input.dtype.itemsize, type.np_dtype.itemsize
    if size == target_size:
        return input.view(type.np_dtype)
    flat = xp.ascontiguousarray(input).reshape(-1).view(type.np_dtype)
    if size > target_size:
        return flat.reshape(*input.shape, size // target_size)
    if input.shape[-1] != target_size // size:
        raise ValueError("the last axis must hold one element")
    return flat.reshape(input.shape[:-1])


@Bitcast.express
def bitcast(input: TensorLike, type: DTypeLike, name: str | None = None) -> Tensor:
    """Returns a tensor whose bits are read as another dtype, without changing them.

    Args:
      input: a numeric tensor.
      type: the dtype of the result. A smaller dtype adds a last axis; a larger one removes the last axis, which must
        hold the parts of one element.

    Returns:
      A tensor with the same bits, which shares memory with `input`.

    Raises:
      InvalidArgumentError: if the last axis does not fit, or `type` is not numeric.

    >>> tf.bitcast([1.0, 2.0], tf.int32).numpy().tolist()
    [1065353216, 1073741824]
    """
    return Bitcast(input, type=type, name=name)


@Bitcast.infer
def _(input: Spec, type: DType) -> Spec:
    size, target_size = input.dtype.size, type.size
    if not size or not target_size:
        raise InvalidArgumentError(f"Cannot bitcast from {input.dtype.name} to {type.name}")
    if size == target_size:
        return Spec(input.shape, type)
    if size > target_size:
        return Spec((*input.shape, size // target_size), type)
    last = input.shape[-1] if input.shape else 1
    if last is not None and last != target_size // size:
        raise InvalidArgumentError(f"Cannot bitcast from {last} to {target_size // size}")
    return Spec(input.shape[:-1], type)


no_gradient(Bitcast)
