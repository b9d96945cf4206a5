"""Ops that pass values through unchanged: identity, stop_gradient, ensure_shape."""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.attributes import passed_on
from nbtf._ops.op import Gradients, no_gradient, op
from nbtf._ops.specs import bracketed, spec_of_first
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import ShapeLike, TensorShape
from nbtf._types import ALL, TensorLike
from nbtf.errors import InvalidArgumentError


@op("T -> T", T=ALL, shares_memory=True, static=passed_on, infer=spec_of_first)
def Identity(xp: Any, input: Any) -> Any:
    return input


@Identity.express
def identity(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns a tensor with the same values on the current device.

    Args:
      input: any tensor, on any device.

    Returns:
      A new tensor. On the device of `input` it shares memory; on another device it is a copy.

    >>> with tf.device("CPU:0"):
    ...     print(tf.identity([1, 2]).device)
    /job:localhost/replica:0/task:0/device:CPU:0
    """
    return Identity(input, name=name)


@Identity.gradient_keeping()
def _(call: Call, grad: Tensor) -> Gradients:
    return [grad]


def identity_n(input: Any, name: str | None = None) -> list[Tensor]:
    """Returns tensors with the same values on the current device.

    Args:
      input: a list of tensors.

    Returns:
      A list of new tensors.

    >>> [t.numpy().item() for t in tf.identity_n([1, 2.5])]
    [1, 2.5]
    """
    return [identity(tensor, name=name) for tensor in input]


@op("T -> T", T=ALL, shares_memory=True, infer=spec_of_first)
def StopGradient(xp: Any, input: Any) -> Any:
    return input


@StopGradient.express
def stop_gradient(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns a tensor with the same values that gradients treat as a constant.

    Returns:
      A new tensor; no gradient flows back through it.

    >>> tf.stop_gradient([1.0, 2.0]).numpy()
    array([1., 2.], dtype=float32)
    """
    return StopGradient(input, name=name)


no_gradient(StopGradient)


@op("T -> T", T=ALL, plain={"shape": TensorShape}, shares_memory=True)
def EnsureShape(xp: Any, x: Any, shape: TensorShape) -> Any:
    if not shape.is_compatible_with(x.shape):
        raise ValueError("the shape is not compatible")
    return x


def ensure_shape(x: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Returns a tensor after checking its shape.

    Args:
      x: any tensor.
      shape: the required shape; None for a length, or for the whole shape, accepts any.

    Returns:
      A tensor with the same values.

    Raises:
      InvalidArgumentError: if `x` has another shape.

    >>> tf.ensure_shape([[1, 2], [3, 4]], [None, 2]).shape
    TensorShape([2, 2])
    """
    return EnsureShape(x, shape=shape, name=name)


@EnsureShape.infer
def _(x: Spec, shape: TensorShape) -> Spec:
    if not shape.is_compatible_with(x.shape):
        expected = bracketed(shape.as_list())
        text = f"Shape of tensor input {bracketed(x.shape)} is not compatible with expected shape {expected}."
        raise InvalidArgumentError(text)
    return Spec(tuple(shape.merge_with(x.shape).as_list()), x.dtype)


@EnsureShape.gradient_keeping()
def _(call: Call, grad: Tensor) -> Gradients:
    return [grad]
