"""Creates complex numbers and returns their parts."""

from __future__ import annotations

from math import pi
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.broadcasting import broadcast_to
from nbtf._ops.math.arithmetic import conj
from nbtf._ops.math.comparison import less, where
from nbtf._ops.math.division import divide
from nbtf._ops.op import Gradients, op
from nbtf._ops.reductions.sums import unbroadcast_both
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import COMPLEXES, REALS, DType, TensorLike, as_dtype, bfloat16, complex64, complex128, float32, float64


@op("T T -> Tout", T=frozenset({float32, float64}), plain={"Tout": as_dtype}, broadcasts=True)
def Complex(xp: Any, real: Any, imag: Any, Tout: DType) -> Any:  # noqa: N803  # TensorFlow's name
    result = xp.empty(xp.broadcast(real, imag).shape, Tout.np_dtype)
    result.real, result.imag = real, imag  # adding with 1j would turn an infinite part into nan
    return result


def complex(real: TensorLike, imag: TensorLike, name: str | None = None) -> Tensor:
    """Returns complex numbers with the given real and imaginary parts.

    Args:
      real: the real parts, float32 or float64.
      imag: the imaginary parts, of the same dtype, with a shape that broadcasts with `real`'s.

    Returns:
      A tensor of dtype complex64 or complex128.

    Raises:
      TypeError: if the parts have other dtypes.

    >>> tf.complex([1.0, 2.0], [0.0, -1.0]).numpy()
    array([1.+0.j, 2.-1.j], dtype=complex64)
    """
    x, y = as_tensor(real), as_tensor(imag)
    result_dtype = {float32: complex64, float64: complex128}.get(x._dtype)
    if result_dtype is None or x._dtype is not y._dtype:
        raise TypeError(
            f"The `real` and `imag` components have incorrect types: {x._dtype.name} {y._dtype.name}. They must be "
            "consistent, and one of [tf.float32, tf.float64]"
        )
    return Complex(x, y, Tout=result_dtype, name=name)


@Complex.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return unbroadcast_both(call, lambda: real(grad), lambda: imag(grad))


@op("T -> Tout", T=COMPLEXES, plain={"Tout": as_dtype})
def Real(xp: Any, input: Any, Tout: DType) -> Any:  # noqa: N803
    return input.real.copy()


def real(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the real parts of complex numbers.

    Args:
      input: a numeric tensor.

    Returns:
      A tensor of real numbers; `input` itself if it is real.

    Raises:
      TypeError: if `input` is not numeric.

    >>> tf.math.real([1 + 2j]).numpy()
    array([1.])
    """
    tensor = as_tensor(input)
    if tensor._dtype in COMPLEXES:
        return Real(tensor, Tout=tensor._dtype.real_dtype, name=name)
    if tensor._dtype in REALS or tensor._dtype is bfloat16:
        return tensor
    raise TypeError(f"input must be a numeric tensor, but got tensor with dtype {tensor._dtype}")


@Real.gradient_keeping()
def _(call: Call, grad: Tensor) -> Gradients:
    return [complex(grad, _nothing(grad))]


@op("T -> Tout", T=COMPLEXES, plain={"Tout": as_dtype})
def Imag(xp: Any, input: Any, Tout: DType) -> Any:  # noqa: N803
    return input.imag.copy()


def imag(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the imaginary parts of complex numbers.

    Args:
      input: a numeric tensor.

    Returns:
      A tensor of real numbers; zeros if `input` is real.

    >>> tf.math.imag([1 + 2j]).numpy()
    array([2.])
    """
    tensor = as_tensor(input)
    if tensor._dtype in COMPLEXES:
        return Imag(tensor, Tout=tensor._dtype.real_dtype, name=name)
    return _nothing(tensor)


@Imag.gradient_keeping()
def _(call: Call, grad: Tensor) -> Gradients:
    return [complex(_nothing(grad), grad)]


@op("T -> Tout", T=COMPLEXES, plain={"Tout": as_dtype})
def Angle(xp: Any, input: Any, Tout: DType) -> Any:  # noqa: N803
    return xp.arctan2(input.imag, input.real)


def angle(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the angles (arguments) of complex numbers.

    Args:
      input: a tensor of complex numbers or floats.

    Returns:
      Angles in radians, from -pi to pi; for real numbers, 0, or pi if negative.

    Raises:
      TypeError: if `input` is neither complex nor floating-point.

    >>> tf.math.angle([1j, -1 + 0j]).numpy()
    array([1.57079633, 3.14159265])
    """
    tensor = as_tensor(input)
    if tensor._dtype in COMPLEXES:
        return Angle(tensor, Tout=tensor._dtype.real_dtype, name=name)
    return where(less(tensor, as_tensor(0, tensor._dtype)), as_tensor(pi, tensor._dtype), _nothing(tensor))


@Angle.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    turned = divide(complex(_nothing(grad), grad), conj(call.inputs[0]))
    return [turned]


def _nothing(like: Tensor) -> Tensor:
    dtype = like._dtype
    return broadcast_to(as_tensor(0 if dtype.is_floating or dtype.is_integer else False, dtype), like.shape)


@Real.infer
@Imag.infer
@Angle.infer
def _(input: Spec, Tout: DType) -> Spec:  # noqa: N803
    return Spec(input.shape, Tout)
