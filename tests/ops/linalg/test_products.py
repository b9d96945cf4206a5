"""Do products, diagonals, decompositions and solutions keep TensorFlow's special rules and its words?"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._record.events import OpPlaced
from nbtf.errors import FailedPreconditionError, InvalidArgumentError, UnimplementedError
from tests.machines import machine

X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
S = np.array([[4.0, 1.0], [1.0, 3.0]])
V = np.array([1.0, 2.0, 3.0])


def placed(call: Any) -> list[str]:
    """Returns the types of the ops that a call runs, without constants."""
    heard: list[Any] = []
    tf.runtime.observe(heard.append)
    call()
    return [event.op for event in heard if isinstance(event, OpPlaced) and event.op != "_EagerConst"]


# Products


@pytest.mark.parametrize(
    ("a", "b", "op"),
    [
        ([2, 3], [3, 4], "MatMul"),
        ([5, 2, 3], [5, 3, 4], "BatchMatMulV2"),
        ([5, 2, 3], [3, 4], "BatchMatMulV2"),
        ([2, 3], [5, 3, 4], "BatchMatMulV2"),
    ],
)
def test_batches_are_an_op_of_their_own(a: list[int], b: list[int], op: str) -> None:
    left, right = tf.ones(a), tf.ones(b)

    assert [op] == placed(lambda: tf.matmul(left, right))


@pytest.mark.parametrize("conjugated", [False, True])
@pytest.mark.parametrize("batch", [False, True])
def test_transposing_alone_does_not_conjugate(batch: bool, conjugated: bool) -> None:
    z = np.array([[1 + 2j, -0.5], [3j, 2 - 1j]])[None if batch else slice(None)]
    swapped = z.swapaxes(-1, -2)
    kwargs: dict[str, Any] = {"adjoint_a": True} if conjugated else {"transpose_a": True}

    np.testing.assert_allclose(tf.matmul(z, z, **kwargs).numpy(), (swapped.conj() if conjugated else swapped) @ z)


def test_integers_are_multiplied_on_the_cpu() -> None:
    with machine(1):
        product = tf.matmul([[1, 2]], [[3], [4]])

        assert product.device.endswith("CPU:0")
        assert [[11]] == product.numpy().tolist()


def test_lists_take_the_dtype_of_the_tensor_beside_them() -> None:
    assert tf.float64 == tf.matmul(tf.constant(S), [[1], [2]]).dtype


@pytest.mark.parametrize("axes", [1, [[1], [0]], [[-1], [-2]], [1, 0]])
def test_axes_of_tensordot_are_said_in_many_ways(axes: Any) -> None:
    np.testing.assert_allclose(tf.tensordot(X, X.T, axes).numpy(), X @ X.T)


def test_axes_of_tensordot_may_be_a_tensor() -> None:
    np.testing.assert_allclose(tf.tensordot(X, X, tf.constant([[1], [1]])).numpy(), X @ X.T)


@pytest.mark.parametrize(
    "equation",
    ["ij,kj->ik", "ij,kj", "i j , k j -> i k", "IJ,KJ->IK", "ij,ij->", "ij,ij->ij", "ij,kl->ikjl", "...j,...j->..."],
)
def test_einsum_reads_equations_as_numpy_does(equation: str) -> None:
    np.testing.assert_allclose(tf.einsum(equation, X, X + 1).numpy(), np.einsum(equation.replace(" ", ""), X, X + 1))


def test_einsum_of_three_multiplies_the_cheapest_pair_first() -> None:
    long, wide, thin = tf.ones([50, 40]), tf.ones([40, 30]), tf.ones([30, 1])

    assert ["Einsum", "Einsum"] == placed(lambda: tf.einsum("ij,jk,kl->il", long, wide, thin))
    np.testing.assert_allclose(tf.einsum("ij,jk,kl->il", long, wide, thin).numpy(), np.full((50, 1), 1200.0))


# Diagonals


@pytest.mark.parametrize(
    ("align", "rows"),
    [
        ("RIGHT_LEFT", [[0, 2, 6], [1, 5, 9], [4, 8, 0]]),
        ("LEFT_RIGHT", [[2, 6, 0], [1, 5, 9], [0, 4, 8]]),
        ("LEFT_LEFT", [[2, 6, 0], [1, 5, 9], [4, 8, 0]]),
        ("RIGHT_RIGHT", [[0, 2, 6], [1, 5, 9], [0, 4, 8]]),
    ],
)
def test_short_diagonals_stand_where_align_says(align: str, rows: list[list[int]]) -> None:
    matrix = np.arange(1, 10).reshape(3, 3)
    packed = tf.linalg.diag_part(matrix, k=(-1, 1), align=align)

    assert rows == packed.numpy().tolist()
    assert (matrix - np.diag([3], 2) - np.diag([7], -2)).tolist() == tf.linalg.diag(
        packed, k=(-1, 1), align=align
    ).numpy().tolist()


@pytest.mark.parametrize(("rows", "columns", "k"), [(5, 3, 0), (3, 5, 0), (4, 4, 1), (4, 4, -1), (5, 4, -1), (5, 4, 1)])
def test_a_diagonal_goes_back_into_a_matrix_of_any_shape(rows: int, columns: int, k: int) -> None:
    length = len(np.diagonal(np.zeros((rows, columns)), k))
    made = tf.linalg.diag(np.arange(1, length + 1), k=k, num_rows=rows, num_cols=columns)

    assert (rows, columns) == made.shape
    assert list(range(1, length + 1)) == np.diagonal(made.numpy(), k).tolist()


@pytest.mark.parametrize(("lower", "upper"), [(0, 0), (-1, 0), (0, -1), (1, 0), (-1, -1)])
def test_negative_counts_keep_everything_on_a_side(lower: int, upper: int) -> None:
    rows, columns = np.indices((3, 3))
    kept = ((rows - columns <= lower) | (lower < 0)) & ((columns - rows <= upper) | (upper < 0))

    assert kept.astype(int).tolist() == tf.linalg.band_part(np.ones((3, 3), int), lower, upper).numpy().tolist()


# Decompositions


def test_singular_vectors_are_not_transposed() -> None:
    s, u, v = (one.numpy() for one in tf.linalg.svd(X))

    assert ((2,), (2, 2), (3, 2)) == (s.shape, u.shape, v.shape)
    np.testing.assert_allclose(u @ np.diag(s) @ v.T, X, atol=1e-12)


@pytest.mark.parametrize("matrix", [X, X.T, np.stack([X, 2 * X]), X + 1j * X[:, ::-1]])
@pytest.mark.parametrize("full", [False, True])
def test_factors_multiply_to_the_matrix(matrix: np.ndarray[Any, Any], full: bool) -> None:
    q, r = (one.numpy() for one in tf.linalg.qr(matrix, full_matrices=full))
    s, u, v = (one.numpy() for one in tf.linalg.svd(matrix, full_matrices=full))
    inner = s.shape[-1]
    thin = u[..., :inner] * s[..., None, :] @ v[..., :inner].swapaxes(-1, -2).conj()

    np.testing.assert_allclose(q @ r, matrix, atol=1e-12)
    np.testing.assert_allclose(thin, matrix, atol=1e-12)


def test_singular_values_of_complex_matrices_are_real() -> None:
    assert tf.float64 == tf.linalg.svd(X + 1j * X, compute_uv=False).dtype


def test_results_print_their_tensorflow_names() -> None:
    assert repr(tf.linalg.qr(S)).startswith("Qr(q=<tf.Tensor")
    assert repr(tf.linalg.slogdet(S)).startswith("LogMatrixDeterminant(sign=<tf.Tensor")


def test_a_matrix_that_is_not_positive_definite_has_a_factor_of_nan() -> None:
    factors = tf.linalg.cholesky(np.stack([S, -S])).numpy()

    np.testing.assert_allclose(factors[0], np.linalg.cholesky(S))
    np.testing.assert_array_equal(np.isnan(factors[1]), np.tri(len(S), dtype=bool))


def test_the_logarithm_of_a_determinant_does_not_overflow() -> None:
    assert pytest.approx(400 * np.log(10)) == tf.linalg.logdet(np.diag([1e200, 1e200])).numpy()


@pytest.mark.parametrize(
    "call", [lambda x: tf.linalg.qr(x)[0], lambda x: tf.linalg.svd(x, full_matrices=True)[1]], ids=["qr", "svd"]
)
def test_gradients_that_are_missing_say_so(call: Any) -> None:
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = call(x)

    with pytest.raises(UnimplementedError, match=r"gradient of .* requires"):
        tape.gradient(y, x)


# Words


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tf.matmul(X, X), "Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3] [Op:MatMul]"),
        (lambda: tf.matmul(X, V), "In[0] and In[1] has different ndims: [2,3] vs. [3] [Op:MatMul]"),
        (lambda: tf.matmul(1.0, 2.0), "In[0] and In[1] ndims must be == 2: 0 [Op:MatMul]"),
        (lambda: tf.matmul([X], V), "In[1] ndims must be >= 2: 1 [Op:BatchMatMulV2]"),
        (lambda: tf.matmul([X], [X]), "Matrix size-incompatible: In[0]: [1,2,3], In[1]: [1,2,3] [Op:BatchMatMulV2]"),
        (
            lambda: tf.matmul(tf.ones([3, 2, 3]), tf.ones([2, 3, 4])),
            "In[0] and In[1] must have compatible batch dimensions: [3,2,3] vs. [2,3,4] [Op:BatchMatMulV2]",
        ),
        (
            lambda: tf.matmul(tf.constant(X), tf.constant([[1]])),
            "cannot compute MatMul as input #1(zero-based) was expected to be a double tensor but is a int32 tensor",
        ),
        (lambda: tf.matmul([[True]], [[True]]), "Value for attr 'T' of bool"),
        (lambda: tf.einsum("ij,jk->ik", X, X), "Expected dimension 3 at axis 0 of the input shaped [2,3] but got"),
        (lambda: tf.einsum("ijk->i", X), "Expected input 0 to have rank 3 but got: 2 [Op:Einsum]"),
        (lambda: tf.einsum("b...->b", X), "Output contains 1 broadcasting dimension(s) but no ellipsis (...) was"),
        (lambda: tf.linalg.cross(V, [V]), "Both inputs must be of same shape: [3] vs. [1,3] [Op:Cross]"),
        (lambda: tf.linalg.diag(1.0), "diagonal must be at least 1-dim, received shape: [] [Op:MatrixDiagV3]"),
        (lambda: tf.linalg.diag(V, num_rows=2), "The number of rows is too small. [Op:MatrixDiagV3]"),
        (lambda: tf.linalg.diag(V, num_rows=4, num_cols=5), "The number of rows or columns is not consistent"),
        (lambda: tf.linalg.diag_part(V), "input must be at least 2-dim, received shape: [3] [Op:MatrixDiagPartV3]"),
        (lambda: tf.linalg.diag_part(X, k=5), "lower_diag_index is out of bound: 5. It must be between -2 and 3"),
        (lambda: tf.linalg.set_diag(S, V), "Input shape: [2,2]\nDiagonal shape: [3]\nExpected diagonal shape: [2]"),
        (lambda: tf.linalg.band_part(X, 5, 0), "num_lower must be negative or less or equal to number of rows (2)"),
        (lambda: tf.linalg.trace(V), "input must be at least 2-dim, received shape: [3]"),
        (lambda: tf.linalg.det(X), "Input matrix must be square. [Op:MatrixDeterminant]"),
        (lambda: tf.linalg.inv(V), "Input tensor 0 must have rank >= 2, got 1 [Op:MatrixInverse]"),
        (lambda: tf.linalg.inv(np.zeros((2, 2))), "Input is not invertible. [Op:MatrixInverse]"),
        (lambda: tf.linalg.inv([[1, 2], [3, 4]]), "Value for attr 'T' of int32 is not in the list of allowed values"),
        (lambda: tf.linalg.solve(S, V[:2]), "All input tensors must have the same rank. [Op:MatrixSolve]"),
        (lambda: tf.linalg.solve(X, X), "First input (lhs) must be a square matrix. [Op:MatrixSolve]"),
        (lambda: tf.linalg.solve(S, X.T), "Input matrix and rhs are incompatible. [Op:MatrixSolve]"),
        (lambda: tf.linalg.solve(np.zeros((2, 2)), S), "Input matrix is not invertible. [Op:MatrixSolve]"),
        (lambda: tf.linalg.triangular_solve(S, V), "In[1] ndims must be >= 2: 1 [Op:MatrixTriangularSolve]"),
        (lambda: tf.linalg.cholesky(X), "Input matrix must be square. [Op:Cholesky]"),
        (lambda: tf.linalg.qr(V), "Input tensor 0 must have rank >= 2, got 1 [Op:Qr]"),
        (lambda: tf.linalg.svd(V), "Input tensor 0 must have rank >= 2, got 1 [Op:Svd]"),
    ],
)
def test_what_tensorflow_refuses_is_refused_in_its_words(call: Any, text: str) -> None:
    with pytest.raises(InvalidArgumentError, match=re.escape(text)):
        call()


def test_cross_products_are_for_space() -> None:
    with pytest.raises(FailedPreconditionError, match="Cross-products are only defined for 3-element vectors"):
        tf.linalg.cross([1.0, 0.0], [0.0, 1.0])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: tf.matmul(X, X, transpose_a=True, adjoint_a=True),
            "Only one of `transpose_a` and `adjoint_a` can be True. Received `transpose_a`=True, `adjoint_a`=True.",
        ),
        (lambda: tf.tensordot(X, X, -1), "`axes` must be at least 0. Received: -1."),
        (lambda: tf.tensordot(X, X, 3), "Received 3, vs tensor dimensions 2."),
        (lambda: tf.tensordot(X, X, [0]), "`axes` must be an integer or have length 2. Received [0]."),
        (lambda: tf.tensordot(X, X, [[0], [0, 1]]), "Different number of contraction axes `a` and `b`, 1 != 2."),
        (lambda: tf.einsum("ij,kj->ik", X), 'Got 1 inputs for equation "ij,kj->ik", expecting 2'),
        (lambda: tf.einsum("ij;kj->ik", X, X), "Subscripts have incorrect format: ij;kj->ik"),
        (lambda: tf.einsum("ij->ik", X), "Output subscripts contain the label k not present in the input subscripts."),
        (lambda: tf.einsum("ij->ii", X), "Output subscripts contain a label appearing more than once: ij->ii"),
        (lambda: tf.linalg.matrix_transpose(V), "Argument `a` should be a (batch) matrix with rank >= 2."),
    ],
)
def test_wrong_arguments_are_value_errors(call: Any, text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        call()


def test_einsum_names_the_keywords_it_takes() -> None:
    with pytest.raises(TypeError, match="Invalid keyword arguments for einsum: foo"):
        tf.einsum("ij->ji", X, foo=1)


@pytest.mark.parametrize("shape", [(3,), (1,), (3, 1), (2, 3)], ids=str)
@pytest.mark.parametrize("function", ["eigh", "eigvalsh", "cholesky", "inv", "det", "slogdet"])
def test_what_is_no_square_matrix_is_refused(function: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"must have rank >= 2|must be square"):
        getattr(tf.linalg, function)(tf.ones(shape))


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 0, 3), (0, 2, 2), (2, 3, 0)])
def test_qr_of_nothing_has_the_shapes_of_its_factors(shape: tuple[int, ...], full: bool) -> None:
    q, r = tf.linalg.qr(tf.zeros(shape), full_matrices=full)
    *batch, rows, columns = shape
    inner = rows if full else min(rows, columns)

    assert ([*batch, rows, inner], [*batch, inner, columns]) == (q.shape.as_list(), r.shape.as_list())
