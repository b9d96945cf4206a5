"""Trigonometric and hyperbolic functions and their inverses."""

from __future__ import annotations

from nbtf._ops.math.arithmetic import add, conj, subtract
from nbtf._ops.math.division import reciprocal
from nbtf._ops.math.exponentials import CONTINUOUS, UNARY_COMPLEX, sqrt
from nbtf._ops.math.magnitude import square
from nbtf._ops.op import Gradients, ufunc
from nbtf._ops.reductions.sums import unbroadcast_both
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import FLOATS, TensorLike

Sin = ufunc("Sin", "sin", "T -> T", T=CONTINUOUS, definition=UNARY_COMPLEX)


@Sin.express
def sin(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns sines.

    Args:
      x: angles in radians: floats or complex numbers.

    >>> tf.sin([0.0, 1.5707964]).numpy()
    array([0., 1.], dtype=float32)
    """
    return Sin(x, name=name)


@Sin.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [grad * cos(conj(call.inputs[0]))]


Cos = ufunc("Cos", "cos", "T -> T", T=CONTINUOUS, definition=UNARY_COMPLEX)


@Cos.express
def cos(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns cosines.

    Args:
      x: angles in radians: floats or complex numbers.

    >>> tf.cos([0.0, 3.1415927]).numpy()
    array([ 1., -1.], dtype=float32)
    """
    return Cos(x, name=name)


@Cos.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [-grad * sin(conj(call.inputs[0]))]


Tan = ufunc("Tan", "tan", "T -> T", T=CONTINUOUS, definition=UNARY_COMPLEX)


@Tan.express
def tan(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns tangents.

    Args:
      x: angles in radians: floats or complex numbers.

    >>> tf.tan([0.0, 1.0]).numpy().round(3)
    array([0.   , 1.557], dtype=float32)
    """
    return Tan(x, name=name)


@Tan.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [square(reciprocal(cos(conj(call.inputs[0])))) * grad]


Asin = ufunc("Asin", "arcsin", "T -> T", T=CONTINUOUS, definition=UNARY_COMPLEX)


@Asin.express
def asin(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns inverse sines, from -pi/2 to pi/2; nan for numbers outside [-1, 1].

    Args:
      x: floats from -1 to 1, or complex numbers.

    >>> tf.asin([0.0, 1.0]).numpy().round(3)
    array([0.   , 1.571], dtype=float32)
    """
    return Asin(x, name=name)


@Asin.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [grad * reciprocal(sqrt(subtract(1.0, square(conj(call.inputs[0])))))]


Acos = ufunc("Acos", "arccos", "T -> T", T=CONTINUOUS, definition=UNARY_COMPLEX)


@Acos.express
def acos(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns inverse cosines, from 0 to pi; nan for numbers outside [-1, 1].

    Args:
      x: floats from -1 to 1, or complex numbers.

    >>> tf.acos([1.0, -1.0]).numpy().round(3)
    array([0.   , 3.142], dtype=float32)
    """
    return Acos(x, name=name)


@Acos.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [-grad * reciprocal(sqrt(subtract(1.0, square(conj(call.inputs[0])))))]


Atan = ufunc("Atan", "arctan", "T -> T", T=CONTINUOUS, definition=UNARY_COMPLEX)


@Atan.express
def atan(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns inverse tangents, from -pi/2 to pi/2.

    >>> tf.atan([0.0, 1.0]).numpy().round(3)
    array([0.   , 0.785], dtype=float32)
    """
    return Atan(x, name=name)


@Atan.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [grad * reciprocal(add(square(conj(call.inputs[0])), 1))]


Sinh = ufunc("Sinh", "sinh", "T -> T", T=CONTINUOUS, definition=UNARY_COMPLEX)


@Sinh.express
def sinh(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns hyperbolic sines.

    >>> tf.sinh([0.0, 1.0]).numpy().round(3)
    array([0.   , 1.175], dtype=float32)
    """
    return Sinh(x, name=name)


@Sinh.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [grad * cosh(conj(call.inputs[0]))]


Cosh = ufunc("Cosh", "cosh", "T -> T", T=CONTINUOUS, definition=UNARY_COMPLEX)


@Cosh.express
def cosh(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns hyperbolic cosines.

    >>> tf.cosh([0.0, 1.0]).numpy().round(3)
    array([1.   , 1.543], dtype=float32)
    """
    return Cosh(x, name=name)


@Cosh.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [grad * sinh(conj(call.inputs[0]))]


Asinh = ufunc("Asinh", "arcsinh", "T -> T", T=CONTINUOUS, definition=UNARY_COMPLEX)


@Asinh.express
def asinh(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns inverse hyperbolic sines.

    >>> tf.asinh([0.0, 1.0]).numpy().round(3)
    array([0.   , 0.881], dtype=float32)
    """
    return Asinh(x, name=name)


@Asinh.gradient_keeping("outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    return [grad / cosh(conj(call.output))]


Acosh = ufunc("Acosh", "arccosh", "T -> T", T=CONTINUOUS, definition=UNARY_COMPLEX)


@Acosh.express
def acosh(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns inverse hyperbolic cosines; nan for numbers below 1.

    Args:
      x: floats of at least 1, or complex numbers.

    >>> tf.acosh([1.0, 2.0]).numpy().round(3)
    array([0.   , 1.317], dtype=float32)
    """
    return Acosh(x, name=name)


@Acosh.gradient_keeping("outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    return [grad / sinh(conj(call.output))]


Atanh = ufunc("Atanh", "arctanh", "T -> T", T=CONTINUOUS, definition=UNARY_COMPLEX)


@Atanh.express
def atanh(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns inverse hyperbolic tangents; nan for numbers outside [-1, 1].

    Args:
      x: floats from -1 to 1, or complex numbers.

    >>> tf.atanh([0.0, 0.5]).numpy().round(3)
    array([0.   , 0.549], dtype=float32)
    """
    return Atanh(x, name=name)


@Atanh.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [grad * reciprocal(subtract(1.0, square(conj(call.inputs[0]))))]


Atan2 = ufunc("Atan2", "arctan2", "T T -> T", ("y", "x"), T=FLOATS)


@Atan2.express
def atan2(y: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the angles of points as seen from the origin.

    Args:
      y: the vertical coordinates, floats.
      x: the horizontal coordinates, floats of the same dtype, with a shape that broadcasts with `y`'s.

    Returns:
      Angles in radians from -pi to pi, with the inputs' dtype.

    >>> tf.atan2([1.0, 1.0], [1.0, -1.0]).numpy().round(3)
    array([0.785, 2.356], dtype=float32)
    """
    return Atan2(y, x, name=name)


@Atan2.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    y, x = call.inputs
    per_length = grad / (square(x) + square(y))
    return unbroadcast_both(call, lambda: x * per_length, lambda: -y * per_length)
