"""Matrices: products and, later in the file, decompositions and solutions."""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.op import Gradients, bracketed, broadcast_shapes, op
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import NUMBERS, TensorLike, float16, int32
from nbtf.errors import InvalidArgumentError


@op("T T -> T", T=NUMBERS, cpu_only=frozenset({int32}))
def MatMul(xp: Any, a: Any, b: Any, transpose_a: bool, transpose_b: bool) -> Any:
    if a.ndim == b.ndim == 2:  # `dot` costs a third of `matmul` on small matrices
        return (a.T if transpose_a else a).dot(b.T if transpose_b else b)
    if a.ndim < 2 or b.ndim < 2:
        raise ValueError("matrices have at least two axes")
    a = xp.swapaxes(a, -1, -2) if transpose_a else a
    b = xp.swapaxes(b, -1, -2) if transpose_b else b
    return xp.matmul(a, b)


@MatMul.express
def matmul(
    a: TensorLike, b: TensorLike, transpose_a: bool = False, transpose_b: bool = False, name: str | None = None
) -> Tensor:
    """Multiplies matrix `a` by matrix `b`."""
    return MatMul(a, b, transpose_a=transpose_a, transpose_b=transpose_b, name=name)


@MatMul.infer
def _(a: Spec, b: Spec, transpose_a: bool, transpose_b: bool) -> Spec:
    m, k = a.shape[-2:] if not transpose_a else a.shape[:-3:-1]
    l, n = b.shape[-2:] if not transpose_b else b.shape[:-3:-1]
    if k != l and None not in (k, l):
        raise InvalidArgumentError(
            None, None, f"Matrix size-incompatible: In[0]: {bracketed(a.shape)}, In[1]: {bracketed(b.shape)}"
        )
    return Spec((*broadcast_shapes(a.shape[:-2], b.shape[:-2]), m, n), a.dtype)
