"""TensorFlow's special rules of shapes, joining, padding and identities."""

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
from nbtf._ops.op import OPS
from nbtf._runtime.context import Context, use_context
from nbtf._types import float32
from tests.ops.refusals import refused


def shapes(type: str, *inputs: Any, **attrs: Any) -> list[Any]:
    """Returns the shapes that an op says its results will have."""
    return [spec.shape for spec in OPS[type].specs(inputs, attrs) or ()]


def ones(*shape: int) -> tf.Tensor:
    return tf.ones(shape)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: tf.transpose(ones(1, 2), [0]),
            "transpose expects a vector of size 2. But input(1) is a vector of size 1",
        ),
        (lambda: tf.transpose(ones(1, 2), [0, 0]), "1 is missing from {0,0}."),
        (lambda: tf.transpose(ones(1, 2), [0, 2]), "2 is out of range [0 .. 2)"),
        (lambda: tf.transpose(ones(1, 2), 1), "perm must be rank 1, got shape []"),
        (lambda: tf.transpose(ones(1, 2), [1.0, 0.0]), "Value for attr 'Tperm' of float is not in the list of allowed"),
        (lambda: tf.expand_dims(ones(2), 5), "Tried to expand dim index 5 for tensor with 1 dimensions."),
        (lambda: tf.expand_dims(ones(2), -3), "Tried to expand dim index -3 for tensor with 1 dimensions."),
        (lambda: tf.expand_dims(ones(2), [0, 1]), "'dim' must be a tensor with a single value"),
        (lambda: tf.squeeze(ones(2, 1), 0), "Can not squeeze dim[0], expected a dimension of 1, got 2"),
        (lambda: tf.squeeze(ones(2, 1), 5), "Tried to squeeze dim index 5 for tensor with 2 dimensions."),
        (
            lambda: tf.shape(ones(1), tf.float32),
            "Value for attr 'out_type' of float is not in the list of allowed values",
        ),
        (lambda: tf.ensure_shape(ones(2), [3]), "Shape of tensor input [2] is not compatible with expected shape [3]."),
        (
            lambda: tf.concat([ones(2, 2), ones(3)], 0),
            "ConcatOp : Ranks of all input tensors should match: shape[0] = [2,2] vs. shape[1] = [3]",
        ),
        (
            lambda: tf.concat([ones(2, 2), ones(3, 3)], 0),
            "ConcatOp : Dimension 1 in both shapes must be equal: shape[0] = [2,2] vs. shape[1] = [3,3]",
        ),
        (
            lambda: tf.concat([ones(1), ones(1)], 1),
            "ConcatOp : Expected concatenating dimensions in the range [-1, 1), but got 1",
        ),
        (lambda: tf.concat([ones(), ones()], 0), "ConcatOp : Can't concatenate scalars (use tf.stack instead)"),
        (
            lambda: tf.concat([ones(1), tf.constant([True])], 0),
            "cannot compute ConcatV2 as input #1(zero-based) was expected to be a float tensor but is a bool tensor",
        ),
        (
            lambda: tf.stack([ones(2), ones(3)]),
            "Shapes of all inputs must match: values[0].shape = [2] != values[1].shape = [3]",
        ),
        (lambda: tf.unstack(ones(2, 2), num=3), "Input shape axis 0 must equal 3, got shape [2,2]"),
        (
            lambda: tf.split(ones(4), 3),
            "Number of ways to split should evenly divide the split dimension, but got split_dim 0 (size = 4)",
        ),
        (lambda: tf.split(ones(4), 2, axis=1), "-input rank(-1) <= split_dim < input rank (1), but got 1"),
        (lambda: tf.split(ones(4), 0), "Value for attr 'num_split' of 0 must be at least minimum 1"),
        (lambda: tf.split(ones(4), []), "Value for attr 'num_split' of 0 must be at least minimum 1"),
        (lambda: tf.split(ones(4), [-1, -1]), "There can only be one -1 in the input."),
        (
            lambda: tf.split(ones(4), [1, 1]),
            "Determined shape must either match input shape along split_dim exactly if fully specified",
        ),
        (lambda: tf.split(ones(3), [-2, 5]), "Split size at index 0 must be >= 0. Got: -2"),
        (lambda: tf.slice(ones(3), [1], [3]), "Expected size[0] in [0, 2], but got 3"),
        (lambda: tf.slice(ones(3), [-1], [1]), "Expected begin[0] in [0, 3], but got -1"),
        (
            lambda: tf.slice(ones(3), [1, 0], [1, 1]),
            "Expected begin and size arguments to be 1-D tensors of size 1, but got shapes [2] and [2] instead.",
        ),
        (lambda: tf.pad(ones(1, 2), [[0, 0]]), "The first dimension of paddings must be the rank of inputs[1,2] [1,2]"),
        (lambda: tf.pad(ones(1, 2), [0, 0]), "paddings must be a matrix with 2 columns: [2]"),
        (lambda: tf.pad(ones(2), [[-1, 0]]), "Paddings must be non-negative: -1 0"),
        (
            lambda: tf.pad(ones(2), [[2, 1]], "REFLECT"),
            "paddings must be less than the dimension size: 2, 1 not less than 2",
        ),
        (
            lambda: tf.pad(ones(2), [[3, 1]], "SYMMETRIC"),
            "paddings must be no greater than the dimension size: 3, 1 greater than 2",
        ),
        (lambda: tf.tile(ones(2), [2, 2]), "Expected multiples argument to be a vector of length 1 but got length 2"),
        (lambda: tf.tile(ones(2), [-1]), "Expected multiples[0] >= 0, but got -1"),
        (lambda: tf.tile(ones(2), 2), "Expected multiples to be 1-D, but got shape []"),
        (lambda: tf.reverse(ones(3), [1]), "'axis'[0] = 1 is out of valid range [0, 0"),
        (lambda: tf.reverse(ones(3), [0, -1]), "axis 0 specified more than once."),
        (lambda: tf.reverse(ones(3), 0), "'dims' must be 1-dimension, not 0"),
        (lambda: tf.roll(ones(3), 1, 5), "axis 5 is out of range"),
        (lambda: tf.roll(ones(3), [1, 2], 0), "shift and axis must have the same size"),
        (lambda: tf.roll(ones(3), [1, 2], [0]), "shift and axis must have the same size"),
        (lambda: tf.roll(ones(), 1, 0), "input must be 1-D or higher"),
    ],
)
def test_kernels_refuse_in_tensorflows_words(call: Callable[[], Any], text: str) -> None:
    refused(call, text)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tf.stack([ones(2), ones(2)], axis=3), "Argument `axis` = 3 not in range [-2, 2)"),
        (lambda: tf.unstack(ones(2, 2), axis=-3), "Argument `axis` = -3 not in range [-2, 2)"),
        (
            lambda: tf.split(ones(4), tf.constant(2)),
            "Rank-0 tensors are not supported as the num_or_size_splits argument",
        ),
        (
            lambda: tf.pad(ones(1), [[0, 0]], "mirror"),
            'Value of argument `mode` expected to be one of "CONSTANT", "REFLECT"',
        ),
        (
            lambda: tf.broadcast_static_shape(tf.TensorShape([4]), tf.TensorShape([3])),
            "Incompatible shapes for broadcasting.",
        ),
    ],
)
def test_functions_refuse_arguments_in_tensorflows_words(call: Callable[[], Any], text: str) -> None:
    refused(call, text, ValueError)


def test_squeeze_wants_numbers_not_a_tensor() -> None:
    refused(lambda: tf.squeeze(ones(1), tf.constant(0)), "Expected list for 'axis' argument to 'squeeze' Op", TypeError)


def test_a_list_takes_the_dtype_of_its_first_tensor() -> None:
    assert tf.float32 is tf.concat([[1], ones(1)], 0).dtype
    assert tf.float64 is tf.stack([np.float64(1), tf.constant(2.0, tf.float64)]).dtype


def test_a_list_takes_the_dtype_of_its_first_value() -> None:
    refused(lambda: tf.concat([[1], [2.5]], 0), "Cannot convert [2.5] to EagerTensor of dtype int32", TypeError)


def test_concat_of_one_tensor_is_its_identity() -> None:
    tensor = ones(2)

    assert tf.concat([tensor], 7) is not tensor
    assert [1.0, 1.0] == tf.concat(tensor, 0).numpy().tolist()


def test_size_and_rank_of_what_is_known_are_constants() -> None:
    with use_context(Context(environ={})) as context:
        heard: list[Any] = []
        context.observers.add(heard.append)
        tf.size([[1, 2]])
        tf.rank([[1, 2]])

    assert {"_EagerConst"} == {event.op for event in heard if hasattr(event, "op")}


def test_lengths_that_are_not_known_stay_unknown() -> None:
    some = Spec((None, 3), float32)

    assert [(3, None)] == shapes("Transpose", some, perm=None)
    assert [(None, 1, 3)] == shapes("ExpandDims", some, axis=(1,))
    assert [(None, 3)] == shapes("ConcatV2", [some, Spec((2, None), float32)], axis=0)
    assert [(2, None, 3)] == shapes("Pack", [some, some], axis=0)
    assert [(None, 1), (None, 2)] == shapes("SplitV", some, size_splits=(1, 2), axis=1, num_split=2)
    assert [(None, 6)] == shapes("Tile", some, multiples=(1, 2))
    assert [(None, 2)] == shapes("Slice", some, begin=(0, 1), size=(-1, -1))
    assert [(None, 4)] == shapes("Pad", some, paddings=((1, 0), (0, 1)))


def test_shapes_of_gpu_tensors_are_read_where_they_are() -> None:
    with use_context(Context(simulated_machine(1, "Tesla K20m"), environ={})) as context:
        tensor = tf.ones([2, 3])
        heard: list[Any] = []
        context.observers.add(heard.append)
        shape = tf.shape(tensor)

    assert [] == [event for event in heard if type(event).__name__ == "Copied"]
    assert ("GPU:0", "CPU:0") == (shape.device[-5:], shape.backing_device[-5:])


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=4), st.integers(-5, 5))
def test_roll_there_and_back_changes_nothing(values: list[int], shift: int) -> None:
    assert values == tf.roll(tf.roll(values, shift, 0), -shift, 0).numpy().tolist()


@given(st.data())
def test_split_and_concat_undo_each_other(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    axis = data.draw(st.sampled_from([0, -2]))
    whole = np.arange(sum(sizes) * 2).reshape(-1, 2)

    assert whole.tolist() == tf.concat(tf.split(whole, sizes, axis), axis).numpy().tolist()


def test_a_traced_function_splits_by_a_tensor_of_sizes() -> None:
    x = tf.range(6)
    traced = tf.function(lambda first: tf.split(x, tf.concat([first, [3]], 0)))
    of_any_length = tf.function(
        lambda sizes: tf.split(x, sizes, num=3), input_signature=[tf.TensorSpec([None], tf.int32)]
    )

    for parts in (traced(tf.constant([1, 2])), of_any_length(tf.constant([1, 2, 3]))):
        assert [part.numpy().tolist() for part in parts] == [[0], [1, 2], [3, 4, 5]]
    with pytest.raises(ValueError, match="Rank-0"):
        tf.split(x, tf.constant(2))
    with pytest.raises(tf.errors.InvalidArgumentError, match="of 0 must be at least minimum 1"):
        tf.split(x, [])
