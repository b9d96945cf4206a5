"""`sparse * dense` and `sparse / dense`: the stored elements of a sparse tensor, multiplied or divided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.broadcasting import broadcast_to
from nbtf._ops.arrays.coordinates import gather_nd, scatter_nd
from nbtf._ops.arrays.shapes import reshape
from nbtf._ops.attributes import as_ints
from nbtf._ops.math.arithmetic import cast, multiply, negative
from nbtf._ops.math.division import divide, floordiv
from nbtf._ops.math.magnitude import square
from nbtf._ops.op import Gradients, op
from nbtf._ops.specs import Dims, bracketed
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import NUMBERS, float32, float64, int64
from nbtf.errors import InvalidArgumentError


def _stored_elements(sp_indices: Any, sp_values: Any, dense: Any, **attrs: Any) -> Dims:
    return sp_values.shape


_ATTRS: Any = {
    "host": {"sp_shape": as_ints},
    "asked": {"sp_shape": int64},
    "cpu_only": True,
    "partly": _stored_elements,
}


def _check(sparse: Sequence[int | None], dense: Sequence[int | None]) -> None:
    pairs = zip(reversed(sparse), reversed(dense), strict=False)
    if len(dense) > len(sparse) or any([n not in (1, m, None) and m is not None for m, n in pairs]):
        text = "SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: "
        raise InvalidArgumentError(f"{text}{bracketed(sparse)} vs. {bracketed(dense)}")


def _at_indices(xp: Any, sp_indices: Any, dense: Any, sp_shape: Any) -> Any:
    _check(sp_shape, dense.shape)
    return xp.broadcast_to(dense, sp_shape)[tuple(sp_indices.T)]


def _spec(sp_indices: Spec, sp_values: Spec, dense: Spec, sp_shape: Any) -> Spec:
    _check(sp_shape, dense.shape)
    return sp_values


@op("int64 T T -> T", T=NUMBERS, infer=_spec, **_ATTRS)
def SparseDenseCwiseMul(xp: Any, sp_indices: Any, sp_values: Any, dense: Any, sp_shape: Any) -> Any:
    return sp_values * _at_indices(xp, sp_indices, dense, sp_shape)


@op("int64 T T -> T", T=NUMBERS, infer=_spec, **_ATTRS)
def SparseDenseCwiseDiv(xp: Any, sp_indices: Any, sp_values: Any, dense: Any, sp_shape: Any) -> Any:
    divisor = _at_indices(xp, sp_indices, dense, sp_shape)
    if not dense.all():
        text = "SparseDenseCwiseDiv cannot divide by zero, but input dense tensor contains zero"
        raise InvalidArgumentError(text)
    if divisor.dtype.kind not in "iu":
        return sp_values / divisor
    quotient = xp.abs(sp_values) // xp.abs(divisor)
    return (xp.sign(sp_values) * xp.sign(divisor) * quotient).astype(sp_values.dtype)


@SparseDenseCwiseMul.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    _, values, _ = call.inputs
    to_values = multiply(grad, _gathered(call)) if call.needs(1) else None
    return [None, to_values, _to_dense(call, multiply(grad, values)) if call.needs(2) else None]


@SparseDenseCwiseDiv.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    _, values, _ = call.inputs
    divisor = _gathered(call)
    to_values = divide(grad, divisor) if call.needs(1) else None
    slope = negative(divide(values, square(divisor)))
    return [None, to_values, _to_dense(call, multiply(grad, slope)) if call.needs(2) else None]


def _gathered(call: Call) -> Tensor:
    """Returns the element of the dense operand that belongs to each stored element."""
    return gather_nd(broadcast_to(call.inputs[2], call.attrs["sp_shape"]), call.inputs[0])


def _to_dense(call: Call, grads: Tensor) -> Tensor:
    """Returns the sums of gradients that belong to the same element of the dense operand."""
    indices, _, dense = call.inputs
    shape, lengths = call.attrs["sp_shape"], dense.shape.as_list()
    padded = [1] * (len(shape) - len(lengths)) + lengths
    divisors = [max(length // max(dense_length, 1), 1) for length, dense_length in zip(shape, padded, strict=True)]
    positions = floordiv(indices, as_tensor(divisors, int64))
    return reshape(scatter_nd(positions, grads, padded), lengths)


def multiplied(indices: Tensor, values: Tensor, shape: Tensor, dense: Any) -> Tensor:
    """Returns the stored elements of `sparse * dense`."""
    return SparseDenseCwiseMul(indices, values, as_tensor(dense, values.dtype), sp_shape=shape)


def divided(indices: Tensor, values: Tensor, shape: Tensor, dense: Any) -> Tensor:
    """Returns the stored elements of `sparse / dense`; as in `tf.truediv`, integers become floats first."""
    divisor = as_tensor(dense, values.dtype)
    if values.dtype.is_integer:
        target = float32 if values.dtype.size <= 2 else float64
        values, divisor = cast(values, target), cast(divisor, target)
    return SparseDenseCwiseDiv(indices, values, divisor, sp_shape=shape)
