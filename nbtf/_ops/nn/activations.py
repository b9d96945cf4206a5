"""Activation functions: relu and its variants, softplus, gelu."""

from __future__ import annotations

from numbers import Real
from typing import Any

from nbtf._ops.arrays.creation import zeros_like
from nbtf._ops.arrays.identity import stop_gradient
from nbtf._ops.arrays.joining import concat
from nbtf._ops.math.arithmetic import add, cast, multiply, negative, subtract
from nbtf._ops.math.comparison import greater, less, where
from nbtf._ops.math.division import divide
from nbtf._ops.math.exponentials import pow, sigmoid, tanh
from nbtf._ops.math.logic import logical_and
from nbtf._ops.math.magnitude import abs, square
from nbtf._ops.math.special import erfc
from nbtf._ops.op import Gradients, op
from nbtf._ops.reductions.sums import reduce_sum
from nbtf._ops.specs import spec_of_first
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import COMPLEXES, FLOATS, REALS, TensorLike, float32


@op("T -> T", T=REALS, infer=spec_of_first)
def Relu(xp: Any, features: Any) -> Any:
    return xp.maximum(features, 0)


@Relu.express
def relu(features: TensorLike, name: str | None = None) -> Tensor:
    """Returns positive elements unchanged and 0 for all others.

    Returns:
      `max(features, 0)`, of the same shape and dtype.

    >>> tf.nn.relu([-2.0, 0.0, 3.0]).numpy()
    array([0., 0., 3.], dtype=float32)
    """
    return Relu(features, name=name)


@Relu.gradient_keeping("outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    return [relu_grad(grad, call.output)]


@Relu.backward
def _(xp: Any, grad: Any, y: Any, attrs: object) -> Any:
    return ReluGrad.kernel(xp, grad, y)


@op("T T -> T", T=REALS, broadcasts=True)
def ReluGrad(xp: Any, gradients: Any, features: Any) -> Any:
    return gradients * (features > 0)  # nan stays nan, as in TensorFlow; 3 times as fast as `where`


@ReluGrad.express
def relu_grad(gradients: Tensor, features: Tensor, name: str | None = None) -> Tensor:
    """Returns the gradient of `tf.nn.relu`.

    Args:
      gradients: the gradient of relu's result.
      features: relu's input or its result, of the same shape.

    Returns:
      `gradients` where `features` is positive, otherwise 0.
    """
    return ReluGrad(gradients, features, name=name)


@ReluGrad.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    features = call.inputs[1]
    # Not None: in TensorFlow, the second derivative exists and is 0.
    return [relu_grad(grad, features) if call.needs(0) else None, zeros_like(features) if call.needs(1) else None]


@op("T -> T", T=REALS, infer=spec_of_first)
def Relu6(xp: Any, features: Any) -> Any:
    return xp.minimum(xp.maximum(features, 0), 6)


@Relu6.express
def relu6(features: TensorLike, name: str | None = None) -> Tensor:
    """Returns the elements, limited to the range from 0 to 6.

    Returns:
      `min(max(features, 0), 6)`, of the same shape and dtype.

    >>> tf.nn.relu6([-2.0, 3.0, 9.0]).numpy()
    array([0., 3., 6.], dtype=float32)
    """
    return Relu6(features, name=name)


@Relu6.gradient_keeping("outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    inside = logical_and(greater(call.output, 0), less(call.output, 6))
    return [multiply(grad, cast(inside, grad.dtype))]  # as in TensorFlow: an infinite gradient gives nan outside


@op("T -> T", T=FLOATS, infer=spec_of_first)
def Elu(xp: Any, features: Any) -> Any:
    return xp.maximum(features, 0) + xp.expm1(xp.minimum(features, 0))


@Elu.express
def elu(features: TensorLike, name: str | None = None) -> Tensor:
    """Returns positive elements unchanged and `exp(features) - 1` for all others.

    Source: Clevert, Unterthiner, Hochreiter, arXiv:1511.07289.

    >>> tf.nn.elu([-1000.0, 3.0]).numpy()
    array([-1.,  3.], dtype=float32)
    """
    return Elu(features, name=name)


@Elu.gradient_keeping("outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    return [where(less(call.output, 0), multiply(grad, add(call.output, 1)), grad)]


# Klambauer, Unterthiner, Mayr, Hochreiter, arXiv:1706.02515, equation 14.
SELU_SCALE = 1.0507009873554804934193349852946
SELU_ALPHA = 1.6732632423543772848170429916717


@op("T -> T", T=FLOATS, infer=spec_of_first)
def Selu(xp: Any, features: Any) -> Any:
    negative_part = SELU_SCALE * SELU_ALPHA * xp.expm1(xp.minimum(features, 0))
    return SELU_SCALE * xp.maximum(features, 0) + negative_part


@Selu.express
def selu(features: TensorLike, name: str | None = None) -> Tensor:
    """Returns a scaled `elu`, which preserves mean 0 and variance 1 from layer to layer.

    Source: Klambauer, Unterthiner, Mayr, Hochreiter, arXiv:1706.02515.

    >>> tf.nn.selu([0.0, 1.0]).numpy()
    array([0.      , 1.050701], dtype=float32)
    """
    return Selu(features, name=name)


@Selu.gradient_keeping("outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    y = call.output
    return [where(less(y, 0), multiply(grad, add(y, SELU_SCALE * SELU_ALPHA)), multiply(grad, SELU_SCALE))]


@op("T -> T", T=FLOATS, infer=spec_of_first)
def LeakyRelu(xp: Any, features: Any, alpha: float) -> Any:
    return xp.where(features > 0, features, float(alpha) * features)


@LeakyRelu.express
def leaky_relu(features: TensorLike, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """Returns positive elements unchanged and `alpha * features` for all others.

    Args:
      features: real numbers; integers become float32.
      alpha: the factor for negative elements, a Python or NumPy number; 0.2 by default.

    Raises:
      TypeError: if `alpha` is not a real number.

    >>> tf.nn.leaky_relu([-2.0, 3.0]).numpy()
    array([-0.4,  3. ], dtype=float32)
    """
    if not isinstance(alpha, Real):
        raise TypeError(f"Expected float for argument 'alpha' not {alpha!r}.")
    tensor = as_tensor(features)
    if tensor.dtype.is_integer:
        tensor = cast(tensor, float32)
    return LeakyRelu(tensor, alpha=float(alpha), name=name)


@LeakyRelu.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [where(greater(call.inputs[0], 0), grad, multiply(grad, float(call.attrs["alpha"])))]


def crelu(features: TensorLike, axis: int = -1, name: str | None = None) -> Tensor:
    """Returns `relu(features)` and `relu(-features)`, concatenated.

    Args:
      features: real numbers.
      axis: the axis of concatenation; the last by default.

    Returns:
      A tensor that is twice as long along `axis`.

    >>> tf.nn.crelu([-2.0, 3.0]).numpy()
    array([0., 3., 2., 0.], dtype=float32)
    """
    tensor = as_tensor(features)
    return relu(concat([tensor, negative(tensor)], axis, name))


def gelu(features: TensorLike, approximate: bool = False, name: str | None = None) -> Tensor:
    """Returns each number times the probability that a standard normal random number is smaller.

    Args:
      features: floats.
      approximate: whether to approximate with `tanh`, with an error of at most 5e-4; False by default.

    Raises:
      ValueError: if `features` are not floats.

    Source: Hendrycks, Gimpel, arXiv:1606.08415, section 2.

    >>> tf.nn.gelu([0.0, 100.0]).numpy()
    array([  0., 100.], dtype=float32)
    """
    x = as_tensor(features)
    if not x.dtype.is_floating:
        raise ValueError(f"`features.dtype` must be a floating point tensor.Received:features.dtype={x.dtype!s}")
    if not approximate:
        return multiply(multiply(x, 0.5), erfc(multiply(negative(x), 0.7071067811865476)), name)  # square root of 1 / 2
    inner = multiply(add(x, multiply(pow(x, 3.0), 0.044715)), 0.7978845608028654)  # square root of 2 / pi
    return multiply(multiply(x, 0.5), add(tanh(inner), 1.0), name)


@op("T -> T", T=FLOATS, infer=spec_of_first)
def Softplus(xp: Any, features: Any) -> Any:
    return xp.maximum(features, 0) + xp.log1p(xp.exp(-xp.absolute(features)))


@Softplus.express
def softplus(features: TensorLike, name: str | None = None) -> Tensor:
    """Returns `log(1 + exp(features))`, a smooth version of relu.

    >>> tf.nn.softplus([-1000.0, 1000.0]).numpy()
    array([   0., 1000.], dtype=float32)
    """
    return Softplus(features, name=name)


@Softplus.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [grad * sigmoid(call.inputs[0])]


def log_sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the logarithm of `sigmoid(x)`, without overflow.

    >>> tf.math.log_sigmoid([-100.0, 0.0]).numpy().tolist()
    [-100.0, -0.6931471824645996]
    """
    return negative(softplus(negative(as_tensor(x))), name)


@op("T -> T", T=FLOATS, infer=spec_of_first)
def Softsign(xp: Any, features: Any) -> Any:
    return features / (xp.absolute(features) + 1)


@Softsign.express
def softsign(features: TensorLike, name: str | None = None) -> Tensor:
    """Returns `features / (1 + abs(features))`, which lies between -1 and 1.

    >>> tf.nn.softsign([-1.0, 0.0, 3.0]).numpy()
    array([-0.5 ,  0.  ,  0.75], dtype=float32)
    """
    return Softsign(features, name=name)


@Softsign.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [divide(grad, square(add(abs(call.inputs[0]), 1)))]


def silu(features: TensorLike, beta: TensorLike = 1.0) -> Tensor:
    """Returns `features * sigmoid(beta * features)`; also called swish.

    Args:
      features: floats.
      beta: the steepness; 1.0 by default.

    Raises:
      InvalidArgumentError: if `features` are not floats.

    Source: Ramachandran, Zoph, Le, arXiv:1710.05941.

    >>> tf.nn.silu([0.0, 100.0]).numpy()
    array([  0., 100.], dtype=float32)
    """
    x = as_tensor(features)
    slope = as_tensor(beta, x.dtype)
    share = sigmoid(multiply(slope, x))
    result = multiply(x, share)
    return IdentityN(stop_gradient(result), x, slope) if x.dtype.is_complex else result


@op("T T T -> T", T=COMPLEXES, shares_memory=True, infer=spec_of_first)
def IdentityN(xp: Any, result: Any, features: Any, beta: Any) -> Any:
    return result


@IdentityN.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    # TensorFlow attaches its gradient of `silu` to this op. It does not conjugate the derivative.
    _, x, slope = call.inputs
    share = sigmoid(multiply(slope, x))
    complement = subtract(1, share)
    towards_x = multiply(grad, multiply(share, add(multiply(multiply(slope, x), complement), 1)))
    towards_slope = reduce_sum(multiply(grad, multiply(square(x), multiply(share, complement))))
    return [None, towards_x, towards_slope]
