"""Ops that change shapes: reshape, broadcast_to.

The gradient of `broadcast_to` is a sum; it is defined in reductions/sums.py.
"""

from __future__ import annotations

import math
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.attributes import as_shape, of_integers
from nbtf._ops.op import Gradients, op
from nbtf._ops.specs import Lengths, as_asked, bracketed, broadcast_shapes, may_be_equal
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import ALL, TensorLike
from nbtf.errors import InvalidArgumentError


def _misfit_of_shape(tensor: Lengths, shape: Lengths) -> str | None:
    lengths = [n for n in tensor if n is not None]
    if len(lengths) < len(tensor):
        return None
    size, given_size = math.prod(lengths), math.prod([n for n in shape if n is not None and n != -1])
    if -1 in shape:
        return f"Dimension size must be evenly divisible by {given_size} but is {size}"
    return f"Cannot reshape a tensor with {size} elements to shape {bracketed(shape)} ({given_size} elements)"


@op(
    "T -> T",
    T=ALL,
    host={"shape": of_integers("Tshape", as_shape)},
    shares_memory=True,
    partly=as_asked("shape"),
    index_type="Tshape",
    misfit=_misfit_of_shape,
)
def Reshape(xp: Any, tensor: Any, shape: Any) -> Any:
    for length in shape:
        if length < -1:  # NumPy treats it as -1
            raise ValueError("negative length")
    return tensor.reshape(shape)


@Reshape.express
def reshape(tensor: TensorLike, shape: Any, name: str | None = None) -> Tensor:
    """Returns a tensor with another shape and its elements in the same order.

    Args:
      tensor: a tensor of any dtype.
      shape: the new shape, a list or an integer tensor; one length may be -1 and is then inferred.

    Returns:
      The same values; they share memory with `tensor` if both are on the same device.

    Raises:
      InvalidArgumentError: if the number of elements does not match the shape.

    >>> tf.reshape([1, 2, 3, 4], [2, -1]).numpy()
    array([[1, 2],
           [3, 4]], dtype=int32)
    """
    return Reshape(tensor, shape=shape, name=name)


@Reshape.infer
def _(tensor: Spec, shape: tuple[int, ...]) -> Spec:
    free = [i for i, n in enumerate(shape) if n == -1]
    if len(free) > 1:
        raise InvalidArgumentError(f"Only one input size may be -1, not both {free[0]} and {free[1]}")
    negative = next((i for i, n in enumerate(shape) if n < -1), None)
    if negative is not None:
        raise InvalidArgumentError(f"Size {negative} must be non-negative, not {shape[negative]}")
    product = math.prod(n for n in shape if n != -1)
    if None in tensor.shape:
        return Spec(tuple(None if n == -1 else n for n in shape), tensor.dtype)
    size = math.prod(n for n in tensor.shape if n is not None)
    if free and (product == 0 or size % product):
        _refuse_free(size, product)
    if not free and product != size:
        text = f"Input to reshape is a tensor with {size} values, but the requested shape has {product}"
        raise InvalidArgumentError(text)
    return Spec(tuple(size // product if n == -1 else n for n in shape), tensor.dtype)


def _refuse_free(size: int, product: int) -> None:
    if product == 0:
        text = "reshape cannot infer the missing input size for an empty tensor unless all specified input sizes "
        raise InvalidArgumentError(text + "are non-zero")
    text = f"Input to reshape is a tensor with {size} values, but the requested shape requires a multiple of {product}"
    raise InvalidArgumentError(text)


@Reshape.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [reshape(grad, call.inputs[0].shape)]


@Reshape.backward
def _(xp: Any, grad: Any, array: Any, attrs: object) -> Any:
    return Reshape.kernel(xp, grad, array.shape)


@op("T -> T", T=ALL, host={"shape": of_integers("Tshape", as_shape)}, partly=as_asked("shape"), index_type="Tidx")
def BroadcastTo(xp: Any, input: Any, shape: Any) -> Any:
    result = xp.empty(shape, input.dtype)  # 3 times as fast as `broadcast_to`, and faster to read
    if input.ndim > result.ndim:
        raise ValueError("the input has more axes than the result")
    result[...] = input
    return result


@BroadcastTo.express
def broadcast_to(input: TensorLike, shape: Any, name: str | None = None) -> Tensor:
    """Returns a tensor repeated along axes of length 1 and along new first axes to get the given shape.

    Args:
      input: a tensor of any dtype.
      shape: the shape of the result.

    Returns:
      A tensor of that shape.

    >>> tf.broadcast_to([1, 2], [2, 2]).numpy()
    array([[1, 2],
           [1, 2]], dtype=int32)
    """
    return BroadcastTo(input, shape=shape, name=name)


@BroadcastTo.infer
def _(input: Spec, shape: tuple[int, ...]) -> Spec:
    if len(input.shape) > len(shape):
        text = f"Rank of input ({len(input.shape)}) must be no greater than rank of output shape ({len(shape)})."
        raise InvalidArgumentError(text)
    if not may_be_equal(broadcast_shapes(input.shape, shape), shape):
        raise InvalidArgumentError(f"Incompatible shapes: {bracketed(input.shape)} vs. {bracketed(shape)}")
    return Spec(shape, input.dtype)
