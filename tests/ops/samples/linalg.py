"""Samples of products, diagonals, decompositions and solutions of matrices."""

from __future__ import annotations

import numpy as np

import nbtf as tf
from tests.ops.samples import Sample

A = np.array([[1.0, -2.0, 0.5], [3.0, 0.25, -1.0]], np.float32)
B = np.array([[2.0, 1.0], [0.5, -1.5], [1.0, 4.0]], np.float32)
K = np.array([[1, 2, 3], [4, 5, -6]], np.int32)
Z = np.array([[1 + 2j, -0.5], [3j, 2 - 1j]], np.complex64)
W = np.array([[0.5 - 1j, 2], [1 + 1j, 3j]], np.complex64)
BATCH = np.linspace(-1.0, 2.0, 24, dtype=np.float32).reshape(2, 3, 4)
OTHER = np.linspace(2.0, -1.5, 40, dtype=np.float32).reshape(2, 4, 5)
SQUARE = np.array([[4.0, 1.0, 0.5], [-1.0, 3.0, 0.25], [0.5, -0.75, 2.0]])
STACK = np.stack([SQUARE, 2 * SQUARE + np.eye(3)])
POSITIVE = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])
TALL = np.array([[1.0, 2.0], [-1.0, 0.5], [3.0, 0.25]])
RIGHT = np.array([[1.0, -2.0], [0.5, 3.0], [2.0, 1.0]])
V = np.array([1.0, -2.0, 0.5])
DIAGONALS = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])


def symmetric(x: tf.Tensor) -> tf.Tensor:
    """Makes a symmetric matrix, positive definite, of any: differences of one element keep it symmetric."""
    return tf.matmul(x, x, transpose_b=True) + tf.eye(x.shape[-1], dtype=x.dtype)


def cholesky_of_square(x: tf.Tensor) -> tf.Tensor:
    return tf.linalg.cholesky(symmetric(x))


def eigenvalues_of_square(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    return tf.linalg.eigh(symmetric(x))


def lengths_of_eigenvectors(x: tf.Tensor) -> tf.Tensor:
    """The absolute values of the eigenvectors' elements, which do not depend on the arbitrary phase."""
    return tf.abs(tf.linalg.eig(x)[1])


def spread(x: np.ndarray) -> np.ndarray:
    return x @ x.T + np.eye(3)


SAMPLES = [
    Sample("Eig", tf.linalg.eig, [np.diag([2.0, 1.0])], [np.array([2.0 + 0j, 1]), np.eye(2, dtype=complex)]),
    Sample("Eig", tf.linalg.eigvals, [SQUARE], np.linalg.eigvals, differentiable=[0]),
    Sample("Eig", tf.linalg.eigvals, [Z.astype(np.complex128)], np.linalg.eigvals, differentiable=[0]),
    Sample("Eig", lengths_of_eigenvectors, [STACK], lambda x: abs(np.linalg.eig(x)[1]), differentiable=[0]),
    Sample(
        "Lu",
        tf.linalg.lu,
        [np.array([[1.0, 2.0], [4.0, 6.0]])],
        [np.array([[4.0, 6.0], [0.25, 0.5]]), np.array([1, 0])],
    ),
    Sample("MatMul", tf.matmul, [A, B], A @ B, differentiable=[0, 1]),
    Sample("MatMul", tf.matmul, [A, B.T.copy(), False, True], A @ B, differentiable=[0, 1]),
    Sample("MatMul", tf.matmul, [A.T.copy(), B, True], A @ B, differentiable=[0, 1]),
    Sample("MatMul", tf.matmul, [A.T.copy(), B.T.copy(), True, True], A @ B, differentiable=[0, 1]),
    Sample("MatMul", tf.matmul, [Z, W], Z @ W, differentiable=[0, 1]),
    Sample("MatMul", tf.matmul, [Z, W], Z.conj().T @ W, {"adjoint_a": True}, differentiable=[0, 1]),
    Sample("MatMul", tf.matmul, [K, K, False, True], K @ K.T),
    Sample("MatMul", tf.matmul, [A.astype(np.float16), B.astype(np.float16)], A @ B, tolerance=1e-3),
    Sample("MatMul", tf.matmul, [K.astype(np.int8), K.T.astype(np.int8)], K @ K.T, {"output_type": tf.int32}),
    Sample("MatMul", tf.matmul, [np.zeros((2, 0)), np.zeros((0, 3))], np.zeros((2, 3))),
    Sample("BatchMatMulV2", tf.matmul, [BATCH, OTHER], BATCH @ OTHER, differentiable=[0, 1], tolerance=1e-5),
    Sample("BatchMatMulV2", tf.matmul, [BATCH, OTHER[0]], BATCH @ OTHER[0], differentiable=[0, 1], tolerance=1e-5),
    Sample("BatchMatMulV2", tf.matmul, [BATCH, BATCH, False, True], BATCH @ BATCH.swapaxes(1, 2), tolerance=1e-5),
    Sample("BatchMatMulV2", tf.matmul, [Z[None], W, False, True], Z[None] @ W.T, differentiable=[0, 1]),
    Sample("MatMul", tf.linalg.matvec, [A, V.astype(np.float32)], A @ V.astype(np.float32), differentiable=[0, 1]),
    Sample("Cross", tf.linalg.cross, [V, RIGHT[:, 0]], np.cross(V, RIGHT[:, 0]), differentiable=[0, 1]),
    Sample("Transpose", tf.linalg.matrix_transpose, [BATCH], BATCH.swapaxes(1, 2), differentiable=[0]),
    Sample("ConjugateTranspose", tf.linalg.adjoint, [Z], Z.conj().T),
    Sample("MatMul", tf.tensordot, [A, B, 1], A @ B, differentiable=[0, 1]),
    Sample("MatMul", tf.tensordot, [A, B, [[0, 1], [1, 0]]], np.tensordot(A, B, ((0, 1), (1, 0))), differentiable=[0]),
    Sample("MatMul", tf.tensordot, [BATCH, B, [[1], [0]]], np.tensordot(BATCH, B, ((1,), (0,))), tolerance=1e-5),
    Sample("MatMul", tf.tensordot, [V, V, 0], np.tensordot(V, V, 0)),
    Sample("Einsum", tf.einsum, ["ij,jk->ik", A, B], A @ B, differentiable=[1, 2]),
    Sample("Einsum", tf.einsum, ["ij,jk", Z, W], Z @ W, differentiable=[1, 2]),
    Sample("Einsum", tf.einsum, ["ii->i", SQUARE], np.diag(SQUARE), differentiable=[1]),
    Sample("Einsum", tf.einsum, ["ii", SQUARE], np.trace(SQUARE), differentiable=[1]),
    Sample(
        "Einsum",
        tf.einsum,
        ["iij,j->i", STACK[:, :2], V],
        np.array([STACK[0, 0] @ V, STACK[1, 1] @ V]),
        differentiable=[1, 2],
    ),
    Sample("Einsum", tf.einsum, ["ij->", A], A.sum(), differentiable=[1]),
    Sample("Einsum", tf.einsum, ["...ij,...jk->...ik", BATCH, OTHER[:1]], BATCH @ OTHER[:1], differentiable=[1, 2]),
    Sample("Einsum", tf.einsum, ["i...->...i", BATCH], BATCH.transpose(1, 2, 0), differentiable=[1]),
    Sample("Einsum", tf.einsum, ["ij,jk,lk->il", A, B, B], A @ B @ B.T, differentiable=[1, 2, 3]),
    Sample("Einsum", tf.einsum, ["ij,kj->ik", K, K], K @ K.T),
    Sample("MatrixDiagV3", tf.linalg.diag, [V], np.diag(V), differentiable=[0]),
    Sample("MatrixDiagV3", tf.linalg.diag, [V], np.diag(V, 1), {"k": 1}),
    Sample(
        "MatrixDiagV3",
        tf.linalg.diag,
        [DIAGONALS],
        [[4, 2, 0], [7, 5, 3], [0, 8, 6]],
        {"k": (-1, 1)},
        differentiable=[0],
    ),
    Sample("MatrixDiagV3", tf.linalg.diag, [np.array([True, True])], np.eye(2, dtype=bool)),
    Sample("MatrixDiagPartV3", tf.linalg.diag_part, [BATCH], np.diagonal(BATCH, 0, 1, 2), differentiable=[0]),
    Sample(
        "MatrixDiagPartV3",
        tf.linalg.diag_part,
        [DIAGONALS],
        [[9, 2, 6], [1, 5, 9], [4, 8, 9]],
        {"k": (-1, 1), "padding_value": 9.0},
        differentiable=[0],
    ),
    Sample(
        "MatrixSetDiagV3",
        tf.linalg.set_diag,
        [DIAGONALS, V],
        DIAGONALS - np.diag([0, 7, 8.5]),
        differentiable=[0, 1],
    ),
    Sample("MatrixBandPart", tf.linalg.band_part, [BATCH, 0, -1], np.triu(BATCH), differentiable=[0]),
    Sample("MatrixBandPart", tf.linalg.band_part, [SQUARE, 1, 0], np.tril(np.triu(SQUARE, -1)), differentiable=[0]),
    Sample("MatrixDiagPartV3", tf.linalg.trace, [STACK], np.trace(STACK, 0, 1, 2), differentiable=[0]),
    Sample("Diag", tf.linalg.tensor_diag, [V], np.diag(V), differentiable=[0]),
    Sample(
        "Diag", tf.linalg.tensor_diag, [A], np.einsum("ij,ik,jl->ijkl", A, np.eye(2), np.eye(3)), differentiable=[0]
    ),
    Sample("DiagPart", tf.linalg.tensor_diag_part, [SQUARE], np.diag(SQUARE), differentiable=[0]),
    Sample("MatrixDeterminant", tf.linalg.det, [STACK], np.linalg.det(STACK), differentiable=[0]),
    Sample("LogMatrixDeterminant", tf.linalg.slogdet, [SQUARE], list(np.linalg.slogdet(SQUARE)), differentiable=[0]),
    Sample("MatrixInverse", tf.linalg.inv, [STACK], np.linalg.inv(STACK), differentiable=[0]),
    Sample("MatrixInverse", tf.linalg.inv, [SQUARE, True], np.linalg.inv(SQUARE.T), differentiable=[0]),
    Sample("MatrixSolve", tf.linalg.solve, [SQUARE, RIGHT], np.linalg.solve(SQUARE, RIGHT), differentiable=[0, 1]),
    Sample("MatrixSolve", tf.linalg.solve, [SQUARE, RIGHT, True], np.linalg.solve(SQUARE.T, RIGHT), differentiable=[0]),
    Sample(
        "MatrixTriangularSolve",
        tf.linalg.triangular_solve,
        [SQUARE, RIGHT],
        np.linalg.solve(np.tril(SQUARE), RIGHT),
        differentiable=[0, 1],
    ),
    Sample(
        "MatrixTriangularSolve",
        tf.linalg.triangular_solve,
        [SQUARE, RIGHT, False, True],
        np.linalg.solve(np.triu(SQUARE).T, RIGHT),
        differentiable=[0, 1],
    ),
    Sample(
        "MatrixTriangularSolve",
        tf.linalg.cholesky_solve,
        [np.linalg.cholesky(POSITIVE), RIGHT],
        np.linalg.solve(POSITIVE, RIGHT),
    ),
    Sample("Cholesky", tf.linalg.cholesky, [POSITIVE], np.linalg.cholesky(POSITIVE)),
    Sample("Cholesky", cholesky_of_square, [SQUARE], np.linalg.cholesky(spread(SQUARE)), differentiable=[0]),
    Sample("Cholesky", tf.linalg.logdet, [POSITIVE], np.linalg.slogdet(POSITIVE)[1]),
    Sample("Qr", tf.linalg.qr, [TALL], list(np.linalg.qr(TALL)), differentiable=[0]),
    Sample("Qr", tf.linalg.qr, [SQUARE], list(np.linalg.qr(SQUARE)), differentiable=[0]),
    Sample("Qr", tf.linalg.qr, [TALL, True], list(np.linalg.qr(TALL, "complete"))),
    Sample("Svd", tf.linalg.svd, [SQUARE, False, False], np.linalg.svd(SQUARE, compute_uv=False), differentiable=[0]),
    Sample("Svd", tf.linalg.svd, [TALL], differentiable=[0]),
    Sample("Svd", tf.linalg.pinv, [TALL], np.linalg.pinv(TALL), differentiable=[0]),
    Sample("Svd", tf.linalg.svd, [TALL.T.copy()], differentiable=[0]),
    Sample("Svd", tf.linalg.svd, [TALL, True]),
    Sample("Svd", tf.linalg.svd, [Z]),
    Sample("SelfAdjointEigV2", tf.linalg.eigh, [POSITIVE], list(np.linalg.eigh(POSITIVE))),
    Sample("SelfAdjointEigV2", eigenvalues_of_square, [SQUARE], differentiable=[0]),
    Sample("SelfAdjointEigV2", tf.linalg.eigvalsh, [POSITIVE], np.linalg.eigvalsh(POSITIVE)),
]
