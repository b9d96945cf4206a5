"""LU decompositions, pseudo-inverses and eigenvectors have the products that define them; errors are TensorFlow's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (2, 3, 5, 5), (0, 3, 3), (2, 0, 0)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_the_product_of_lower_and_upper_is_the_matrix_with_exchanged_rows(shape: Any, dtype: str) -> None:
    matrices = RANDOM.normal(size=shape).astype(dtype)
    if dtype.startswith("complex"):
        matrices += 1j * RANDOM.normal(size=shape)

    lu, p = tf.linalg.lu(matrices, output_idx_type=tf.int64)

    assert (lu.dtype.name, p.dtype, p.shape) == (dtype, tf.int64, shape[:-1])
    lower = np.tril(lu.numpy(), -1) + np.eye(shape[-1], dtype=dtype)
    expected = np.take_along_axis(matrices, p.numpy()[..., None], -2)
    np.testing.assert_allclose(lower @ np.triu(lu.numpy()), expected, atol=1e-5)
    assert (abs(lower) <= 1 + 1e-6).all()


def test_faults_of_lu_are_named() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be square"):
        tf.linalg.lu(np.ones((2, 3)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="rank >= 2, got 1"):
        tf.linalg.lu([1.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
        tf.linalg.lu(np.ones((2, 2)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="output_idx_type"):
        tf.linalg.lu(np.eye(2), output_idx_type=tf.float32)


@pytest.mark.parametrize("shape", [(3, 3), (2, 5, 3), (2, 3, 5)])
def test_pseudo_inverses_are_those_of_numpy(shape: Any) -> None:
    matrices = RANDOM.normal(size=shape)
    matrices[..., 0] = matrices[..., 1]  # without full rank

    found = tf.linalg.pinv(matrices)

    np.testing.assert_allclose(found, np.linalg.pinv(matrices), atol=1e-10)
    np.testing.assert_allclose(tf.linalg.pinv(matrices, rcond=0.5), np.linalg.pinv(matrices, rcond=0.5), atol=1e-10)
    traced = tf.function(tf.linalg.pinv, input_signature=[tf.TensorSpec([None] * len(shape), tf.float64)])
    np.testing.assert_allclose(traced(tf.constant(matrices)), found, atol=1e-12)


def test_faults_of_pinv_are_named() -> None:
    with pytest.raises(TypeError, match="saw int32"):
        tf.linalg.pinv([[1, 2]])
    with pytest.raises(ValueError, match="saw: 1"):
        tf.linalg.pinv([1.0, 2.0])


@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (2, 3, 5, 5), (0, 3, 3), (2, 0, 0)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_eigenvectors_are_only_stretched(shape: Any, dtype: str) -> None:
    matrices = RANDOM.normal(size=shape).astype(dtype)
    if dtype.startswith("complex"):
        matrices += 1j * RANDOM.normal(size=shape)

    values, vectors = tf.linalg.eig(matrices)

    expected = "complex64" if dtype in ("float32", "complex64") else "complex128"
    assert (values.dtype.name, vectors.dtype.name, values.shape, vectors.shape) == (
        expected,
        expected,
        shape[:-1],
        shape,
    )
    np.testing.assert_allclose(matrices @ vectors, values.numpy()[..., None, :] * vectors.numpy(), atol=1e-4)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=-2), np.ones(shape[:-1]), atol=1e-5)
    np.testing.assert_allclose(tf.linalg.eigvals(matrices), values, atol=1e-4)


def test_faults_of_eig_are_named() -> None:
    for decompose in (tf.linalg.eig, tf.linalg.eigvals):
        with pytest.raises(tf.errors.InvalidArgumentError, match="must be square"):
            decompose(np.ones((2, 3)))
        with pytest.raises(tf.errors.InvalidArgumentError, match="rank >= 2, got 1"):
            decompose([1.0])
        with pytest.raises(tf.errors.InvalidArgumentError, match="int64 is not in the list"):
            decompose(np.ones((2, 2), np.int64))
        for wrong in (np.nan, np.inf):
            with pytest.raises(tf.errors.InvalidArgumentError, match="not successful"):
                decompose([[1.0, wrong], [0.0, 1.0]])


@pytest.mark.parametrize("traced", [False, True])
def test_diagonals_of_bools_are_padded_with_false(traced: bool) -> None:
    def both() -> tuple[Any, Any]:
        return tf.linalg.diag(tf.constant([True, True])), tf.linalg.diag_part(tf.ones([2, 3], tf.bool), k=(0, 2))

    matrix, diagonals = (tf.function(both) if traced else both)()

    assert matrix.numpy().tolist() == [[True, False], [False, True]]
    assert diagonals.numpy().tolist() == [[False, True], [True, True], [True, True]]
