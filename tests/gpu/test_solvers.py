"""Do solvers on a GPU report where they failed? CuPy's solvers fail silently by default."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf.errors import InvalidArgumentError

pytestmark = pytest.mark.usefixtures("used")
SINGULAR = [[1.0, 2.0], [2.0, 4.0]]
INDEFINITE = [[1.0, 2.0], [2.0, 1.0]]


@pytest.mark.parametrize("matrix", [SINGULAR, [SINGULAR, np.eye(2).tolist()]])
@pytest.mark.parametrize("function", [tf.linalg.inv, lambda matrix: tf.linalg.solve(matrix, tf.ones_like(matrix))])
def test_a_singular_matrix_is_refused(function: Any, matrix: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="is not invertible"):
        function(tf.constant(matrix))


def test_only_the_matrix_that_is_not_positive_definite_has_a_factor_of_nan() -> None:
    factors = tf.linalg.cholesky(tf.constant([INDEFINITE, np.eye(2).tolist()])).numpy()

    assert [[True, False], [True, True]] == np.isnan(factors[0]).tolist()
    assert [[1, 0], [0, 1]] == factors[1].tolist()


def test_a_determinant_of_zero_is_no_failure() -> None:
    assert 0 == tf.linalg.det(tf.constant(SINGULAR)).numpy()


def test_the_user_s_own_solvers_stay_as_they_were() -> None:
    with pytest.raises(InvalidArgumentError):
        tf.linalg.inv(tf.constant(SINGULAR))

    cupy: Any = importlib.import_module("cupy")
    assert (2, 2) == cupy.linalg.inv(cupy.asarray(np.array(SINGULAR))).shape
