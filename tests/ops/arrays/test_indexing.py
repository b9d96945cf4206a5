"""TensorFlow's special rules of indexing, gathering, scattering and searching."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nbtf as tf
from nbtf._devices.base import Spec
from nbtf._devices.discovery import simulated_machine
from nbtf._ops.arrays.indexing import slice_spec
from nbtf._runtime.context import Context, use_context
from nbtf._types import float32
from tests.ops.arrays.test_creation import placed
from tests.ops.arrays.test_shapes import shapes
from tests.ops.refusals import refused

SHAPE = (2, 3, 4)
CUBE = np.arange(24).reshape(SHAPE)
NO_INDEX = "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors"


def cube() -> tf.Tensor:
    return tf.constant(CUBE)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (5, "slice index 5 of dimension 0 out of bounds."),
        (-3, "slice index -1 of dimension 0 out of bounds."),
        ((0, 3), "slice index 3 of dimension 1 out of bounds."),
        ((None, 0, 3), "slice index 3 of dimension 1 out of bounds."),
        ((0, 0, 0, 0), "Index out of range using input dim 3; input has only 3 dims"),
        ((0, ..., 0, 0, 0), "Index out of range using input dim 3; input has only 3 dims"),
        (slice(None, None, 0), "strides[0] must be non-zero"),
        ((slice(None), slice(None, None, 0)), "strides[1] must be non-zero"),
        ((..., ...), "Multiple ellipses in slice spec not allowed"),
        (2**40, "slice index 1099511627776 of dimension 0 out of bounds."),
    ],
)
def test_keys_that_do_not_fit_are_refused(key: Any, text: str) -> None:
    refused(lambda: cube()[key], text)


@pytest.mark.parametrize("key", [0, slice(None), (None, 0), (..., 0)])
def test_a_scalar_has_no_parts(key: Any) -> None:
    refused(lambda: tf.constant(1)[key], "Attempting to slice scalar input.")


@pytest.mark.parametrize(
    "key", [1.0, "a", b"a", {}, range(2), 1 + 0j, np.True_, np.array([0, 1]), np.array(1.5), slice(1.5, None), (0, [1])]
)
def test_what_is_no_index_is_refused(key: Any) -> None:
    refused(lambda: cube()[key], NO_INDEX, TypeError)


@pytest.mark.parametrize("dtype", [tf.float32, tf.int8, tf.uint8])
def test_tensors_of_other_dtypes_are_no_indices(dtype: tf.DType) -> None:
    refused(lambda: cube()[tf.constant(1, dtype)], NO_INDEX, TypeError)


def test_a_vector_is_no_index() -> None:
    refused(lambda: cube()[tf.constant([0, 1])], NO_INDEX, TypeError)


@pytest.mark.parametrize("mask", [True, False])
def test_a_mask_has_axes(mask: bool) -> None:
    refused(lambda: cube()[mask], "mask cannot be scalar.", ValueError)
    refused(lambda: cube()[tf.constant(mask)], "mask cannot be scalar.", ValueError)


def test_a_mask_fits_the_axes_it_covers() -> None:
    refused(lambda: cube()[tf.ones([2, 4], tf.bool)], "Shapes (2, 3) and (2, 4) are incompatible", ValueError)


def test_a_list_means_what_a_tuple_means() -> None:
    assert CUBE[0, 1].tolist() == cube()[[0, 1]].numpy().tolist()


def test_truth_values_beside_others_are_numbers() -> None:
    assert CUBE[:, 1].tolist() == cube()[:, True].numpy().tolist()


def test_tensors_are_indices_and_bounds() -> None:
    one, two = tf.constant(1), tf.constant(2, tf.int64)

    assert CUBE[1].tolist() == cube()[one].numpy().tolist()
    assert CUBE[:, 1:2].tolist() == cube()[:, one:two].numpy().tolist()
    assert CUBE[0, ::2].tolist() == cube()[0, ::two].numpy().tolist()
    assert CUBE[1].tolist() == cube()[tf.Variable(1)].numpy().tolist()


def bounds(length: int) -> st.SearchStrategy[int | None]:
    return st.none() | st.integers(-length - 2, length + 2)


@st.composite
def keys(draw: st.DrawFn) -> tuple[Any, ...]:
    """Draws keys that NumPy takes as well."""
    named = draw(st.integers(0, len(SHAPE)))
    parts: list[Any] = []
    for length in SHAPE[:named]:
        steps = st.sampled_from([None, 1, 2, -1, -2])
        part = st.builds(slice, bounds(length), bounds(length), steps) | st.integers(-length, length - 1)
        parts.append(draw(part))
    for _ in range(draw(st.integers(0, 2))):
        parts.insert(draw(st.integers(0, len(parts))), None)
    if draw(st.booleans()):
        parts.append(Ellipsis)
    return tuple(parts)


@given(keys())
def test_parts_are_those_that_numpy_takes(key: tuple[Any, ...]) -> None:
    assert CUBE[key].tolist() == cube()[key].numpy().tolist()


@given(keys())
def test_what_the_key_takes_is_known_before(key: tuple[Any, ...]) -> None:
    begin, end, strides, masks = slice_spec(key)

    attrs = {"begin": tuple(begin), "end": tuple(end), "strides": tuple(strides), "masks": masks}

    assert [CUBE[key].shape] == shapes("StridedSlice", Spec(SHAPE, float32), **attrs)


def test_lengths_that_are_not_known_stay_unknown() -> None:
    begin, end, strides, masks = slice_spec((slice(1, None), 0))

    attrs = {"begin": tuple(begin), "end": tuple(end), "strides": tuple(strides), "masks": masks}

    assert [(None, None)] == shapes("StridedSlice", Spec((None, 3, None), float32), **attrs)


def test_a_slice_logs_three_constants_after_that_of_its_tensor() -> None:
    assert [*["_EagerConst"] * 4, "StridedSlice"] == placed(lambda: cube()[0, 1:])


def test_a_part_of_a_gpu_tensor_is_on_the_gpu() -> None:
    with use_context(Context(simulated_machine(1, "Tesla K20m"), environ={})):
        part = tf.ones([2, 2])[0]

    assert ("GPU:0", "GPU:0") == (part.device[-5:], part.backing_device[-5:])


def test_scalars_of_texts_stay_texts() -> None:
    texts = tf.constant(["a", "bc"])

    assert b"bc" == texts[1].numpy() == tf.gather(texts, 1).numpy() == tf.gather_nd(texts, [1]).numpy()
    assert [b"a", b"bc"] == [one.numpy() for one in texts]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tf.gather([1, 2, 3], 3), "indices = 3 is not in [0, 3)"),
        (lambda: tf.gather([1, 2, 3], -1), "indices = -1 is not in [0, 3)"),
        (lambda: tf.gather([1, 2, 3], tf.constant([-1], tf.int64)), "indices[0] = -1 is not in [0, 3)"),
        (lambda: tf.gather([1, 2, 3], [[0, 5]]), "indices[0,1] = 5 is not in [0, 3)"),
        (lambda: tf.gather([[1, 2]], [[7]], axis=1, batch_dims=1), "indices[0,0] = 7 is not in [0, 2)"),
        (lambda: tf.gather([[1, 2]], [0], axis=2), "Shape must be at least rank 3 but is rank 2"),
        (lambda: tf.gather([[1, 2]], [0], axis=-3), "Shape must be at least rank 3 but is rank 2"),
        (lambda: tf.gather([[1, 2]], [0], axis=[0]), "axis must be scalar"),
        (lambda: tf.gather([[1]], [[0]], axis=1, batch_dims=2), "batch_dims (2) must be less than rank(params) (2)."),
        (
            lambda: tf.gather([[1], [2]], [[0]], axis=1, batch_dims=1),
            "params.shape[0]: 2 should be equal to indices.sh",
        ),
        (lambda: tf.gather(5, [0]), "params must be at least 1 dimensional"),
        (lambda: tf.gather([1], [0.5]), "Value for attr 'Tindices' of float is not in the list of allowed values"),
        (
            lambda: tf.gather_nd([[1, 2]], [[0, 5]]),
            "indices[0] = [0, 5] does not index into param shape [1,2], node name",
        ),
        (
            lambda: tf.gather_nd([[1, 2]], [[0, 0, 0]]),
            "index innermost dimension length must be <= params rank; saw: 3 vs. 2",
        ),
        (lambda: tf.gather_nd([[1, 2]], 0), "indices must be at least a vector"),
        (lambda: tf.gather_nd(5, [0]), "params must be at least a vector"),
        (lambda: tf.scatter_nd([[0], [5]], [1, 2], [4]), "indices[1] = [5] does not index into shape [4]"),
        (
            lambda: tf.scatter_nd([[0]], [1, 2], [4]),
            "Dimensions [0,1) of indices[shape=[1,1]] must match dimensions [0,1)",
        ),
        (
            lambda: tf.scatter_nd([[0]], [[1, 2]], [4, 3]),
            "Dimensions [1,2) of input[shape=[4,3]] must match dimensions [1,2)",
        ),
        (lambda: tf.scatter_nd([[0, 0]], [1], [4]), "Dimensions [2,1) of input[shape=[4]] must match dimensions [1,1)"),
        (lambda: tf.scatter_nd(0, 1, [4]), "Indices shape must have rank at least one. Found:[]"),
        (lambda: tf.scatter_nd([[0]], [1], [-1]), "Dimension -1 must be >= 0"),
        (lambda: tf.tensor_scatter_nd_update([1], [[3]], [9]), "indices[0] = [3] does not index into shape [1]"),
        (
            lambda: tf.tensor_scatter_nd_update([1], [0], [9]),
            "Inner dimensions of output shape must match inner dimensions",
        ),
        (lambda: tf.tensor_scatter_nd_add([1], [[0]], [9, 8]), "Outer dimensions of indices and update must match."),
        (
            lambda: tf.tensor_scatter_nd_max([[1, 2]], [[0]], [[1, 2, 3]]),
            "The inner 1 dimensions of output.shape=[1,2] must",
        ),
        (lambda: tf.unique([[1]]), "unique expects a 1D vector."),
        (lambda: tf.unique([1], tf.float32), "Value for attr 'out_type' of float is not in the list of allowed values"),
        (lambda: tf.searchsorted([[1], [2]], [[1]]), "Leading dim_size of both tensors must match."),
        (lambda: tf.searchsorted([1, 2], 1), "slice index -1 of dimension 0 out of bounds."),
        (lambda: tf.math.invert_permutation([0, 0]), "0 is duplicated in the input."),
        (lambda: tf.math.invert_permutation([0, 5]), "5 is not between 0 and 2"),
        (lambda: tf.math.invert_permutation([[0]]), "invert_permutation expects a 1D vector."),
        (lambda: tf.dynamic_partition([1, 2], [0, 2], 2), "partitions[1] = 2 is not in [0, 2)"),
        (
            lambda: tf.dynamic_partition([1, 2], [0], 2),
            "data.shape must start with partitions.shape, got data.shape = [2]",
        ),
        (lambda: tf.dynamic_partition([1], [0], 0), "Value for attr 'num_partitions' of 0 must be at least minimum 1"),
        (
            lambda: tf.dynamic_stitch([[0], [1]], [[1], [[2]]]),
            "Need data[0].shape[1:] = data[1].shape[1:], got data[0].sh",
        ),
        (lambda: tf.dynamic_stitch([[-1]], [[1]]), "indices[0] is out of range"),
    ],
)
def test_kernels_refuse_in_tensorflows_words(call: Callable[[], Any], text: str) -> None:
    refused(call, text)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tf.boolean_mask([1, 2, 3], [True, False]), "Shapes (3,) and (2,) are incompatible"),
        (lambda: tf.repeat([1, 2], [1, 2, 3]), "Dimensions 2 and 3 are not compatible"),
        (lambda: tf.repeat([1, 2], [1, 2], axis=3), "axis=3 out of bounds: expected -1<=axis<1"),
        (lambda: tf.repeat([1, 2], [[1, 2]]), "Shape (1, 2) must have rank at most 1"),
        (
            lambda: tf.sequence_mask([1], [2, 3]),
            "Argument `maxlen` must be scalar for sequence_mask, received `maxlen`",
        ),
        (lambda: tf.searchsorted([1], [1], side="up"), "Argument `side` must be either 'right' or 'left'."),
    ],
)
def test_functions_refuse_arguments_in_tensorflows_words(call: Callable[[], Any], text: str) -> None:
    refused(call, text, ValueError)


def test_repeats_are_integers() -> None:
    refused(lambda: tf.repeat([1], 2.5), "Argument `tensor` (name: repeats) must be of type integer.", TypeError)


def test_along_the_first_axis_there_is_no_batch() -> None:
    assert (2, 1, 2) == tf.gather([[1, 2], [3, 4]], [[0], [1]], axis=0, batch_dims=1).shape


def test_of_two_updates_of_one_place_the_last_counts() -> None:
    assert [8, 2] == tf.tensor_scatter_nd_update([1, 2], [[0], [0]], [9, 8]).numpy().tolist()


def test_what_is_scattered_into_is_not_changed() -> None:
    tensor = tf.constant([1, 2])
    tf.tensor_scatter_nd_add(tensor, [[0]], [5])

    assert [1, 2] == tensor.numpy().tolist()


def test_unique_values_print_as_tensorflows_do() -> None:
    assert repr(tf.unique([1])).startswith("Unique(y=<tf.Tensor")
    assert repr(tf.unique_with_counts([1])).startswith("UniqueWithCounts(y=<tf.Tensor")


@given(st.lists(st.integers(0, 4), max_size=8))
def test_unique_values_come_in_the_order_of_the_vector(values: list[int]) -> None:
    y, idx = tf.unique(tf.constant(values, tf.int32))

    assert list(dict.fromkeys(values)) == y.numpy().tolist()
    assert values == tf.gather(y, idx).numpy().tolist()


@given(st.permutations(range(6)))
def test_a_permutation_and_its_inverse_give_the_identity(values: list[int]) -> None:
    assert list(range(6)) == tf.gather(values, tf.math.invert_permutation(values)).numpy().tolist()


@given(st.lists(st.integers(0, 2), min_size=1, max_size=8))
def test_stitch_undoes_partition(where: list[int]) -> None:
    places = tf.range(len(where))
    parts = tf.dynamic_partition(places * 10, where, 3)

    stitched = tf.dynamic_stitch(tf.dynamic_partition(places, where, 3), parts)

    assert [10 * i for i in range(len(where))] == stitched.numpy().tolist()


@given(st.lists(st.integers(0, 4), min_size=1, max_size=5), st.booleans())
def test_repeat_is_numpys(counts: list[int], rows: bool) -> None:
    values = np.arange(2 * len(counts)).reshape(len(counts), 2)
    axis = 0 if rows else -1
    values = values if rows else values.T

    assert np.repeat(values, counts, axis).tolist() == tf.repeat(values, counts, axis).numpy().tolist()


def test_a_number_of_16_bits_is_an_index() -> None:
    matrix = tf.constant([[1, 2, 3], [4, 5, 6]])

    assert [4, 5, 6] == matrix[tf.constant(1, tf.int16)].numpy().tolist()


@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("repeats", [3, [2], [0]])
def test_slices_are_repeated_along_unknown_lengths(axis: int | None, repeats: Any) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    traced = tf.function(lambda x: tf.repeat(x, repeats, axis=axis))
    concrete = traced.get_concrete_function(tf.TensorSpec([None, 2, None]))

    np.testing.assert_array_equal(np.repeat(x, repeats, axis=axis), concrete(tf.constant(x)).numpy())


def test_nan_is_unequal_to_nan() -> None:
    values = [1.0, np.nan, 2.0, np.nan, 1.0]
    rows = [[1.0, np.nan], [1.0, 2.0], [1.0, np.nan], [1.0, 2.0]]

    assert tf.unique(values).idx.numpy().tolist() == [0, 1, 2, 3, 0]
    assert tf.unique_with_counts(values).count.numpy().tolist() == [2, 1, 1, 1]
    assert tf.raw_ops.UniqueV2(x=values, axis=[0])[1].numpy().tolist() == [0, 1, 2, 3, 0]
    assert tf.raw_ops.UniqueV2(x=rows, axis=[0])[1].numpy().tolist() == [0, 1, 2, 1]
