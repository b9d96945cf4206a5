"""Do sparse tensors keep what is not zero, and where it stands?"""

from __future__ import annotations

from typing import Any

import pytest

import nbtf as tf


def sparse(indices: Any = ((0, 0), (1, 2)), values: Any = (1, 2), shape: Any = (3, 4)) -> tf.SparseTensor:
    return tf.sparse.SparseTensor(indices=list(indices), values=list(values), dense_shape=list(shape))


def test_text_shows_the_three_tensors() -> None:
    text = (
        "SparseTensor(indices=tf.Tensor(\n[[0 0]\n [1 2]], shape=(2, 2), dtype=int64), "
        "values=tf.Tensor([1 2], shape=(2,), dtype=int32), dense_shape=tf.Tensor([3 4], shape=(2,), dtype=int64))"
    )

    assert [text, text] == [str(sparse()), repr(sparse())]


def test_shape_and_dtype_are_those_of_the_dense_tensor() -> None:
    assert ([3, 4], tf.int32) == (sparse().shape.as_list(), sparse().dtype)
    assert tf.SparseTensor is tf.sparse.SparseTensor


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (([[0, 0], [1, 2]], [1], [3, 4]), "Dimensions 2 and 1 are not compatible"),
        (([[0, 0], [1, 2]], [1, 2], [3]), "Dimensions 2 and 1 are not compatible"),
        (([0, 0], [1, 2], [3]), "must have rank 2"),
        (([[0, 0], [1, 2]], [[1, 2]], [3, 3]), "must have rank 1"),
    ],
)
def test_parts_that_do_not_fit_are_refused(parts: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        tf.sparse.SparseTensor(*parts)


def test_dense_tensor_is_filled_with_zeros_or_what_is_asked_for() -> None:
    s = sparse([[0, 1]], [7], [1, 3])

    assert [[0, 7, 0]] == tf.sparse.to_dense(s).numpy().tolist()
    assert [[-1, 7, -1]] == tf.sparse.to_dense(s, default_value=-1).numpy().tolist()
    assert [[b"", b"a"]] == tf.sparse.to_dense(sparse([[0, 1]], ["a"], [1, 2])).numpy().tolist()


@pytest.mark.parametrize(
    ("indices", "text"),
    [
        ([[0, 0], [5, 2]], "indices[1] = [5,2] is out of bounds: need 0 <= index < [3,4]"),
        ([[1, 0], [0, 2]], "indices[1] = [0,2] is out of order. Many sparse ops require sorted indices."),
        ([[0, 0], [0, 0]], "indices[1] = [0,0] is repeated"),
    ],
)
def test_places_that_make_no_tensor_are_refused(indices: Any, text: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.sparse.to_dense(sparse(indices))

    assert text in str(caught.value)


def test_places_are_put_in_order() -> None:
    wild = sparse([[1, 0], [0, 2], [0, 1]], [1, 2, 3])
    ordered = tf.sparse.reorder(wild)

    assert ([[0, 1], [0, 2], [1, 0]], [3, 2, 1]) == (ordered.indices.numpy().tolist(), ordered.values.numpy().tolist())
    assert (
        tf.sparse.to_dense(ordered).numpy().tolist()
        == tf.sparse.to_dense(wild, validate_indices=False).numpy().tolist()
    )


@pytest.mark.parametrize("dense", [[[1, 0], [0, 2]], [[0.0, 1.5]], [[True, False]], [["a", ""]]])
def test_dense_tensor_comes_back(dense: Any) -> None:
    t = tf.constant(dense)

    assert t.numpy().tolist() == tf.sparse.to_dense(tf.sparse.from_dense(t)).numpy().tolist()


@pytest.mark.parametrize(("adjoint_a", "adjoint_b"), [(False, False), (True, False), (False, True), (True, True)])
def test_product_is_that_of_the_dense_matrices(adjoint_a: bool, adjoint_b: bool) -> None:
    a, b = tf.constant([[0, 2], [3, 0]]), tf.constant([[1, 2], [3, 4]])
    product = tf.sparse.sparse_dense_matmul(tf.sparse.from_dense(a), b, adjoint_a, adjoint_b)

    expected = (a.numpy().T if adjoint_a else a.numpy()) @ (b.numpy().T if adjoint_b else b.numpy())
    assert expected.tolist() == product.numpy().tolist()


def test_matrices_that_do_not_fit_are_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"inner dimension does not match: 4 vs\. 1"):
        tf.sparse.sparse_dense_matmul(sparse(), [[1]])


def test_functions_are_applied_to_the_values() -> None:
    s = tf.sparse.from_dense([-1, 0])

    assert [1, 0] == tf.sparse.to_dense(tf.sparse.map_values(tf.abs, s)).numpy().tolist()
    assert [-2, 0] == tf.sparse.to_dense(tf.sparse.map_values(tf.add, s, s)).numpy().tolist()
    with pytest.raises(ValueError, match="No SparseTensor"):
        tf.sparse.map_values(tf.abs, 1)


def test_other_ops_say_what_to_do() -> None:
    with pytest.raises(tf.errors.UnimplementedError, match=r"Pass tf.sparse.to_dense"):
        tf.abs(sparse())
    with pytest.raises(TypeError, match="Input must be a SparseTensor"):
        tf.sparse.to_dense(tf.constant([1]))  # pyright: ignore[reportArgumentType]  # what is refused


@pytest.mark.parametrize(("adjoint_a", "adjoint_b"), [(False, False), (True, False), (False, True), (True, True)])
def test_dense_matrix_may_come_first_in_a_product(adjoint_a: bool, adjoint_b: bool) -> None:
    a, b = tf.constant([[0, 2], [3, 1]]), tf.constant([[1, 2], [0, 4]])
    product = tf.sparse.sparse_dense_matmul(a, tf.sparse.from_dense(b), adjoint_a, adjoint_b)

    expected = (a.numpy().T if adjoint_a else a.numpy()) @ (b.numpy().T if adjoint_b else b.numpy())
    assert expected.tolist() == product.numpy().tolist()


def test_functions_are_applied_to_each_slice() -> None:
    s = tf.sparse.from_dense([[[1.0, 0.0], [0.0, 2.0]], [[3.0, 0.0], [0.0, 0.0]]])
    dense = tf.constant([[[1.0], [2.0]], [[3.0], [4.0]]])
    products = tf.map_fn(lambda pair: tf.sparse.sparse_dense_matmul(*pair), (s, dense), fn_output_signature=tf.float32)

    assert tf.matmul(tf.sparse.to_dense(s), dense).numpy().tolist() == products.numpy().tolist()
