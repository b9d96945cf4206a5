"""Matrix decompositions: Cholesky, QR, singular values, eigenvalues."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from nbtf._devices.base import Spec
from nbtf._devices.cuda.solvers import failing
from nbtf._ops.arrays.creation import zeros_like
from nbtf._ops.arrays.shapes import expand_dims
from nbtf._ops.arrays.shapes import shape as shape_of
from nbtf._ops.attributes import not_allowed
from nbtf._ops.linalg.diagonals import band_part, diag, diag_part, set_diag
from nbtf._ops.linalg.nonfinite import check_spectrum, fill_nan, spread_nan, zero_nonfinite
from nbtf._ops.linalg.products import adjoint, matmul
from nbtf._ops.linalg.solving import SOLVED, check_matrices, check_square, triangular_solve
from nbtf._ops.math.arithmetic import add, cast, multiply, subtract
from nbtf._ops.math.comparison import greater, where
from nbtf._ops.math.complex_numbers import real
from nbtf._ops.math.division import divide, divide_no_nan
from nbtf._ops.math.exponentials import log
from nbtf._ops.math.magnitude import square
from nbtf._ops.op import Gradients, op, unregistered
from nbtf._ops.reductions.means_and_extremes import reduce_max
from nbtf._ops.reductions.sums import reduce_sum
from nbtf._ops.specs import Dims
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import COMPLEXES, DType, DTypeLike, TensorLike, as_dtype, float32, float64, int32, int64
from nbtf.errors import InvalidArgumentError, UnimplementedError


@op("T -> T", T=SOLVED)
def Cholesky(xp: Any, input: Any) -> Any:
    if input.ndim < 2 or input.shape[-1] != input.shape[-2]:
        raise ValueError("expected square matrices")
    try:
        with failing(xp):
            return xp.linalg.cholesky(input)
    except xp.linalg.LinAlgError:  # TensorFlow returns nan for matrices that are not positive definite
        if input.ndim == 2:
            return xp.tril(xp.full(input.shape, float("nan"), input.dtype))
        factors = [Cholesky.kernel(xp, matrix) for matrix in input.reshape(-1, *input.shape[-2:])]
        return xp.stack(factors).reshape(input.shape)


def cholesky(input: TensorLike, name: str | None = None) -> Tensor:
    """Computes Cholesky factors: lower triangular matrices `L` with `L @ adjoint(L) == input`.

    Args:
      input: symmetric positive definite float32, float64 or complex matrices, shape `[..., n, n]`; only their lower
        triangle is read.

    Returns:
      The factors, of `input`'s shape; nan if a matrix is not positive definite.

    >>> tf.linalg.cholesky([[4.0, 2.0], [2.0, 2.0]]).numpy()
    array([[2., 0.],
           [1., 1.]], dtype=float32)
    """
    return Cholesky(input, name=name)


@Cholesky.infer
def _(input: Spec) -> Spec:
    check_square(input)
    return input


@Cholesky.gradient_keeping("outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    # Source: Murray, "Differentiation of the Cholesky decomposition", arXiv:1602.07527, equation 9.
    factor = call.output
    middle = matmul(factor, grad, adjoint_a=True)
    middle = band_part(set_diag(middle, multiply(diag_part(middle), 0.5)), -1, 0)
    solved = triangular_solve(factor, adjoint(middle), adjoint=True)
    product = triangular_solve(factor, adjoint(solved), adjoint=True)
    return [(product + adjoint(product)) * 0.5]


class PivotedFactors(NamedTuple):
    """Triangular matrices in one, `lu`, and the order of the rows, `p`."""

    lu: Tensor
    p: Tensor


PivotedFactors.__name__ = "Lu"  # the class name that TensorFlow prints


def _as_index(value: Any) -> DType:
    dtype = as_dtype(value)
    if dtype is not int32 and dtype is not int64:
        raise not_allowed("output_idx_type", dtype)
    return dtype


@op("T -> T output_idx_type", T=SOLVED, plain={"output_idx_type": _as_index})
def Lu(xp: Any, input: Any, output_idx_type: DType) -> Any:
    if input.ndim < 2 or input.shape[-1] != input.shape[-2]:
        raise ValueError("expected square matrices")
    *batch_lengths, size, _ = input.shape
    factors = input.reshape(math.prod(batch_lengths), size, size).copy()
    order = xp.tile(xp.arange(size, dtype=output_idx_type.np_dtype), (len(factors), 1))
    batch = xp.arange(len(factors))
    for step in range(size if len(factors) else 0):
        pivot = step + xp.absolute(factors[:, step:, step]).argmax(1)
        for rows in (factors, order):
            first, largest = rows[:, step].copy(), rows[batch, pivot]
            rows[batch, pivot], rows[:, step] = first, largest
        if (factors[:, step, step] == 0).any():
            raise InvalidArgumentError("Input is not invertible.")
        factors[:, step + 1 :, step] /= factors[:, step, step, None]
        factors[:, step + 1 :, step + 1 :] -= factors[:, step + 1 :, step, None] * factors[:, step, None, step + 1 :]
    return factors.reshape(input.shape), order.reshape(input.shape[:-1])


@Lu.infer
def _(input: Spec, output_idx_type: DType) -> list[Spec]:
    if len(input.shape) < 2:
        raise InvalidArgumentError(f"Input tensor must have rank >= 2, got {len(input.shape)}")
    check_square(input)
    return [input, Spec(input.shape[:-1], output_idx_type)]


unregistered(Lu)


def lu(input: TensorLike, output_idx_type: DTypeLike = int32, name: str | None = None) -> PivotedFactors:
    """Computes LU decompositions with exchanged rows, `lower @ upper == gather(input, p)`.

    As in TensorFlow, this op has no gradient: requesting one raises LookupError.

    Args:
      input: invertible float32, float64 or complex matrices, shape `[..., n, n]`.
      output_idx_type: the dtype of `p`, `tf.int32` (default) or `tf.int64`.

    Returns:
      A named tuple of `lu`, which has `upper` from its diagonal on and `lower` below it (without the ones on the
      diagonal of `lower`), and of `p`, the rows in their new order, shape `[..., n]`.

    Raises:
      InvalidArgumentError: if a matrix is not square or not invertible.

    >>> lu, p = tf.linalg.lu([[1.0, 2.0], [4.0, 6.0]])
    >>> lu.numpy()
    array([[4.  , 6.  ],
           [0.25, 0.5 ]], dtype=float32)
    >>> p.numpy()
    array([1, 0], dtype=int32)
    """
    return PivotedFactors(*Lu(input, output_idx_type=output_idx_type, name=name))


class Factors(NamedTuple):
    """Orthogonal matrices `q` and upper triangular matrices `r`."""

    q: Tensor
    r: Tensor


Factors.__name__ = "Qr"  # the class name that TensorFlow prints


@op("T -> T T", T=SOLVED)
def Qr(xp: Any, input: Any, full_matrices: bool) -> Any:
    q, r = xp.linalg.qr(input, "complete" if full_matrices else "reduced")
    return spread_nan(xp, q, r, full_matrices)


def qr(input: TensorLike, full_matrices: bool = False, name: str | None = None) -> Factors:
    """Computes QR decompositions, `q @ r == input`.

    Args:
      input: float32, float64 or complex numbers, shape `[..., rows, columns]`.
      full_matrices: whether to make `q` square; by default its number of columns is the smaller length.

    Returns:
      A named tuple of `q`, with orthonormal columns, and `r`, which is 0 below its diagonal.

    >>> q, r = tf.linalg.qr([[3.0, 1.0], [4.0, 2.0]])
    >>> tf.matmul(q, r).numpy().round(4)
    array([[3., 1.],
           [4., 2.]], dtype=float32)
    """
    return Factors(*Qr(input, full_matrices=full_matrices, name=name))


@Qr.infer
def _(input: Spec, full_matrices: bool) -> list[Spec]:
    check_matrices(input)
    *batch, rows, columns = input.shape
    inner = rows if full_matrices else _smaller(rows, columns)
    return [Spec((*batch, rows, inner), input.dtype), Spec((*batch, inner, columns), input.dtype)]


def _smaller(rows: int | None, columns: int | None) -> int | None:
    return None if rows is None or columns is None else min(rows, columns)


@Qr.gradient_keeping("inputs", "outputs")
def _(call: Call, grad_q: Tensor | None, grad_r: Tensor | None) -> Gradients:
    # Source: Walter, Lehmann, "Algorithmic differentiation of linear algebra functions", arXiv:1001.1654.
    q, r = call.outputs
    rows, columns = call.inputs[0].shape[-2:]
    if rows < columns or (call.attrs["full_matrices"] and rows != columns):
        raise UnimplementedError(
            "The gradient of qr requires matrices with at least as many rows as columns and full_matrices=False."
        )
    grad_q = zeros_like(q) if grad_q is None else grad_q
    grad_r = zeros_like(r) if grad_r is None else grad_r
    inside = matmul(q, grad_q, adjoint_a=True)
    skew = add(_skew(inside), _skew(matmul(r, grad_r, adjoint_b=True)))
    first = matmul(q, add(grad_r, _divided(band_part(skew, -1, 0), r)))
    return [add(first, _divided(subtract(grad_q, matmul(q, inside)), r))]


def _skew(matrix: Tensor) -> Tensor:
    return subtract(matrix, adjoint(matrix))


def _divided(matrix: Tensor, triangle: Tensor) -> Tensor:
    """Returns `matrix @ inverse(adjoint(triangle))` for an upper triangular matrix."""
    return adjoint(triangular_solve(triangle, adjoint(matrix), lower=False))


def _svd_partly(input: Any, compute_uv: bool, full_matrices: bool) -> list[Dims]:
    return [None] * (3 if compute_uv else 1)


@op("T -> T*", T=SOLVED, partly=_svd_partly)
def Svd(xp: Any, input: Any, compute_uv: bool, full_matrices: bool) -> Any:
    matrices, nonfinite = zero_nonfinite(xp, input)
    with failing(xp):
        if compute_uv:
            u, s, v = xp.linalg.svd(matrices, full_matrices)
            factors = [s.astype(input.dtype), u, v.swapaxes(-1, -2).conj()]
        else:
            factors = [xp.linalg.svd(matrices, compute_uv=False).astype(input.dtype)]
    return factors if nonfinite is None else [fill_nan(xp, factor, nonfinite) for factor in factors]


def svd(tensor: TensorLike, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None) -> Any:
    """Computes singular value decompositions, `u @ diag(s) @ adjoint(v) == tensor`.

    The order is TensorFlow's; NumPy's `svd` returns `u`, `s` and the transpose of `v`.

    Args:
      tensor: float32, float64 or complex numbers, shape `[..., rows, columns]`.
      full_matrices: whether to make `u` and `v` square; False by default.
      compute_uv: whether to return the singular vectors as well; True by default.

    Returns:
      The singular values `s` in descending order, or with `compute_uv` a tuple of `s`, `u` and `v`, whose columns are
      the singular vectors; all are nan if a matrix is not finite.

    >>> s, u, v = tf.linalg.svd([[3.0, 0.0], [0.0, 4.0]])
    >>> s.numpy()
    array([4., 3.], dtype=float32)
    """
    factors = Svd(tensor, compute_uv=compute_uv, full_matrices=full_matrices, name=name)
    values = real(factors[0])
    return (values, factors[1], factors[2]) if compute_uv else values


@Svd.infer
def _(input: Spec, compute_uv: bool, full_matrices: bool) -> list[Spec]:
    check_matrices(input)
    *batch, rows, columns = input.shape
    inner = _smaller(rows, columns)
    values = Spec((*batch, inner), input.dtype)
    if not compute_uv:
        return [values]
    shapes = [(rows, rows), (columns, columns)] if full_matrices else [(rows, inner), (columns, inner)]
    return [values, *(Spec((*batch, *shape), input.dtype) for shape in shapes)]


@Svd.gradient_keeping("inputs", "outputs")
def _(call: Call, grad_s: Tensor | None, grad_u: Tensor | None = None, grad_v: Tensor | None = None) -> Gradients:
    # Source: Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation",
    # 2008, section 3.2, and Townsend, "Differentiating the singular value decomposition", 2016, for thin factors.
    x = call.inputs[0]
    if grad_s is not None and grad_u is grad_v is None:
        thin = call.attrs["compute_uv"] and not call.attrs["full_matrices"]
        _, u, v = call.outputs if thin else svd(x)
        return [matmul(multiply(u, expand_dims(grad_s, -2)), v, adjoint_b=True)]
    rows, columns = x.shape[-2:]
    if x._dtype in COMPLEXES or (call.attrs["full_matrices"] and rows != columns):
        raise UnimplementedError("The gradient of singular vectors requires real numbers and full_matrices=False.")
    s, u, v = call.outputs
    middle = _rotations(s, u, zeros_like(u) if grad_u is None else grad_u, False)
    middle = add(middle, _rotations(s, v, zeros_like(v) if grad_v is None else grad_v, True))
    if grad_s is not None:
        middle = add(middle, diag(grad_s))
    product = matmul(matmul(u, middle), v, adjoint_b=True)
    if grad_u is not None and rows > columns:
        product = add(product, matmul(_outside(u, _over(grad_u, s)), v, adjoint_b=True))
    if grad_v is not None and columns > rows:
        product = add(product, matmul(u, _outside(v, _over(grad_v, s)), adjoint_b=True))
    return [product]


def _rotations(s: Tensor, vectors: Tensor, grad: Tensor, right: bool) -> Tensor:
    """Returns the contribution of rotating the singular vectors within their space."""
    squares = square(s)
    gaps = subtract(expand_dims(squares, -2), expand_dims(squares, -1))
    turned = _skew(matmul(vectors, grad, adjoint_a=True))
    turned = divide_no_nan(turned, set_diag(gaps, zeros_like(squares)))
    return multiply(expand_dims(s, -1), turned) if right else multiply(turned, expand_dims(s, -2))


def _over(grad: Tensor, s: Tensor) -> Tensor:
    return divide_no_nan(grad, expand_dims(s, -2))


def _outside(vectors: Tensor, matrix: Tensor) -> Tensor:
    """Returns the part of columns that is orthogonal to all vectors."""
    return subtract(matrix, matmul(vectors, matmul(vectors, matrix, adjoint_a=True)))


def _eigen_partly(input: Any, compute_v: bool) -> list[Dims]:
    return [None] * (2 if compute_v else 1)


@op("T -> T*", T=SOLVED, partly=_eigen_partly)
def SelfAdjointEigV2(xp: Any, input: Any, compute_v: bool) -> Any:
    if input.ndim < 2 or input.shape[-1] != input.shape[-2]:
        raise ValueError("expected square matrices")
    if input.shape[-1] == 1:
        return [input[..., 0], xp.ones_like(input)][: 1 + compute_v]
    triangles, nonfinite = zero_nonfinite(xp, xp.tril(input))
    if nonfinite is not None:
        check_spectrum(xp, xp.tril(input), nonfinite)
    with failing(xp):
        if compute_v:
            values, vectors = xp.linalg.eigh(triangles)
        else:
            values, vectors = xp.linalg.eigvalsh(triangles), None
    values = values.astype(input.dtype)
    if nonfinite is not None:  # the zeros used instead have the unit matrix as eigenvectors
        values = fill_nan(xp, values, nonfinite)
    return [values] if vectors is None else [values, vectors]


def eigh(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Computes eigenvalues and eigenvectors of symmetric matrices.

    Args:
      tensor: symmetric (or Hermitian) float32, float64 or complex matrices, shape `[..., n, n]`; only
        their lower triangle is read.

    Returns:
      The eigenvalues in ascending order, shape `[..., n]`, and matrices with the eigenvectors as columns.

    Raises:
      InvalidArgumentError: if the matrices are not square, or a matrix is not finite and has no eigenvalues.

    >>> values, vectors = tf.linalg.eigh([[2.0, 0.0], [0.0, 1.0]])
    >>> values.numpy()
    array([1., 2.], dtype=float32)
    """
    values, vectors = SelfAdjointEigV2(tensor, compute_v=True, name=name)
    return values, vectors


def eigvalsh(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Computes eigenvalues of symmetric matrices.

    Args:
      tensor: symmetric (or Hermitian) float32, float64 or complex matrices, shape `[..., n, n]`; only
        their lower triangle is read.

    Returns:
      The eigenvalues in ascending order, shape `[..., n]`.

    >>> tf.linalg.eigvalsh([[2.0, 0.0], [0.0, 1.0]]).numpy()
    array([1., 2.], dtype=float32)
    """
    return SelfAdjointEigV2(tensor, compute_v=False, name=name)[0]


@SelfAdjointEigV2.infer
def _(input: Spec, compute_v: bool) -> list[Spec]:
    check_square(input)
    values = Spec(input.shape[:-1], input.dtype)
    return [values, input] if compute_v else [values]


@SelfAdjointEigV2.gradient_keeping("inputs", "outputs")
def _(call: Call, grad_values: Tensor | None, grad_vectors: Tensor | None = None) -> Gradients:
    # Source: Giles, 2008, section 3.1. As in TensorFlow, the gradient is that of the lower triangle.
    values, vectors = call.outputs if call.attrs["compute_v"] else eigh(call.inputs[0])
    middle = None if grad_values is None else diag(grad_values)
    if grad_vectors is not None:
        gaps = subtract(expand_dims(values, -2), expand_dims(values, -1))
        gaps = set_diag(gaps, zeros_like(values))
        turned = divide_no_nan(matmul(vectors, grad_vectors, adjoint_a=True), gaps)
        middle = turned if middle is None else add(middle, turned)
    assert middle is not None  # one of the two results was used
    product = matmul(vectors, matmul(middle, vectors, adjoint_b=True))
    product = band_part(add(product, adjoint(product)), -1, 0)
    return [set_diag(product, multiply(diag_part(product), 0.5))]


def logdet(matrix: TensorLike, name: str | None = None) -> Tensor:
    """Computes the logarithms of determinants of positive definite matrices.

    Args:
      matrix: symmetric positive definite float32, float64 or complex matrices, shape `[..., n, n]`.

    Returns:
      The logarithms, shape `[...]`; nan if a matrix is not positive definite.

    >>> tf.linalg.logdet([[1.0, 0.0], [0.0, 1.0]]).numpy()
    np.float32(0.0)
    """
    roots = diag_part(cholesky(matrix))
    return multiply(reduce_sum(log(real(roots)), -1), 2.0, name=name)


def matrix_rank(
    a: TensorLike, tol: TensorLike | None = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Computes the rank of matrices, the number of singular values above a tolerance.

    Args:
      a: float32, float64 or complex matrices, shape `[..., rows, columns]`.
      tol: the tolerance. By default, as in NumPy, the largest singular value times the longer side
        times the dtype's machine epsilon.
      validate_args: accepted and ignored; the rank of the tensor is always checked.

    Returns:
      The ranks, int32, shape `[...]`.

    Raises:
      ValueError: if `a` has fewer than two axes.

    >>> tf.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]]).numpy()
    np.int32(1)
    """
    matrices = as_tensor(a)
    if len(matrices.shape) < 2:
        raise ValueError(f"Input `a` must have at least 2 dimensions (saw: {len(matrices.shape)}).")
    values = svd(matrices, compute_uv=False)
    if tol is None:
        longer = float(max(matrices.shape[-2:]) * _EPSILON[values.dtype])
        tol = multiply(reduce_max(values, -1, True), longer)
    return reduce_sum(cast(greater(values, tol), int32), -1, name=name)


def pinv(a: TensorLike, rcond: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """Computes pseudo-inverses (Moore, Penrose) of matrices that need not be square or invertible.

    Args:
      a: float32 or float64 matrices, shape `[..., rows, columns]`.
      rcond: the share of the largest singular value up to which singular values count as 0, shape `[...]`. By default,
        10 times the longer side times the dtype's machine epsilon.
      validate_args: accepted and ignored; the rank and dtype of the tensor are always checked.
      name: accepted and ignored.

    Returns:
      The pseudo-inverses, shape `[..., columns, rows]`.

    Raises:
      TypeError: if `a` does not have a floating-point dtype.
      ValueError: if `a` has fewer than two axes.

    >>> tf.linalg.pinv([[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]]).numpy()
    array([[0.5, 0. , 0. ],
           [0. , 0. , 0. ]], dtype=float32)
    """
    matrices = as_tensor(a)
    if not matrices.dtype.is_floating:
        raise TypeError(f"Input `a` must have `float`-like `dtype` (saw {matrices.dtype.name}).")
    if matrices.shape.rank is not None and matrices.shape.rank < 2:
        raise ValueError(f"Input `a` must have at least 2 dimensions (saw: {matrices.shape.rank}).")
    if rcond is None:
        sides: Any = matrices.shape[-2:].as_list()
        longer: Any = reduce_max(shape_of(matrices)[-2:]) if None in sides else max(sides)
        rcond = multiply(cast(longer, matrices.dtype), 10.0 * _EPSILON[matrices.dtype])
    values, left, right = svd(matrices)
    cutoff = multiply(as_tensor(rcond, matrices.dtype), reduce_max(values, -1))
    # Beyond the cutoff, an infinite value has the inverse 0 and no gradient.
    divisors = where(greater(values, expand_dims(cutoff, -1)), values, as_tensor(float("inf"), matrices.dtype))
    return matmul(divide(right, expand_dims(divisors, -2)), left, adjoint_b=True)


_EPSILON = {float32: 2.0**-23, float64: 2.0**-52}
"""Machine epsilon, the distance from 1 to the next number. Source: IEEE 754."""
