"""Does linear algebra answer infinities and nan as TensorFlow 2.21 did on a CPU, on every array library?

`nonfinite.json` holds calls of `tf.linalg` in float32 with what they gave: results, or class and text of an error.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from tests.fake_cupy.devices import fake_context

RECORDED: list[dict[str, Any]] = json.loads(Path(__file__).with_name("nonfinite.json").read_text())
SIGNED_FREELY = ("eigh", "qr", "svd")
"""Their vectors may point either way."""
_ORDER = "TensorFlow's order of elimination multiplies this infinity by 0, LAPACK's does not"
_WIDE = "LAPACK turns the columns to the right of the square one by one: some of their infinities stay"
NOT_MET = {
    "det-28": _ORDER,
    "slogdet-28": _ORDER,
    "qr-32": "TensorFlow leaves a column alone whose rest is 0, even if it starts with nan",
    "qr-74": "LAPACK leaves a 0 where all else is nan",
    "qr-91": _WIDE,
    "qr-95": _WIDE,
}
"""Calls that differ, and why."""

every_function = pytest.mark.parametrize("name", sorted({call["call"] for call in RECORDED}))


def answer(call: dict[str, Any]) -> tuple[list[Any] | None, list[str] | None]:
    tensors = [tf.constant(value, tf.float32) for value in call["arguments"]]
    try:
        results = getattr(tf.linalg, call["call"])(*tensors, **call["attributes"])
    except tf.errors.InvalidArgumentError as error:
        return None, [type(error).__name__, error.message.split("}} ")[-1].split(" [Op:")[0]]
    return [result.numpy() for result in tf.nest.flatten(results)], None


def agrees(call: dict[str, Any]) -> bool:
    results, error = answer(call)
    if error is not None or results is None or call["results"] is None:
        return error == call["error"]
    size = np.abs if call["call"] in SIGNED_FREELY else np.asarray
    return all(
        np.allclose(size(result), size(np.array(expected, np.float32)), rtol=1e-3, atol=1e-3, equal_nan=True)
        for result, expected in zip(results, call["results"], strict=True)
    )


def differing(name: str) -> list[str]:
    return [call["name"] for call in RECORDED if call["call"] == name and not agrees(call)]


@every_function
def test_answers_are_those_of_tensorflow(name: str) -> None:
    assert differing(name) == [call for call in NOT_MET if call.startswith(name + "-")]


@every_function
def test_a_gpu_answers_as_the_cpu(name: str) -> None:
    with fake_context():
        assert differing(name) == [call for call in NOT_MET if call.startswith(name + "-")]


EVERY_PATTERN = """
import itertools, warnings
import numpy as np
import nbtf as tf
warnings.simplefilter("ignore")
calls = ["svd", "eigh", "eigvalsh", "qr", "cholesky", "inv", "det", "slogdet", "logdet", "matrix_rank"]
values = [np.nan, np.inf, -np.inf, 3e38, 1e-45, 0.0]
start = np.array([[np.inf, 1, 1], [1, -1, 1], [1, 1, 0.5]])
for call, value, position, dtype in itertools.product(calls, values, range(9), ["float32", "float64", "complex64"]):
    matrix = start.copy()
    matrix.flat[position] = value
    try:
        getattr(tf.linalg, call)(tf.constant([matrix, np.eye(3)], dtype))
    except tf.errors.InvalidArgumentError:
        pass
print("all came back")
"""


def test_every_decomposition_comes_back_from_every_pattern() -> None:
    process = [sys.executable, "-c", EVERY_PATTERN]

    result = subprocess.run(process, capture_output=True, text=True, timeout=60)  # a hang also ignores interrupts

    assert result.stdout == "all came back\n", result.stderr


def test_one_bad_matrix_leaves_the_others_of_its_batch() -> None:
    batch = tf.constant([[[np.nan, 1.0], [1.0, 2.0]], [[3.0, 0.0], [0.0, 4.0]]])

    assert np.isnan(tf.linalg.svd(batch, compute_uv=False)[0]).all()
    np.testing.assert_allclose(tf.linalg.svd(batch, compute_uv=False)[1], [4.0, 3.0])
    np.testing.assert_allclose(tf.linalg.cholesky(batch)[1], [[3**0.5, 0.0], [0.0, 2.0]], rtol=1e-6)


def test_a_zero_on_the_diagonal_of_a_triangle_divides() -> None:
    solution = tf.linalg.triangular_solve([[2.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], [[2.0], [3.0], [4.0]])

    np.testing.assert_equal(solution.numpy(), [[1.0], [np.inf], [np.nan]])
