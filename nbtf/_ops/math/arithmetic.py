"""Elementwise arithmetic: sums, products, and conversion between dtypes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nbtf._devices.base import Buffer, Spec
from nbtf._ops.attributes import passed_on
from nbtf._ops.op import Gradients, no_gradient, op, ufunc
from nbtf._ops.reductions.sums import unbroadcast_array, unbroadcast_both
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
    OF_ML_DTYPES,
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
"""Dtypes of signed real numbers."""

AddV2 = ufunc("AddV2", "add", "T T -> T", T=NUMBERS, node_name="Add")


@AddV2.express
def add(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the elementwise sum of two tensors; strings are concatenated.

    Args:
      x: a tensor of numbers or strings.
      y: a tensor of the same dtype, with a shape that broadcasts with `x`'s.

    Returns:
      `x + y`, with the inputs' dtype. Integers wrap around on overflow.

    >>> tf.add([1.0, 2.0], 1.0).numpy()
    array([2., 3.], dtype=float32)
    >>> tf.add("a", ["b", "c"]).numpy()
    array([b'ab', b'ac'], dtype=object)
    """
    first: Any = x if x.__class__ is Tensor else as_tensor(x)
    second = y if y.__class__ is Tensor else preferring(y, first._dtype)
    return (Add if first._dtype is string else AddV2)(first, second, name=name)


def preferring(value: Any, dtype: DType) -> Tensor:
    """Returns a value as a tensor of the given dtype, or of its own if the value does not fit."""
    if value.__class__ is not float and value.__class__ is not int and isinstance(value, Tensor):
        return value
    try:
        return as_tensor(value, dtype)
    except (TypeError, ValueError):
        return as_tensor(value)


@AddV2.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return unbroadcast_both(call, lambda: grad, lambda: grad)


def _to_first(xp: Any, grad: Any, x: Any, y: Any, attrs: object) -> Any:
    return unbroadcast_array(xp, grad, x)


def _to_second(xp: Any, grad: Any, x: Any, y: Any, attrs: object) -> Any:
    return unbroadcast_array(xp, grad, y)


AddV2.backward(_to_first, _to_second)


@op("T T -> T", T=frozenset({string}), cpu_only=True, broadcasts=True)
def Add(xp: Any, x: Any, y: Any) -> Any:
    return xp.asarray(xp.add(x, y), object)  # two scalars add up to Python bytes


no_gradient(Add)

Sub = ufunc("Sub", "subtract", "T T -> T", T=NUMBERS)


@Sub.express
def subtract(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the elementwise difference of two tensors.

    Returns:
      `x - y`, with the inputs' dtype. Integers wrap around on overflow.

    >>> tf.subtract([3, 2], [1, 5]).numpy()
    array([ 2, -3], dtype=int32)
    """
    return Sub(x, y, name=name)


@Sub.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return unbroadcast_both(call, lambda: grad, lambda: negative(grad))


def _to_subtrahend(xp: Any, grad: Any, x: Any, y: Any, attrs: object) -> Any:
    return unbroadcast_array(xp, xp.negative(grad), y)


Sub.backward(_to_first, _to_subtrahend)


Mul = ufunc("Mul", "multiply", "T T -> T", T=NUMBERS)


@Mul.express
def multiply(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the elementwise product of two tensors.

    Returns:
      `x * y`, with the inputs' dtype. Integers wrap around on overflow.

    >>> tf.multiply([[1.0], [2.0]], [3.0, 4.0]).numpy()
    array([[3., 4.],
           [6., 8.]], dtype=float32)
    """
    return Mul(x, y, name=name)


@Mul.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    x, y = call.inputs
    return unbroadcast_both(call, lambda: multiply(grad, conj(y)), lambda: multiply(conj(x), grad))


def _to_multiplicand(xp: Any, grad: Any, x: Any, y: Any, attrs: object) -> Any:
    return unbroadcast_array(xp, xp.multiply(grad, y), x)


def _to_multiplier(xp: Any, grad: Any, x: Any, y: Any, attrs: object) -> Any:
    return unbroadcast_array(xp, xp.multiply(x, grad), y)


Mul.backward(_to_multiplicand, _to_multiplier)


def scalar_mul(scalar: TensorLike, x: Tensor, name: str | None = None) -> Tensor:
    """Returns a tensor multiplied by a number.

    Args:
      scalar: a number or a scalar tensor.
      x: a tensor.

    Raises:
      ValueError: if `scalar` is not a scalar.
      TypeError: if `scalar` does not fit `x`'s dtype.

    >>> tf.scalar_mul(3, tf.constant([1.0, 2.0])).numpy()
    array([3., 6.], dtype=float32)
    """
    factor = as_tensor(scalar, as_dtype(check_has(x, "dtype", "x", "a tensor").dtype))
    if factor.shape.rank != 0:
        raise ValueError(f"The input scalar must be a 0-D value. Received shape {factor.shape}.")
    return multiply(factor, x, name)


Conj = ufunc("Conj", "conjugate", "T -> T", T=COMPLEXES)


def conj(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns complex conjugates, with the sign of the imaginary parts reversed.

    Args:
      x: a numeric tensor.

    Returns:
      A tensor of `x`'s dtype; `x` itself for real numbers.

    Raises:
      TypeError: if `x` is not numeric.

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
    """Returns a tensor with the sign of each element reversed.

    Args:
      x: a tensor of signed or complex numbers.

    Returns:
      `-x`, with `x`'s dtype.

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
        raise TypeError("strings are not numbers")
    if x.dtype.kind == "c" and (dtype in REALS | OF_ML_DTYPES):
        x = x.real  # prevents NumPy's warning that the imaginary part is lost
    return x.astype(dtype.np_dtype)


def cast(x: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Returns a tensor with its elements converted to another dtype.

    Fractions are truncated towards 0. Integers that do not fit wrap around. Numbers other than 0 become True. Complex
    numbers keep only their real part.

    Args:
      x: a tensor of numbers or bools; it may be ragged or sparse.
      dtype: the new dtype, or its name.

    Returns:
      A tensor of that dtype. If `x` already has it, `x` itself, and no op runs.

    Raises:
      TypeError: if `dtype` is not a dtype.
      UnimplementedError: if one of the dtypes is string; use `tf.strings.as_string` or `tf.strings.to_number`.

    >>> tf.cast([1.8, -1.8], tf.int32).numpy()
    array([ 1, -1], dtype=int32)
    """
    target = as_dtype(dtype)
    convert = getattr(x, "_with_converted", None)
    if convert is not None:  # ragged and sparse tensors, and slices of rows, keep their positions
        return convert(target, cast)
    tensor: Any = x if isinstance(x, Buffer) else as_tensor(x)
    # A variable that has the dtype is also returned unchanged, as in TensorFlow.
    return tensor if tensor._dtype is target else converted(tensor, target, name)


@Cast.express
def converted(x: Any, dtype: DType, name: str | None = None) -> Tensor:
    """Returns a tensor with its elements converted to another dtype."""
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
    """Returns the sum of a list of tensors.

    Args:
      inputs: tensors of the same dtype and shape, which are not broadcast.

    Returns:
      Their sum; for a single tensor, the tensor itself.

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
