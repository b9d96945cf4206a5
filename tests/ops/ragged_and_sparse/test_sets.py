"""Are the results of `tf.sets` those of Python's sets, for dense and sparse operands?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf

OPERATIONS: dict[str, tuple[Any, Any]] = {
    "intersection": (tf.sets.intersection, lambda a, b: a & b),
    "union": (tf.sets.union, lambda a, b: a | b),
    "difference": (tf.sets.difference, lambda a, b: a - b),
    "reverse": (lambda a, b: tf.sets.difference(a, b, aminusb=False), lambda a, b: b - a),
}


def as_sparse(rows: Any) -> tf.SparseTensor:
    """Returns a matrix as a sparse tensor that stores all of it."""
    return tf.SparseTensor(np.argwhere(np.ones_like(rows, bool)), np.ravel(rows), np.shape(rows))


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("kinds", [(0, 0), (0, 1), (1, 0), (1, 1)], ids=["dense", "right", "left", "sparse"])
@pytest.mark.parametrize("dtype", [np.int64, np.uint8, object])
def test_a_result_is_that_of_python(name: str, kinds: tuple[int, int], dtype: Any) -> None:
    operation, of_python = OPERATIONS[name]
    generator = np.random.default_rng(7)
    arrays = [generator.integers(0, 5, (3, width)).astype(dtype) for width in (4, 2)]
    if dtype is object:
        arrays = [np.vectorize(lambda number: b"%d" % number, otypes=[object])(array) for array in arrays]
    operands = [as_sparse(array) if kind else tf.constant(array) for array, kind in zip(arrays, kinds, strict=True)]

    result = operation(*operands)
    sets = [sorted(of_python(set(a), set(b))) for a, b in zip(*[array.tolist() for array in arrays], strict=True)]

    assert [
        [row, place] for row, each in enumerate(sets) for place in range(len(each))
    ] == result.indices.numpy().tolist()
    assert [element for each in sets for element in each] == result.values.numpy().tolist()
    assert [3, max(map(len, sets))] == result.dense_shape.numpy().tolist()


def test_sizes_count_different_elements() -> None:
    assert [2, 0, 1] == tf.sets.size(tf.sparse.from_dense([[1, 2, 1], [0, 0, 0], [0, 4, 0]])).numpy().tolist()


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (lambda: tf.sets.union([[1]], [[1], [2]]), tf.errors.InvalidArgumentError, "Mismatched shapes"),
        (lambda: tf.sets.union([1], [1]), tf.errors.InvalidArgumentError, "Shape [1] has rank 1 < 2"),
        (lambda: tf.sets.union([[1]], tf.constant([[1]], tf.int64)), TypeError, "Types don't match"),
        (lambda: tf.sets.size(tf.constant([[1]])), TypeError, "Expected `SparseTensor`"),
        (
            lambda: tf.sets.size(tf.SparseTensor([[0, 1], [0, 0]], [1, 2], [1, 2])),
            tf.errors.InvalidArgumentError,
            "out of order",
        ),
    ],
)
def test_what_does_not_fit_is_refused(function: Any, error: Any, text: str) -> None:
    with pytest.raises(error) as caught:
        function()

    assert text in str(caught.value)
