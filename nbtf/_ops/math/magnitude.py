"""Magnitude: absolute value, sign, squares, maximum, minimum and bounds."""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.creation import zeros_like
from nbtf._ops.math.arithmetic import SIGNED, cast, conj, multiply, negative, subtract
from nbtf._ops.math.comparison import chosen, greater_equal, less_equal
from nbtf._ops.math.complex_numbers import complex, imag, real
from nbtf._ops.math.division import divide_no_nan
from nbtf._ops.op import Gradients, op, ufunc
from nbtf._ops.reductions.sums import unbroadcast_both
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import COMPLEXES, FLOATS, NUMBERS, REALS, DType, DTypeLike, TensorLike, as_dtype, int32, int64

Abs = ufunc("Abs", "absolute", "T -> T", T=SIGNED)


@Abs.express
def abs(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns absolute values.

    Args:
      x: a tensor of signed or complex numbers.

    Returns:
      `|x|`, with `x`'s dtype; for complex numbers, a real number of half the size.

    >>> tf.abs([-2.0, 3.0]).numpy()
    array([2., 3.], dtype=float32)
    >>> tf.abs([3 + 4j]).numpy()
    array([5.])
    """
    tensor = as_tensor(x)
    if tensor._dtype in COMPLEXES:
        return ComplexAbs(tensor, Tout=tensor._dtype.real_dtype, name=name)
    return Abs(tensor, name=name)


@Abs.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [grad * sign(call.inputs[0])]


@op("T -> Tout", T=COMPLEXES, plain={"Tout": as_dtype})
def ComplexAbs(xp: Any, x: Any, Tout: DType) -> Any:  # noqa: N803  # TensorFlow's name
    return xp.absolute(x)


@ComplexAbs.infer
def _(x: Spec, Tout: DType) -> Spec:  # noqa: N803
    return Spec(x.shape, Tout)


@ComplexAbs.gradient_keeping("inputs", "outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    x = call.inputs[0]
    along = multiply(complex(grad, subtract(grad, grad)), x)
    return [divide_no_nan(along, cast(call.output, x._dtype))]


Sign = ufunc("Sign", "sign", "T -> T", T=SIGNED | COMPLEXES)


@Sign.express
def sign(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the sign of each element: -1, 0 or 1; for complex numbers, `x / |x|`, or 0 for 0.

    Args:
      x: a tensor of signed or complex numbers; the sign of nan is nan.

    >>> tf.sign([-3.0, 0.0, 2.0]).numpy()
    array([-1.,  0.,  1.], dtype=float32)
    """
    return Sign(x, name=name)


@Sign.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    x = call.inputs[0]
    if not x.dtype.is_complex:
        return [zeros_like(x, name="zeros_like")]
    direction = sign(x)  # changes if `x` moves across it, but not if `x` moves along it
    along = multiply(cast(real(multiply(grad, conj(direction))), x._dtype), direction)
    return [divide_no_nan(subtract(grad, along), cast(abs(x), x._dtype))]


Square = ufunc("Square", "square", "T -> T", T=NUMBERS)


@Square.express
def square(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the square of each element.

    Returns:
      `x * x`, with `x`'s dtype.

    Raises:
      InvalidArgumentError: if `x` is not numeric.

    >>> tf.square([-2.0, 3.0]).numpy()
    array([4., 9.], dtype=float32)
    """
    return Square(x, name=name)


@Square.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [multiply(grad, multiply(conj(call.inputs[0]), 2.0))]


@Square.backward
def _(xp: Any, grad: Any, x: Any, attrs: object) -> Any:
    return xp.multiply(grad, xp.multiply(x, x.dtype.type(2)))


@op("T T -> T", T=FLOATS | COMPLEXES | {int32, int64}, broadcasts=True)
def SquaredDifference(xp: Any, x: Any, y: Any) -> Any:
    difference = xp.subtract(x, y)
    return xp.multiply(difference, difference.conj())


@SquaredDifference.express
def squared_difference(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the elementwise squared difference of two tensors.

    Args:
      x: a tensor of floats, complex numbers, int32 or int64.
      y: a tensor of the same dtype, with a shape that broadcasts with `x`'s.

    Returns:
      `(x - y) * conj(x - y)`, with the inputs' dtype.

    >>> tf.math.squared_difference([1.0, 5.0], 2.0).numpy()
    array([1., 9.], dtype=float32)
    """
    return SquaredDifference(x, y, name=name)


@SquaredDifference.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    x, y = call.inputs
    slope = multiply(grad, 2.0) * (x - y)
    return unbroadcast_both(call, lambda: slope, lambda: negative(slope))


Maximum = ufunc("Maximum", "maximum", "T T -> T", T=REALS)


@Maximum.express
def maximum(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the elementwise maximum of two tensors; nan if an element is nan.

    >>> tf.maximum([1.0, 5.0], [3.0, 2.0]).numpy()
    array([3., 5.], dtype=float32)
    """
    return Maximum(x, y, name=name)


@Maximum.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return _to_the_chosen(call, greater_equal(*call.inputs), grad)


Minimum = ufunc("Minimum", "minimum", "T T -> T", T=REALS)


@Minimum.express
def minimum(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the elementwise minimum of two tensors; nan if an element is nan.

    >>> tf.minimum([1.0, 5.0], [3.0, 2.0]).numpy()
    array([1., 2.], dtype=float32)
    """
    return Minimum(x, y, name=name)


@Minimum.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return _to_the_chosen(call, less_equal(*call.inputs), grad)


def _to_the_chosen(call: Call, first: Tensor, grad: Tensor) -> Gradients:
    """Passes the gradient to the chosen input, or to the first if both are equal, as in TensorFlow."""
    return unbroadcast_both(call, lambda: chosen(first, grad, True), lambda: chosen(first, grad, False))


def clip_by_value(
    t: TensorLike, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> Tensor:
    """Returns a tensor with its elements limited to a range.

    TensorFlow has no single op for this; the log shows `Minimum` and `Maximum`.

    Args:
      t: a tensor of real numbers.
      clip_value_min: the lower bound, of `t`'s dtype, with a shape that broadcasts to `t`'s. If it exceeds
        `clip_value_max`, it takes precedence.
      clip_value_max: the upper bound.

    Returns:
      A tensor of `t`'s shape and dtype.

    Raises:
      ValueError: if the bounds have a larger shape than `t`.

    >>> tf.clip_by_value([-1.5, 0.5, 2.5], 0.0, 1.0).numpy()
    array([0. , 0.5, 1. ], dtype=float32)
    """
    values = as_tensor(t)
    within = maximum(minimum(values, clip_value_max), clip_value_min, name)
    values.shape.assert_is_compatible_with(within.shape)
    return within


def saturate_cast(value: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Returns a tensor converted to another dtype, with its elements limited to the range of that dtype.

    Args:
      value: a numeric tensor. If `dtype` is real, complex numbers keep only their real part.
      dtype: the new dtype.

    Returns:
      A tensor of that dtype. nan is converted as by `tf.cast`.

    Raises:
      TypeError: if one of the dtypes has no minimum and maximum.

    >>> tf.saturate_cast([300, -5, 7], tf.uint8).numpy()
    array([255,   0,   7], dtype=uint8)
    """
    tensor, target = as_tensor(value), as_dtype(dtype)
    if tensor._dtype in COMPLEXES and target in COMPLEXES:
        components = [saturate_cast(component(tensor), target.real_dtype) for component in (real, imag)]
        return complex(*components, name=name)
    source = real(tensor) if tensor._dtype in COMPLEXES else tensor
    low, high = _bounds(source._dtype, target.real_dtype)
    return cast(clip_by_value(source, as_tensor(low, source._dtype), as_tensor(high, source._dtype)), target, name)


def _bounds(source: DType, target: DType) -> tuple[float, float]:
    """Returns the smallest and the largest number of `source` that `target` can represent."""
    (source_low, source_high), (lowest, highest) = _limits(source), _limits(target)
    source_low, source_high = max(source_low, lowest), min(source_high, highest)
    if source.is_integer:
        return int(source_low), int(source_high)
    return float(source_low), _rounded_down(source_high, source) if isinstance(source_high, int) else source_high


def _limits(dtype: DType) -> tuple[float, float]:
    """Returns the limits as Python numbers, which compare exactly even if their types differ."""
    number = int if dtype.is_integer else float
    return number(dtype.min), number(dtype.max)


# Bits of a float's fraction by its size in bytes. Source: IEEE 754-2019, table 3.5.
_DIGITS = {2: 11, 4: 24, 8: 53}


def _rounded_down(number: int, dtype: DType) -> float:
    """Returns the largest float of a dtype that is not above a positive integer."""
    spare = max(0, number.bit_length() - _DIGITS[dtype.size])
    return float(number >> spare << spare)
