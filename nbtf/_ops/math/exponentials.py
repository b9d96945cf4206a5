"""Powers, roots, exponentials, logarithms and related functions."""

from __future__ import annotations

from typing import Any

from nbtf._ops.math.arithmetic import SIGNED, conj, multiply
from nbtf._ops.math.comparison import chosen, greater, not_equal, where
from nbtf._ops.math.division import divide, reciprocal
from nbtf._ops.op import Gradients, op, ufunc
from nbtf._ops.reductions.sums import unbroadcast
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import COMPLEXES, FLOATS, TensorLike
from nbtf.errors import InvalidArgumentError

CONTINUOUS = FLOATS | COMPLEXES
UNARY_COMPLEX = (
    "x:T -> y:T; attr=T:type,allowed=[DT_BFLOAT16, DT_HALF, DT_FLOAT, DT_DOUBLE, DT_COMPLEX64, DT_COMPLEX128]"
)
"""The op definition of unary functions. Source: `UNARY_COMPLEX` in TensorFlow's `math_ops.cc`."""


@op("T T -> T", T=SIGNED | COMPLEXES, broadcasts=True)
def Pow(xp: Any, x: Any, y: Any) -> Any:
    if not y.ndim and xp.__name__ == "numpy" and y.dtype.kind != "c" and y.item() == 2:
        return xp.square(x)  # 4 times as fast
    try:
        return xp.power(x, y)
    except ValueError as error:
        if "negative" in str(error):
            raise InvalidArgumentError("Integers to negative integer powers are not allowed") from None
        raise


@Pow.express
def pow(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns one tensor raised to the power of another, elementwise, like the operator `**`.

    Args:
      x: a tensor of numbers other than unsigned integers.
      y: a tensor of the same dtype, with a shape that broadcasts with `x`'s.

    Returns:
      A tensor of the inputs' dtype; nan for roots of negative numbers. Integers wrap around on overflow.

    Raises:
      InvalidArgumentError: if the dtypes differ, the shapes do not fit, or an integer has a negative exponent.

    >>> tf.pow([2, 3], [3, 2]).numpy()
    array([8, 9], dtype=int32)
    """
    return Pow(x, y, name=name)


@Pow.gradient_keeping("inputs", "outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    x, y = (conj(operand) for operand in call.inputs)
    towards_x = towards_y = None
    if call.needs(0):
        towards_x = unbroadcast(grad * y * pow(x, y - 1), x)
    if call.needs(1):
        # Real numbers that are not positive have no logarithm: use 0, so that nan does not spread.
        defined = not_equal(x, 0) if x._dtype in COMPLEXES else greater(x, 0.0)
        logarithm = chosen(defined, log(where(defined, x, as_tensor(1, x._dtype))), True)
        towards_y = unbroadcast(grad * conj(call.output) * logarithm, y)
    return [towards_x, towards_y]


Sqrt = ufunc("Sqrt", "sqrt", "T -> T", T=CONTINUOUS, definition=UNARY_COMPLEX)


@Sqrt.express
def sqrt(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns square roots; nan for negative numbers.

    >>> tf.sqrt([4.0, 9.0]).numpy()
    array([2., 3.], dtype=float32)
    """
    return Sqrt(x, name=name)


@Sqrt.gradient_keeping("outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    return [divide(multiply(grad, 0.5), conj(call.output))]


@Sqrt.backward
def _(xp: Any, grad: Any, y: Any, attrs: object) -> Any:
    return xp.divide(xp.multiply(grad, grad.dtype.type(0.5)), y)


@op("T -> T", T=CONTINUOUS, definition=UNARY_COMPLEX, broadcasts=True)
def Rsqrt(xp: Any, x: Any) -> Any:
    return xp.reciprocal(xp.sqrt(x))


@Rsqrt.express
def rsqrt(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns reciprocals of square roots; inf for 0, nan for negative numbers.

    >>> tf.math.rsqrt([4.0, 16.0]).numpy()
    array([0.5 , 0.25], dtype=float32)
    """
    return Rsqrt(x, name=name)


@Rsqrt.gradient_keeping("outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    y = conj(call.output)
    return [grad * -0.5 * (y * (y * y))]


Exp = ufunc("Exp", "exp", "T -> T", T=CONTINUOUS, definition=UNARY_COMPLEX)


@Exp.express
def exp(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns e raised to the power of each element; inf on overflow.

    >>> tf.exp([0.0, 1.0]).numpy().round(3)
    array([1.   , 2.718], dtype=float32)
    """
    return Exp(x, name=name)


@Exp.gradient_keeping("outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    return [grad * conj(call.output)]


@Exp.backward
def _(xp: Any, grad: Any, y: Any, attrs: object) -> Any:
    return xp.multiply(grad, y)


Expm1 = ufunc("Expm1", "expm1", "T -> T", T=CONTINUOUS, definition=UNARY_COMPLEX)


@Expm1.express
def expm1(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns `exp(x) - 1`, precise even for `x` near 0.

    >>> tf.math.expm1([0.0, 1.0]).numpy().round(3)
    array([0.   , 1.718], dtype=float32)
    """
    return Expm1(x, name=name)


@Expm1.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [grad * exp(conj(call.inputs[0]))]


Log = ufunc("Log", "log", "T -> T", T=CONTINUOUS, definition=UNARY_COMPLEX)


@Log.express
def log(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns natural logarithms; -inf for 0, nan for negative numbers.

    >>> tf.math.log([1.0, 0.0]).numpy()
    array([  0., -inf], dtype=float32)
    """
    return Log(x, name=name)


@Log.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    # TensorFlow multiplies by the reciprocal, which its graph optimizer turns into this division.
    return [grad / conj(call.inputs[0])]


@Log.backward
def _(xp: Any, grad: Any, x: Any, attrs: object) -> Any:
    return xp.divide(grad, x)


Log1p = ufunc("Log1p", "log1p", "T -> T", T=CONTINUOUS, definition=UNARY_COMPLEX)


@Log1p.express
def log1p(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns `log(1 + x)`, precise even for `x` near 0.

    >>> tf.math.log1p([0.0, 1.0]).numpy().round(3)
    array([0.   , 0.693], dtype=float32)
    """
    return Log1p(x, name=name)


@Log1p.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [grad * reciprocal(1 + conj(call.inputs[0]))]


@op("T -> T", T=CONTINUOUS, definition=UNARY_COMPLEX, broadcasts=True)
def Sigmoid(xp: Any, x: Any) -> Any:
    return xp.reciprocal(xp.add(xp.exp(xp.negative(x)), x.dtype.type(1)))


@Sigmoid.express
def sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns `1 / (1 + exp(-x))`, which lies between 0 and 1.

    >>> tf.sigmoid([-1000.0, 0.0, 1000.0]).numpy()
    array([0. , 0.5, 1. ], dtype=float32)
    """
    return Sigmoid(x, name=name)


@Sigmoid.gradient_keeping("outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    y = call.output
    return [sigmoid_grad(conj(y) if y._dtype.is_complex else y, grad)]


@Sigmoid.backward
def _(xp: Any, grad: Any, y: Any, attrs: object) -> Any:
    return SigmoidGrad.kernel(xp, y, grad)


@op("T T -> T", T=CONTINUOUS, broadcasts=True)
def SigmoidGrad(xp: Any, y: Any, dy: Any) -> Any:
    slope = y - xp.square(y)
    slope *= dy
    return slope


@SigmoidGrad.express
def sigmoid_grad(y: Tensor, dy: Tensor, name: str | None = None) -> Tensor:
    """Returns the gradient of a sigmoid.

    Args:
      y: the result of the sigmoid.
      dy: the gradient of that result, of the same shape.

    Returns:
      `dy * y * (1 - y)`.
    """
    return SigmoidGrad(y, dy, name=name)


@SigmoidGrad.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    y, dy = [conj(operand) if operand._dtype.is_complex else operand for operand in call.inputs]
    towards_y = grad * dy - 2.0 * (grad * dy) * y if call.needs(0) else None
    return [towards_y, sigmoid_grad(y, grad) if call.needs(1) else None]


Tanh = ufunc("Tanh", "tanh", "T -> T", T=CONTINUOUS, definition=UNARY_COMPLEX)


@Tanh.express
def tanh(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns hyperbolic tangents, which lie between -1 and 1.

    >>> tf.tanh([-1000.0, 0.0, 1000.0]).numpy()
    array([-1.,  0.,  1.], dtype=float32)
    """
    return Tanh(x, name=name)


@Tanh.gradient_keeping("outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    (y,) = call.outputs
    return [tanh_grad(conj(y) if y._dtype.is_complex else y, grad)]


@Tanh.backward
def _tanh_back(xp: Any, dy: Any, y: Any, attrs: object = None) -> Any:
    lost = xp.square(y)
    lost *= dy
    return dy - lost


@op("T T -> T", T=CONTINUOUS, broadcasts=True)
def TanhGrad(xp: Any, y: Any, dy: Any) -> Any:
    return _tanh_back(xp, dy, y)


@TanhGrad.express
def tanh_grad(y: Tensor, dy: Tensor, name: str | None = None) -> Tensor:
    """Returns the gradient of a hyperbolic tangent.

    Args:
      y: the result of the hyperbolic tangent.
      dy: the gradient of that result, of the same shape.

    Returns:
      `dy * (1 - y * y)`.
    """
    return TanhGrad(y, dy, name=name)


@TanhGrad.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    y, dy = [conj(operand) if operand._dtype.is_complex else operand for operand in call.inputs]
    towards_y = grad * -2.0 * dy * y if call.needs(0) else None
    return [towards_y, tanh_grad(y, grad) if call.needs(1) else None]
