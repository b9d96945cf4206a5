"""Products of matrices and vectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.shapes import expand_dims, squeeze, transpose
from nbtf._ops.math.arithmetic import cast, conj
from nbtf._ops.op import Gradients, op
from nbtf._ops.reductions.sums import unbroadcast
from nbtf._ops.specs import (
    Lengths,
    bracketed,
    broadcast_shapes,
    may_be_equal,
    merged_shape,
    of_rank,
    unequal_lengths,
    unequal_operands,
)
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import COMPLEXES, FLOATS, REALS, DTypeLike, TensorLike, int32, int64
from nbtf.errors import FailedPreconditionError, InvalidArgumentError

MULTIPLIED = FLOATS | COMPLEXES | {int32, int64}
"""The dtypes for which TensorFlow has a matrix product."""


def _misfit_of_matrices(a: Lengths, b: Lengths, transpose_a: bool, transpose_b: bool) -> str:
    for lengths in (a, b):
        if len(lengths) != 2:
            return f"Shape must be rank 2 but is rank {len(lengths)}"
    return unequal_lengths(a[0 if transpose_a else 1], b[1 if transpose_b else 0])


@op(
    "T T -> T",
    T=MULTIPLIED,
    cpu_only=frozenset({int32, int64}),
    partly=of_rank(2),
    misfit=_misfit_of_matrices,
    definition="a:T, b:T -> product:T; attr=transpose_a:bool,default=false; attr=transpose_b:bool,default=false; "
    "attr=T:type,allowed=[DT_BFLOAT16, DT_HALF, DT_FLOAT, DT_DOUBLE, DT_INT32, DT_INT64, DT_UINT8, DT_UINT16, "
    "DT_UINT32, DT_UINT64, DT_COMPLEX64, DT_COMPLEX128]; attr=grad_a:bool,default=false; "
    "attr=grad_b:bool,default=false",
)
def MatMul(xp: Any, a: Any, b: Any, transpose_a: bool, transpose_b: bool) -> Any:
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError("batches need BatchMatMulV2")
    # `dot` is 3 times as fast as `matmul` on small matrices.
    return (a.T if transpose_a else a).dot(b.T if transpose_b else b)


@MatMul.express
def matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: DTypeLike | None = None,
    grad_a: bool = False,
    grad_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the matrix product of `a` and `b`.

    Args:
      a: floats, complex numbers, int32 or int64, shape `[..., rows, inner]`.
      b: a tensor of the same dtype, shape `[..., inner, columns]`. The batch axes broadcast with those of `a`.
      transpose_a: whether to swap the last two axes of `a` first; False by default.
      transpose_b: the same for `b`.
      adjoint_a: whether to conjugate and transpose `a` first; False by default.
      adjoint_b: the same for `b`.
      a_is_sparse, b_is_sparse, grad_a, grad_b: accepted and ignored.
      output_type: the dtype to which both are cast first; none by default.

    Returns:
      The product, shape `[..., rows, columns]`. Integer products are computed on the CPU: GPUs have no kernel for them.

    Raises:
      ValueError: if a matrix is both transposed and adjoint.

    >>> tf.matmul([[1.0, 2.0]], [[3.0], [4.0]]).numpy()
    array([[11.]], dtype=float32)
    """
    if (transpose_a and adjoint_a) or (transpose_b and adjoint_b):
        letter, *both = ("a", transpose_a, adjoint_a) if transpose_a and adjoint_a else ("b", transpose_b, adjoint_b)
        raise ValueError(
            f"Only one of `transpose_{letter}` and `adjoint_{letter}` can be True. "
            f"Received `transpose_{letter}`={both[0]}, `adjoint_{letter}`={both[1]}."
        )
    if output_type is not None:
        a, b = cast(a, output_type), cast(b, output_type)
    x, y = (a, b) if a.__class__ is b.__class__ is Tensor else MatMul.convert((a, b))
    swap_x, swap_y = transpose_a or adjoint_a, transpose_b or adjoint_b
    if _may_be_batch(x) or _may_be_batch(y):
        # This op supports only adjoints, so for a plain transpose the input is conjugated first.
        x, y = conj(x) if transpose_a else x, conj(y) if transpose_b else y
        return BatchMatMulV2(x, y, adj_x=swap_x, adj_y=swap_y, name=name)
    x, y = conj(x) if adjoint_a else x, conj(y) if adjoint_b else y
    return MatMul(x, y, transpose_a=swap_x, transpose_b=swap_y, name=name)


def _may_be_batch(tensor: Any) -> bool:
    """Returns whether a tensor has more than two axes; an unknown rank in a graph may be larger."""
    rank = tensor._array.ndim if tensor.__class__ is Tensor else tensor.shape.rank
    return rank is None or rank > 2


@MatMul.express
def product(a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool, name: str | None = None) -> Tensor:
    """Returns a matrix product without the checks of `matmul`; used by gradients, which need most of the products."""
    return MatMul(a, b, transpose_a=transpose_a, transpose_b=transpose_b, name=name)


@MatMul.infer
def _(a: Spec, b: Spec, transpose_a: bool, transpose_b: bool) -> Spec:
    if len(a.shape) != len(b.shape):
        text = f"In[0] and In[1] has different ndims: {bracketed(a.shape)} vs. {bracketed(b.shape)}"
        raise InvalidArgumentError(text)
    if len(a.shape) != 2:
        raise InvalidArgumentError(f"In[0] and In[1] ndims must be == 2: {len(a.shape)}")
    return Spec(_product_shape(a, b, transpose_a, transpose_b), a.dtype)


def _product_shape(a: Spec, b: Spec, transpose_a: bool, transpose_b: bool) -> tuple[int | None, int | None]:
    rows, inner = a.shape[-2:] if not transpose_a else a.shape[:-3:-1]
    also_inner, columns = b.shape[-2:] if not transpose_b else b.shape[:-3:-1]
    if inner != also_inner and None not in (inner, also_inner):
        text = f"Matrix size-incompatible: In[0]: {bracketed(a.shape)}, In[1]: {bracketed(b.shape)}"
        raise InvalidArgumentError(text)
    return rows, columns


@MatMul.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    a, b = call.inputs
    if a._dtype in COMPLEXES:
        a, b = conj(a), conj(b)
    attrs = call.attrs
    swapped_a, swapped_b = attrs["transpose_a"], attrs["transpose_b"]
    to_a, to_b = call.wanted or (True, True)
    for_a = for_b = None
    if to_a:
        for_a = product(b, grad, swapped_b, True) if swapped_a else product(grad, b, False, not swapped_b)
    if to_b:
        for_b = product(grad, a, True, swapped_a) if swapped_b else product(a, grad, not swapped_a, False)
    return [for_a, for_b]


def _towards_a(xp: Any, grad: Any, a: Any, b: Any, attrs: Mapping[str, Any]) -> Any:
    if attrs["transpose_a"] or grad.ndim != 2:
        return MatMul.kernel(xp, b, grad, attrs["transpose_b"], True)
    return grad.dot(b if attrs["transpose_b"] else b.T)


def _towards_b(xp: Any, grad: Any, a: Any, b: Any, attrs: Mapping[str, Any]) -> Any:
    if attrs["transpose_b"] or grad.ndim != 2:
        return MatMul.kernel(xp, grad, a, True, attrs["transpose_a"])
    return (a if attrs["transpose_a"] else a.T).dot(grad)


MatMul.backward(_towards_a, _towards_b)


def _misfit_of_batches(x: Lengths, y: Lengths, adj_x: bool, adj_y: bool) -> str | None:
    for lengths in (x, y):
        if len(lengths) < 2:
            return f"Shape must be at least rank 2 but is rank {len(lengths)}"
    a, b = x[-2 if adj_x else -1], y[-1 if adj_y else -2]
    return unequal_lengths(a, b) if None not in (a, b) and a != b else unequal_operands(x[:-2], y[:-2])


@op(
    "T T -> T",
    T=MULTIPLIED,
    cpu_only=frozenset({int32, int64}),
    node_name="MatMul",
    misfit=_misfit_of_batches,
)
def BatchMatMulV2(xp: Any, x: Any, y: Any, adj_x: bool, adj_y: bool) -> Any:
    if x.ndim < 2 or y.ndim < 2:
        raise ValueError("matrices must have at least two axes")
    return xp.matmul(_adjoint(x) if adj_x else x, _adjoint(y) if adj_y else y)


def _adjoint(array: Any) -> Any:
    return array.swapaxes(-1, -2).conj() if array.dtype.kind == "c" else array.swapaxes(-1, -2)


@BatchMatMulV2.infer
def _(x: Spec, y: Spec, adj_x: bool, adj_y: bool) -> Spec:
    for number, matrix in enumerate((x, y)):
        if len(matrix.shape) < 2:
            raise InvalidArgumentError(f"In[{number}] ndims must be >= 2: {len(matrix.shape)}")
    try:
        batch = broadcast_shapes(x.shape[:-2], y.shape[:-2])
    except InvalidArgumentError:
        text = f"In[0] and In[1] must have compatible batch dimensions: {bracketed(x.shape)} vs. {bracketed(y.shape)}"
        raise InvalidArgumentError(text) from None
    return Spec((*batch, *_product_shape(x, y, adj_x, adj_y)), x.dtype)


@BatchMatMulV2.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    x, y = call.inputs
    adj_x, adj_y = call.attrs["adj_x"], call.attrs["adj_y"]
    for_x = for_y = None
    if call.needs(0):
        for_x = _adjoint_product(y, grad, adj_y, True) if adj_x else _adjoint_product(grad, y, False, not adj_y)
        for_x = unbroadcast(for_x, x)
    if call.needs(1):
        for_y = _adjoint_product(grad, x, True, adj_x) if adj_y else _adjoint_product(x, grad, not adj_x, False)
        for_y = unbroadcast(for_y, y)
    return [for_x, for_y]


def _adjoint_product(a: Tensor, b: Tensor, adjoint_a: bool, adjoint_b: bool) -> Tensor:
    return matmul(a, b, adjoint_a=adjoint_a, adjoint_b=adjoint_b)


def matvec(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the product of matrix `a` and vector `b`.

    Args:
      a: a numeric tensor, shape `[..., rows, inner]`.
      b: a tensor of the same dtype, shape `[..., inner]`.
      transpose_a: whether to swap the last two axes of `a` first; False by default.
      adjoint_a: whether to conjugate and transpose `a` first; False by default.
      a_is_sparse, b_is_sparse: accepted and ignored.

    Returns:
      The product, shape `[..., rows]`.

    >>> tf.linalg.matvec([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]).numpy()
    array([3., 7.], dtype=float32)
    """
    matrix, vector = MatMul.convert((a, b))
    product = matmul(matrix, expand_dims(vector, -1), transpose_a, adjoint_a=adjoint_a, name=name)
    return squeeze(product, -1)


def matrix_transpose(a: TensorLike, name: str | None = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """Returns a tensor with its last two axes swapped.

    Args:
      a: a tensor of any dtype, shape `[..., rows, columns]`.
      conjugate: whether to conjugate complex numbers as well; False by default.

    Returns:
      A tensor of shape `[..., columns, rows]`.

    Raises:
      ValueError: if the tensor has fewer than two axes.

    >>> tf.linalg.matrix_transpose([[1, 2, 3]]).numpy()
    array([[1],
           [2],
           [3]], dtype=int32)
    """
    matrix = as_tensor(a)
    rank: int = matrix.shape.rank or 0
    if rank < 2:
        raise ValueError(
            f"Argument `a` should be a (batch) matrix with rank >= 2.  Received `a` = {matrix.numpy()} with shape: "
            f"{matrix.shape}"
        )
    return transpose(matrix, [*range(rank - 2), rank - 1, rank - 2], conjugate, name)


def adjoint(matrix: TensorLike, name: str | None = None) -> Tensor:
    """Returns a tensor with its last two axes swapped and its elements conjugated.

    Args:
      matrix: a numeric tensor, shape `[..., rows, columns]`.

    Returns:
      A tensor of shape `[..., columns, rows]`.

    Raises:
      ValueError: if the tensor has fewer than two axes.

    >>> tf.linalg.adjoint(tf.constant([[1 + 2j, 3j]])).numpy()
    array([[1.-2.j],
           [0.-3.j]])
    """
    return matrix_transpose(matrix, name, conjugate=True)


def cross(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """Returns cross products, which are orthogonal to both vectors.

    Args:
      a: vectors of real numbers, shape `[..., 3]`.
      b: vectors of the same shape and dtype.

    Returns:
      The products, of the same shape.

    Raises:
      FailedPreconditionError: if the vectors do not have three elements.

    >>> tf.linalg.cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]).numpy()
    array([0., 0., 1.], dtype=float32)
    """
    return Cross(a, b, name=name)


@op("T T -> T", T=REALS)
def Cross(xp: Any, a: Any, b: Any) -> Any:
    if a.shape != b.shape or not a.ndim or a.shape[-1] != 3:
        raise ValueError("expected two vectors with three elements")
    return xp.cross(a, b)


@Cross.infer
def _(a: Spec, b: Spec) -> Spec:
    if not may_be_equal(a.shape, b.shape):
        raise InvalidArgumentError(f"Both inputs must be of same shape: {bracketed(a.shape)} vs. {bracketed(b.shape)}")
    if not a.shape:
        raise InvalidArgumentError(f"Input must be at least 1D: {bracketed(a.shape)}")
    if a.shape[-1] not in (3, None):
        raise FailedPreconditionError("Cross-products are only defined for 3-element vectors.")
    return Spec(merged_shape([a.shape, b.shape]), a.dtype)


@Cross.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    a, b = call.inputs
    return [cross(b, grad), cross(grad, a)]
