"""Arithmetic element by element: sums and products, and conversion between dtypes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nbtf._devices.base import Buffer, Spec
from nbtf._ops.attributes import passed_on
from nbtf._ops.op import Gradients, no_gradient, op, ufunc
from nbtf._ops.reductions.sums import unbroadcast, unbroadcast_array
from nbtf._ops.specs import bracketed, may_be_equal, merged_shape, unequal_list
from nbtf._runtime.arguments import check_has
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import (
    ALL,
    COMPLEXES,
    FLOATS,
    NUMBERS,
    REALS,
    DType,
    DTypeLike,
    TensorLike,
    as_dtype,
    bfloat16,
    int8,
    int16,
    int32,
    int64,
    string,
)
from nbtf.errors import InvalidArgumentError, UnimplementedError

SIGNED = FLOATS | {int8, int16, int32, int64}
"""Real numbers that have a sign."""

AddV2 = ufunc("AddV2", "add", "T T -> T", T=NUMBERS, node_name="Add")


@AddV2.express
def add(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Adds two tensors, element by element; joins texts.

    Args:
      x: numbers or strings.
      y: the same dtype, of a shape that broadcasts with `x`'s.

    Returns:
      `x + y`, of their dtype. Integers wrap when they overflow.

    >>> tf.add([1.0, 2.0], 1.0).numpy()
    array([2., 3.], dtype=float32)
    >>> tf.add("a", ["b", "c"]).numpy()
    array([b'ab', b'ac'], dtype=object)
    """
    x = as_tensor(x)
    return (Add if x._dtype is string else AddV2)(x, preferring(y, x._dtype), name=name)


def preferring(value: Any, dtype: DType) -> Tensor:
    """Returns a value as a tensor of a dtype, or of its own where it does not suit."""
    try:
        return value if isinstance(value, Tensor) else as_tensor(value, dtype)
    except (TypeError, ValueError):
        return as_tensor(value)


@AddV2.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    x, y = call.inputs
    return [
        unbroadcast(grad, x) if call.needs(0) else None,
        unbroadcast(grad, y) if call.needs(1) else None,
    ]


def _to_first(xp: Any, grad: Any, x: Any, y: Any, attrs: object) -> Any:
    return unbroadcast_array(xp, grad, x)


def _to_second(xp: Any, grad: Any, x: Any, y: Any, attrs: object) -> Any:
    return unbroadcast_array(xp, grad, y)


AddV2.backward(_to_first, _to_second)


@op("T T -> T", T=frozenset({string}), cpu_only=True, broadcasts=True)
def Add(xp: Any, x: Any, y: Any) -> Any:
    return xp.asarray(xp.add(x, y), object)  # the sum of two scalars is Python's bytes


no_gradient(Add)

Sub = ufunc("Sub", "subtract", "T T -> T", T=NUMBERS)


@Sub.express
def subtract(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Subtracts one tensor from another, element by element.

    Returns:
      `x - y`, of their dtype. Integers wrap when they overflow.

    >>> tf.subtract([3, 2], [1, 5]).numpy()
    array([ 2, -3], dtype=int32)
    """
    return Sub(x, y, name=name)


@Sub.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    x, y = call.inputs
    return [
        unbroadcast(grad, x) if call.needs(0) else None,
        unbroadcast(negative(grad), y) if call.needs(1) else None,
    ]


def _to_subtrahend(xp: Any, grad: Any, x: Any, y: Any, attrs: object) -> Any:
    return unbroadcast_array(xp, xp.negative(grad), y)


Sub.backward(_to_first, _to_subtrahend)


Mul = ufunc("Mul", "multiply", "T T -> T", T=NUMBERS)


@Mul.express
def multiply(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Multiplies two tensors, element by element.

    Returns:
      `x * y`, of their dtype. Integers wrap when they overflow.

    >>> tf.multiply([[1.0], [2.0]], [3.0, 4.0]).numpy()
    array([[3., 4.],
           [6., 8.]], dtype=float32)
    """
    return Mul(x, y, name=name)


@Mul.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    x, y = call.inputs
    return [
        unbroadcast(multiply(grad, conj(y)), x) if call.needs(0) else None,
        unbroadcast(multiply(conj(x), grad), y) if call.needs(1) else None,
    ]


def _to_multiplicand(xp: Any, grad: Any, x: Any, y: Any, attrs: object) -> Any:
    return unbroadcast_array(xp, xp.multiply(grad, y), x)


def _to_multiplier(xp: Any, grad: Any, x: Any, y: Any, attrs: object) -> Any:
    return unbroadcast_array(xp, xp.multiply(x, grad), y)


Mul.backward(_to_multiplicand, _to_multiplier)


def scalar_mul(scalar: TensorLike, x: Tensor, name: str | None = None) -> Tensor:
    """Multiplies a tensor by one number.

    Args:
      scalar: a number, or a tensor of rank 0.
      x: a tensor.

    Raises:
      ValueError: if `scalar` has axes.
      TypeError: if `scalar` does not suit `x`'s dtype.

    >>> tf.scalar_mul(3, tf.constant([1.0, 2.0])).numpy()
    array([3., 6.], dtype=float32)
    """
    factor = as_tensor(scalar, as_dtype(check_has(x, "dtype", "x", "a tensor").dtype))
    if factor.shape.rank != 0:
        raise ValueError(f"The input scalar must be a 0-D value. Received shape {factor.shape}.")
    return multiply(factor, x, name)


Conj = ufunc("Conj", "conjugate", "T -> T", T=COMPLEXES)


def conj(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns complex conjugates: the imaginary parts change their sign.

    Args:
      x: numbers.

    Returns:
      A tensor of `x`'s dtype; for real numbers `x` itself.

    Raises:
      TypeError: if `x` holds no numbers.

    >>> tf.math.conj([1 + 2j]).numpy()
    array([1.-2.j])
    """
    tensor = as_tensor(x)
    if tensor._dtype in REALS or tensor._dtype is bfloat16:
        return tensor
    if tensor._dtype in COMPLEXES:
        return Conj(tensor, name=name)
    raise TypeError(f"Expected numeric or variant tensor, got dtype {tensor._dtype!r}.")


@Conj.gradient_keeping()
def _(call: Call, grad: Tensor) -> Gradients:
    return [conj(grad)]


Neg = ufunc("Neg", "negative", "T -> T", T=SIGNED | COMPLEXES)


@Neg.express
def negative(x: TensorLike, name: str | None = None) -> Tensor:
    """Changes the sign of every element.

    Args:
      x: numbers that have one: not the unsigned integers.

    Returns:
      `-x`, of its dtype.

    >>> tf.negative([1, -2]).numpy()
    array([-1,  2], dtype=int32)
    """
    return Neg(x, name=name)


@Neg.gradient_keeping()
def _(call: Call, grad: Tensor) -> Gradients:
    return [negative(grad)]


@Neg.backward
def _(xp: Any, grad: Any, stored: None, attrs: object) -> Any:
    return xp.negative(grad)


@op(
    "T -> dtype",
    T=ALL,
    plain={"dtype": as_dtype},
    fields={"T": "SrcT", "dtype": "DstT", "Truncate": False},
    static=passed_on,
)
def Cast(xp: Any, x: Any, dtype: DType) -> Any:
    if x.dtype.kind == "O" or dtype is string:
        raise TypeError("texts are no numbers")
    if x.dtype.kind == "c" and (dtype in REALS or dtype is bfloat16):
        x = x.real  # NumPy would warn that the imaginary part is lost
    return x.astype(dtype.np_dtype)


def cast(x: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Converts the elements of a tensor to another dtype.

    Fractions are cut off towards 0; integers wrap when they do not fit; numbers are True where they are not 0; of
    complex numbers only the real part is taken.

    Args:
      x: numbers or bools.
      dtype: what the elements become: a dtype or its name.

    Returns:
      A tensor of that dtype; `x` itself if it has it already, and then no op runs.

    Raises:
      TypeError: if `dtype` stands for no dtype.
      UnimplementedError: if from or to strings; see `tf.strings.as_string` and `tf.strings.to_number`.

    >>> tf.cast([1.8, -1.8], tf.int32).numpy()
    array([ 1, -1], dtype=int32)
    """
    target = as_dtype(dtype)
    tensor: Any = x if isinstance(x, Buffer) else as_tensor(x)
    # A variable that has the dtype comes back as well, as in TensorFlow.
    return tensor if tensor._dtype is target else converted(tensor, target, name)


@Cast.express
def converted(x: Any, dtype: DType, name: str | None = None) -> Tensor:
    """Returns a tensor whose elements have been converted to another dtype."""
    return Cast(x, dtype=dtype, name=name)


@Cast.infer
def _(x: Spec, dtype: DType) -> Spec:
    if string in (x.dtype, dtype):
        raise UnimplementedError(f"Cast {x.dtype.c_name} to {dtype.c_name} is not supported")
    return Spec(x.shape, dtype)


@Cast.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    source = call.inputs[0]._dtype
    continuous = FLOATS | COMPLEXES | {bfloat16}
    return [cast(grad, source) if source in continuous and grad._dtype in continuous else None]


@op("T* -> T", T=NUMBERS, misfit=unequal_list)
def AddN(xp: Any, inputs: list[Any]) -> Any:
    total = inputs[0]
    for term in inputs[1:]:
        if term.shape != total.shape:
            raise ValueError("shapes differ")
        total = xp.add(total, term)
    return total


def add_n(inputs: Iterable[Any], name: str | None = None) -> Tensor:
    """Adds the tensors of a list.

    Args:
      inputs: tensors of one dtype and one shape; they do not broadcast.

    Returns:
      Their sum; of a single tensor, itself.

    Raises:
      ValueError: if the list is empty.

    >>> tf.add_n([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]).numpy()
    array([ 9., 12.], dtype=float32)
    """
    items = list(inputs)
    if not items or any(item is None for item in items):
        text = "Inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype and shape."
        raise ValueError(text)
    tensors = [as_tensor(item) for item in items]
    return tensors[0] if len(tensors) == 1 else AddN(tensors, name=name)


@AddN.infer
def _(inputs: list[Spec]) -> Spec:
    first = inputs[0]
    for number, summand in enumerate(inputs):
        if not may_be_equal(summand.shape, first.shape):
            text = "Inputs to operation AddN of type AddN must have the same size and shape.  "
            text += f"Input 0: {bracketed(first.shape)} != input {number}: {bracketed(summand.shape)}"
            raise InvalidArgumentError(text)
    return Spec(merged_shape([spec.shape for spec in inputs]), first.dtype)


@AddN.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    shares: Any = [grad] * len(call.inputs[0])
    return [shares]
