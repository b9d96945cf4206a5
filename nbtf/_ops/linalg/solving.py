"""Systems of linear equations, determinants and inverses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from nbtf._devices.base import Spec
from nbtf._devices.cuda.solvers import REPORTED, failing
from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.linalg.diagonals import band_part
from nbtf._ops.linalg.nonfinite import fill_nan
from nbtf._ops.linalg.products import matmul
from nbtf._ops.math.arithmetic import negative
from nbtf._ops.op import Gradients, op
from nbtf._ops.reductions.sums import unbroadcast
from nbtf._ops.specs import bracketed, broadcast_shapes
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import COMPLEXES, TensorLike, float32, float64
from nbtf.errors import InvalidArgumentError

SOLVED = COMPLEXES | {float32, float64}
"""Dtypes of NumPy's and CuPy's linear algebra; TensorFlow also computes some float16 determinants."""


def check_matrices(*matrices: Spec) -> None:
    """Raises TensorFlow's error unless all inputs are matrices or batches of matrices."""
    for number, matrix in enumerate(matrices):
        if len(matrix.shape) < 2:
            raise InvalidArgumentError(f"Input tensor {number} must have rank >= 2, got {len(matrix.shape)}")


def check_square(matrix: Spec) -> None:
    """Raises TensorFlow's error unless the input is a square matrix or a batch of them."""
    check_matrices(matrix)
    rows, columns = matrix.shape[-2:]
    if rows != columns and None not in (rows, columns):
        raise InvalidArgumentError("Input matrix must be square.")


def _invertible(xp: Any, function: Callable[..., Any], text: str, *arrays: Any) -> Any:
    """Calls a function of the array library and raises an error for matrices that are singular or start with nan.

    TensorFlow checks the pivots, among which nan is detected only if it is the first. Any other nan ends up in
    the last pivot, and from there in the whole solution.
    """
    nan = xp.isnan(arrays[0]).any(axis=(-2, -1))
    if arrays[0].size and bool(xp.isnan(arrays[0][..., 0, 0]).any()):
        raise InvalidArgumentError(text)
    try:
        with failing(xp):
            return fill_nan(xp, function(*arrays), nan)
    except xp.linalg.LinAlgError as error:
        if "ingular" not in str(error) and REPORTED not in str(error):  # wrong shapes: `infer` raises the right error
            raise
        raise InvalidArgumentError(text) from error


def adjoint_of(array: Any) -> Any:
    """Returns the conjugate transpose of matrices."""
    return array.swapaxes(-1, -2).conj() if array.dtype.kind == "c" else array.swapaxes(-1, -2)


@op("T -> T", T=SOLVED)
def MatrixDeterminant(xp: Any, input: Any) -> Any:
    determinants = xp.linalg.det(input).astype(input.dtype)
    return fill_nan(xp, determinants, (determinants == 0) & ~_finite(xp, input))  # 0 times infinity


def det(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the determinants of matrices.

    Args:
      input: float32, float64 or complex numbers, shape `[..., n, n]`.

    Returns:
      The determinants, shape `[...]`.

    >>> tf.linalg.det([[4.0, 1.0], [1.0, 3.0]]).numpy().round(3)
    np.float32(11.0)
    """
    return MatrixDeterminant(input, name=name)


@MatrixDeterminant.infer
def _(input: Spec) -> Spec:
    check_square(input)
    return Spec(input.shape[:-2], input.dtype)


@MatrixDeterminant.gradient_keeping("inputs", "outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    scaled = grad * call.output
    return [_as_matrices(scaled) * inv(call.inputs[0], adjoint=True)]


def _as_matrices(numbers: Tensor) -> Tensor:
    """Returns one number per matrix, in a shape that broadcasts with the matrices."""
    return reshape(numbers, [*numbers.shape.as_list(), 1, 1])


class SignAndLog(NamedTuple):
    """The sign and logarithm of a determinant, which avoid overflow and underflow."""

    sign: Tensor
    log_abs_determinant: Tensor


SignAndLog.__name__ = "LogMatrixDeterminant"  # the class name that TensorFlow prints


@op("T -> T T", T=SOLVED)
def LogMatrixDeterminant(xp: Any, input: Any) -> Any:
    sign, logarithm = map(xp.asarray, xp.linalg.slogdet(input))
    unknown = ~xp.isfinite(logarithm) & (sign != 0) if input.dtype.kind == "c" else xp.isnan(logarithm)
    logarithm = fill_nan(xp, logarithm, (sign == 0) & ~_finite(xp, input))  # 0 times infinity
    return fill_nan(xp, sign, unknown).astype(input.dtype), logarithm.astype(input.dtype)


def _finite(xp: Any, matrices: Any) -> Any:
    return xp.isfinite(matrices).all(axis=(-2, -1))


def slogdet(input: TensorLike, name: str | None = None) -> SignAndLog:
    """Returns the sign of determinants and the logarithm of their absolute value.

    Args:
      input: float32, float64 or complex numbers, shape `[..., n, n]`.

    Returns:
      A named tuple of `sign` and `log_abs_determinant`, shape `[...]` each.

    >>> sign, logarithm = tf.linalg.slogdet([[0.0, 1.0], [1.0, 0.0]])
    >>> sign.numpy(), logarithm.numpy()
    (np.float32(-1.0), np.float32(0.0))
    """
    return SignAndLog(*LogMatrixDeterminant(input, name=name))


@LogMatrixDeterminant.infer
def _(input: Spec) -> list[Spec]:
    check_square(input)
    return [Spec(input.shape[:-2], input.dtype)] * 2


@LogMatrixDeterminant.gradient
def _(call: Call, _sign: Tensor | None, grad: Tensor | None) -> Gradients:
    if grad is None:
        return [None]
    return [_as_matrices(grad) * inv(call.inputs[0], adjoint=True)]


@op("T -> T", T=SOLVED)
def MatrixInverse(xp: Any, input: Any, adjoint: bool) -> Any:
    matrix = adjoint_of(input) if adjoint else input
    return _invertible(xp, xp.linalg.inv, "Input is not invertible.", matrix)


def inv(input: TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Returns the inverses of matrices.

    Args:
      input: float32, float64 or complex numbers, shape `[..., n, n]`.
      adjoint: whether to invert the conjugate transpose; False by default.

    Returns:
      The inverses, of `input`'s shape.

    Raises:
      InvalidArgumentError: if the matrices are not square, or a matrix has no inverse.

    >>> tf.linalg.inv([[2.0, 0.0], [0.0, 4.0]]).numpy()
    array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    return MatrixInverse(input, adjoint=adjoint, name=name)


@MatrixInverse.infer
def _(input: Spec, adjoint: bool) -> Spec:
    check_square(input)
    return input


@MatrixInverse.gradient_keeping("outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    inverse = call.output
    if call.attrs["adjoint"]:
        return [negative(matmul(inverse, matmul(grad, inverse, adjoint_a=True)))]
    return [negative(matmul(inverse, matmul(grad, inverse, adjoint_b=True), adjoint_a=True))]


@op("T T -> T", T=SOLVED)
def MatrixSolve(xp: Any, matrix: Any, rhs: Any, adjoint: bool) -> Any:
    if matrix.ndim != rhs.ndim or matrix.ndim < 2 or matrix.shape[:-2] != rhs.shape[:-2]:
        raise ValueError("expected batches with the same number of matrices")
    coefficients = adjoint_of(matrix) if adjoint else matrix
    return _invertible(xp, xp.linalg.solve, "Input matrix is not invertible.", coefficients, rhs)


def solve(matrix: TensorLike, rhs: TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Solves systems of linear equations, `matrix @ x = rhs`.

    Args:
      matrix: float32, float64 or complex numbers, shape `[..., n, n]`.
      rhs: right-hand sides, one per column, of the same dtype and rank, shape `[..., n, k]`.
      adjoint: whether to use the conjugate transpose of `matrix`; False by default.

    Returns:
      The solutions `x`, shape `[..., n, k]`.

    Raises:
      InvalidArgumentError: if the shapes do not fit, or a matrix is not invertible.

    >>> tf.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [[1.0], [2.0]]).numpy()
    array([[0.5],
           [0.5]], dtype=float32)
    """
    return MatrixSolve(matrix, rhs, adjoint=adjoint, name=name)


@MatrixSolve.infer
def _(matrix: Spec, rhs: Spec, adjoint: bool) -> Spec:
    if len(matrix.shape) != len(rhs.shape):
        raise InvalidArgumentError("All input tensors must have the same rank.")
    check_matrices(matrix, rhs)
    rows, columns = matrix.shape[-2:]
    if rows != columns and None not in (rows, columns):
        raise InvalidArgumentError("First input (lhs) must be a square matrix.")
    if rows != rhs.shape[-2] and None not in (rows, rhs.shape[-2]):
        raise InvalidArgumentError("Input matrix and rhs are incompatible.")
    if matrix.shape[:-2] != rhs.shape[:-2]:
        raise InvalidArgumentError("All input tensors must have the same outer dimensions.")
    return rhs


@MatrixSolve.gradient_keeping("inputs", "outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    matrix, adjoint = call.inputs[0], bool(call.attrs["adjoint"])
    for_rhs = solve(matrix, grad, adjoint=not adjoint)
    if adjoint:
        return [negative(matmul(call.output, for_rhs, adjoint_b=True)), for_rhs]
    return [negative(matmul(for_rhs, call.output, adjoint_b=True)), for_rhs]


@op("T T -> T", T=SOLVED)
def MatrixTriangularSolve(xp: Any, matrix: Any, rhs: Any, lower: bool, adjoint: bool) -> Any:
    if rhs.ndim < 2:
        raise ValueError("right-hand sides must be columns of a matrix")
    # Neither library solves batches of triangular systems; a general solver gives the same result.
    half = xp.tril(matrix) if lower else xp.triu(matrix)
    half = adjoint_of(half) if adjoint else half
    pivots = half.diagonal(0, -2, -1)
    if bool((pivots != 0).all() & xp.isfinite(half).all() & xp.isfinite(rhs).all()):
        return xp.linalg.solve(half, rhs)
    return _substituted(xp, half, rhs, lower != adjoint)


def _substituted(xp: Any, triangle: Any, rhs: Any, lower: bool) -> Any:
    """Solves row by row, so that non-finite values stay in the rows that depend on them."""
    size = triangle.shape[-1]
    batch = broadcast_shapes(triangle.shape[:-2], rhs.shape[:-2])
    solution = xp.zeros((*batch, *rhs.shape[-2:]), rhs.dtype)
    for row in range(size) if lower else reversed(range(size)):
        solved = slice(0, row) if lower else slice(row + 1, size)
        solved_part = (triangle[..., row, solved, None] * solution[..., solved, :]).sum(-2)
        solution[..., row, :] = (rhs[..., row, :] - solved_part) / triangle[..., row, row, None]
    return solution


def triangular_solve(
    matrix: TensorLike, rhs: TensorLike, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """Solves systems of linear equations with a triangular matrix.

    Args:
      matrix: float32, float64 or complex numbers, shape `[..., n, n]`; only the triangle is read.
      rhs: right-hand sides, one per column, of the same dtype, shape `[..., n, k]`.
      lower: whether to use the triangle below the diagonal (default) rather than the one above.
      adjoint: whether to use the triangle's conjugate transpose; False by default.

    Returns:
      The solutions, shape `[..., n, k]`; not finite if a 0 on the diagonal is a divisor.

    >>> tf.linalg.triangular_solve([[2.0, 9.0], [1.0, 4.0]], [[2.0], [5.0]]).numpy()
    array([[1.],
           [1.]], dtype=float32)
    """
    return MatrixTriangularSolve(matrix, rhs, lower=lower, adjoint=adjoint, name=name)


@MatrixTriangularSolve.infer
def _(matrix: Spec, rhs: Spec, lower: bool, adjoint: bool) -> Spec:
    for number, side in enumerate((matrix, rhs)):
        if len(side.shape) < 2:
            raise InvalidArgumentError(f"In[{number}] ndims must be >= 2: {len(side.shape)}")
    check_square(matrix)
    if matrix.shape[-1] != rhs.shape[-2] and None not in (matrix.shape[-1], rhs.shape[-2]):
        text = f"In[0] mismatch In[1] shape: {matrix.shape[-1]} vs. {rhs.shape[-2]}: "
        raise InvalidArgumentError(
            f"{text}{bracketed(matrix.shape)} {bracketed(rhs.shape)} {int(lower)} {int(adjoint)}"
        )
    return Spec((*broadcast_shapes(matrix.shape[:-2], rhs.shape[:-2]), *rhs.shape[-2:]), rhs.dtype)


@MatrixTriangularSolve.gradient_keeping("inputs", "outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    matrix, lower, adjoint = call.inputs[0], call.attrs["lower"], bool(call.attrs["adjoint"])
    for_rhs = triangular_solve(matrix, grad, lower=lower, adjoint=not adjoint)
    pair = (call.output, for_rhs) if adjoint else (for_rhs, call.output)
    product = negative(matmul(*pair, adjoint_b=True))
    triangle = band_part(product, -1, 0) if lower else band_part(product, 0, -1)
    return [unbroadcast(triangle, matrix), unbroadcast(for_rhs, call.inputs[1])]


def cholesky_solve(chol: TensorLike, rhs: TensorLike, name: str | None = None) -> Tensor:
    """Solves systems of linear equations, given the Cholesky factor of the matrix.

    Args:
      chol: the result of `tf.linalg.cholesky`, shape `[..., n, n]`.
      rhs: right-hand sides, one per column, of the same dtype, shape `[..., n, k]`.

    Returns:
      The solutions, shape `[..., n, k]`.

    >>> tf.linalg.cholesky_solve([[2.0, 0.0], [0.0, 1.0]], [[4.0], [3.0]]).numpy()
    array([[1.],
           [3.]], dtype=float32)
    """
    halfway = triangular_solve(chol, rhs, adjoint=False, lower=True)
    return triangular_solve(chol, halfway, adjoint=True, lower=True, name=name)
