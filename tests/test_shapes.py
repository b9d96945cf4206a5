"""What a shape says, with lengths that may not be known."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtf._shapes import TensorShape, TensorSpec
from nbtf._types import float32, int32

UNKNOWN = TensorShape(None)

lengths = st.none() | st.integers(0, 3)
shapes = st.builds(TensorShape, st.none() | st.lists(lengths, max_size=3))


@pytest.mark.parametrize(
    ("dims", "text", "code"),
    [
        ([2, 3], "(2, 3)", "TensorShape([2, 3])"),
        ([2], "(2,)", "TensorShape([2])"),
        ([], "()", "TensorShape([])"),
        ([2, None], "(2, None)", "TensorShape([2, None])"),
        ([None], "(None,)", "TensorShape([None])"),
        (None, "<unknown>", "TensorShape(None)"),
    ],
)
def test_texts(dims: Any, text: str, code: str) -> None:
    assert (text, code) == (str(TensorShape(dims)), repr(TensorShape(dims)))


@pytest.mark.parametrize(
    "dims",
    [(2, 3), [2, 3], np.array([2, 3]), (np.int64(2), 3), TensorShape([2, 3]), range(2, 4), iter([2, 3])],
    ids=lambda dims: type(dims).__name__,
)
def test_what_describes_a_shape(dims: Any) -> None:
    assert [2, 3] == TensorShape(dims).as_list()


@pytest.mark.parametrize("dims", [3, np.int32(3), np.array(3)], ids=repr)
def test_one_length_is_a_vector(dims: Any) -> None:
    assert [3] == TensorShape(dims).as_list()


def test_lengths_become_plain_integers() -> None:
    assert [int, int] == [type(length) for length in TensorShape([np.int64(2), np.uint8(3)])]


@pytest.mark.parametrize("length", [2.0, "2", [1], object()], ids=lambda length: type(length).__name__)
def test_a_length_is_a_whole_number(length: Any) -> None:
    with pytest.raises(TypeError) as caught:
        TensorShape([length])

    assert (
        "Dimension value must be integer or None or have an __index__ method, "
        f"got value '{length!r}' with type '{type(length)!r}'"
    ) == str(caught.value)


def test_a_text_is_not_a_shape() -> None:
    text: Any = "ab"

    with pytest.raises(TypeError, match=r"^Failed to convert ''ab'' to a shape: ''a''could not be converted"):
        TensorShape(text)


def test_a_length_is_not_negative() -> None:
    with pytest.raises(ValueError, match=r"^Dimension -1 must be >= 0$"):
        TensorShape([2, -1])


def test_the_fast_way_gives_the_same_shape() -> None:
    shape = TensorShape.of((2, 3))

    assert TensorShape([2, 3]) == shape
    assert TensorShape is type(shape)


def test_rank_and_lists() -> None:
    shape = TensorShape([2, None])

    assert (2, 2, [2, None], [2, None]) == (shape.rank, shape.ndims, shape.dims, shape.as_list())


def test_an_unknown_rank_is_none() -> None:
    assert (None, None, None, None) == (UNKNOWN.rank, UNKNOWN.ndims, UNKNOWN.dims, UNKNOWN.num_elements())


def test_changing_a_list_leaves_the_shape() -> None:
    shape = TensorShape([2])
    shape.as_list().append(3)

    assert [2] == shape.as_list()


@pytest.mark.parametrize(("dims", "count"), [([2, 3], 6), ([], 1), ([0, 2], 0), ([2, None], None), ([0, None], None)])
def test_number_of_elements(dims: list[int | None], count: int | None) -> None:
    assert count == TensorShape(dims).num_elements()


@pytest.mark.parametrize(
    ("what", "text"),
    [
        (TensorShape.as_list, "as_list() is not defined on an unknown TensorShape."),
        (len, "Cannot take the length of shape with unknown rank."),
        (iter, "Cannot iterate over a shape with unknown rank."),
    ],
)
def test_an_unknown_rank_has_no_sequence(what: Any, text: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the text is compared below
        what(UNKNOWN)

    assert text == str(caught.value)


def test_behaves_as_a_tuple() -> None:
    shape = TensorShape([2, 3])

    assert (2, (2, 3), 2, 3, [3, 2]) == (len(shape), tuple(shape), shape[0], shape[-1], list(reversed(shape)))
    assert 3 in shape


def test_slices_are_shapes() -> None:
    assert [TensorShape([3, 4]), TensorShape([4, 3, 2])] == [TensorShape([2, 3, 4])[1:], TensorShape([2, 3, 4])[::-1]]


def test_an_axis_too_many_is_an_index_error() -> None:
    with pytest.raises(IndexError):
        TensorShape([2, 3])[5]


@pytest.mark.parametrize(
    ("part", "shape"),
    [
        (slice(1, 3), [None, None]),
        (slice(None, 3), [None, None, None]),
        (slice(3, 1), []),
        (slice(1, None), None),
        (slice(None, -1), None),
        (slice(-1, 2), None),
    ],
    ids=repr,
)
def test_slices_of_an_unknown_rank(part: slice, shape: Any) -> None:
    assert TensorShape(shape) == UNKNOWN[part]


def test_a_length_of_an_unknown_rank_is_unknown() -> None:
    assert UNKNOWN[0] is None


def test_steps_through_an_unknown_rank_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^Steps are not yet handled$"):
        UNKNOWN[::2]


def test_numpy_takes_a_shape() -> None:
    shape: Any = TensorShape([2, 3])

    assert (2, 3) == np.zeros(shape).shape == np.reshape(np.zeros(6), shape).shape


@pytest.mark.parametrize("other", [(2, None), [2, None], TensorShape([2, None])], ids=repr)
def test_equal_to_what_describes_it(other: Any) -> None:
    assert TensorShape([2, None]) == other
    assert other == TensorShape([2, None])


@pytest.mark.parametrize(
    "other",
    [(2, 3), [2], "ab", 2.5, [2.5], [-1], None, UNKNOWN, pytest.param(object(), id="object()"), TensorShape([2, 3])],
    ids=repr,
)
def test_unequal_to_everything_else(other: Any) -> None:
    assert TensorShape([2, None]) != other


def test_an_unknown_rank_equals_none() -> None:
    assert UNKNOWN == None  # noqa: E711  # the operator is what is tested
    assert TensorShape([2]) == 2


def test_only_an_unknown_rank_is_false() -> None:
    assert [True, True, False] == [bool(TensorShape(dims)) for dims in ([], [0], None)]


@pytest.mark.parametrize("dims", [(2, 3), (2, None), (), None])
def test_the_hash_is_the_tuples(dims: Any) -> None:
    assert hash(dims) == hash(TensorShape(dims))


def test_adding_joins_the_axes() -> None:
    shape, more = TensorShape([2]), TensorShape([3])

    assert TensorShape([2, 3]) == shape + more == shape + [3] == (2,) + more  # noqa: RUF005  # + is what is tested
    assert UNKNOWN == UNKNOWN + more == shape + UNKNOWN == shape + None


def test_full_definition() -> None:
    assert [True, False, False] == [TensorShape(dims).is_fully_defined() for dims in ([2], [None], None)]


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (lambda: TensorShape([2]).assert_is_compatible_with([3]), "Shapes (2,) and [3] are incompatible"),
        (lambda: TensorShape([2]).assert_same_rank([3, 4]), "Shapes (2,) and (3, 4) must have the same rank"),
        (lambda: TensorShape([2]).assert_has_rank(2), "Shape (2,) must have rank 2"),
        (lambda: TensorShape([None]).assert_is_fully_defined(), "Shape (None,) is not fully defined"),
        (lambda: TensorShape([2]).merge_with([3]), "Shapes (2,) and (3,) are not compatible"),
        (lambda: TensorShape([2, 3]).with_rank(3), "Shape (2, 3) must have rank 3"),
        (lambda: TensorShape([2, 3]).with_rank_at_least(3), "Shape (2, 3) must have rank at least 3"),
        (lambda: TensorShape([2, 3]).with_rank_at_most(1), "Shape (2, 3) must have rank at most 1"),
    ],
)
def test_refusals(check: Any, text: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the text is compared below
        check()

    assert text == str(caught.value)


def test_demands_that_are_met_raise_nothing() -> None:
    shape = TensorShape([2, 3])
    shape.assert_has_rank(2)
    shape.assert_same_rank([None, None])
    shape.assert_is_compatible_with([2, None])
    shape.assert_is_fully_defined()
    UNKNOWN.assert_has_rank(7)

    assert shape is shape.with_rank(2) is shape.with_rank_at_least(1) is shape.with_rank_at_most(2)
    assert TensorShape([None, None]) == UNKNOWN.with_rank(2)


def test_merging_adds_knowledge() -> None:
    assert TensorShape([2, 3]) == TensorShape([2, None]).merge_with([None, 3])


def test_the_most_specific_shape_keeps_what_both_say() -> None:
    assert TensorShape([2, None]) == TensorShape([2, 3]).most_specific_compatible_shape([2, 4])
    assert UNKNOWN == TensorShape([2, 3]).most_specific_compatible_shape([2])


@given(shapes, shapes)
def test_compatible_shapes_are_those_that_merge(a: TensorShape, b: TensorShape) -> None:
    try:
        merged = a.merge_with(b)
    except ValueError:
        assert not a.is_compatible_with(b)
    else:
        assert a.is_compatible_with(b)
        assert merged.is_subtype_of(a)
        assert merged.is_subtype_of(b)


@given(shapes, shapes)
def test_both_are_subtypes_of_what_both_say(a: TensorShape, b: TensorShape) -> None:
    common = a.most_specific_compatible_shape(b)

    assert a.is_subtype_of(common)
    assert b.is_subtype_of(common)


@given(shapes, shapes)
def test_each_a_subtype_of_the_other_means_equal(a: TensorShape, b: TensorShape) -> None:
    assert (a == b) == (a.is_subtype_of(b) and b.is_subtype_of(a))


@given(shapes)
def test_shapes_pickle_and_copy(shape: TensorShape) -> None:
    assert shape == pickle.loads(pickle.dumps(shape)) == copy.deepcopy(shape)


class Array:
    """Has a dtype and a shape as tensors do."""

    dtype = int32
    shape = TensorShape([2, 3])


def test_the_text_of_a_spec() -> None:
    assert "TensorSpec(shape=(2, 3), dtype=tf.float32, name=None)" == repr(TensorSpec([2, 3]))
    assert "TensorSpec(shape=<unknown>, dtype=tf.int32, name='a')" == str(TensorSpec(None, "int32", "a"))


def test_a_spec_keeps_what_it_is_given() -> None:
    spec = TensorSpec((2, None), np.int32, "x")

    assert (TensorShape([2, None]), int32, "x") == (spec.shape, spec.dtype, spec.name)


def test_a_spec_cannot_be_changed() -> None:
    spec: Any = TensorSpec([2])

    with pytest.raises(AttributeError):
        spec.shape = TensorShape([3])


def test_specs_are_equal_with_shape_dtype_and_name() -> None:
    spec = TensorSpec([2, 3], name="a")

    assert TensorSpec((2, 3), float32, "a") == spec
    assert spec not in (TensorSpec([2, 3]), TensorSpec([2, None], name="a"), TensorSpec([2, 3], int32, "a"), 3)
    assert hash(TensorSpec((2, 3), float32, "a")) == hash(spec)


def test_a_spec_knows_what_fits() -> None:
    spec = TensorSpec([2, None], int32)

    assert spec.is_compatible_with(Array())
    assert spec.is_compatible_with(TensorSpec([2, 3], int32))
    assert not spec.is_compatible_with(TensorSpec([2, 3], float32))
    assert not spec.is_compatible_with(TensorSpec([3, 3], int32))


@pytest.mark.parametrize("value", [3, "a", None, [[1, 2]], np.zeros([2, 3], np.int32)], ids=lambda v: type(v).__name__)
def test_only_tensors_fit(value: Any) -> None:
    assert not TensorSpec([2, None], int32).is_compatible_with(value)


def test_a_spec_from_a_tensor() -> None:
    assert TensorSpec([2, 3], int32, "x") == TensorSpec.from_tensor(Array(), "x")


def test_a_spec_from_something_else_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"^`tensor` should be a tf.Tensor, but got type <class 'numpy.ndarray'>.$"):
        TensorSpec.from_tensor(np.zeros(2))


def test_a_spec_from_a_spec_may_have_another_name() -> None:
    spec = TensorSpec([2], name="a")

    assert ("a", "b") == (TensorSpec.from_spec(spec).name, TensorSpec.from_spec(spec, "b").name)


def test_a_narrower_spec_is_a_subtype() -> None:
    assert TensorSpec([2, 3]).is_subtype_of(TensorSpec([2, None], name="a"))
    assert not TensorSpec([2, None]).is_subtype_of(TensorSpec([2, 3]))
    assert not TensorSpec([2, 3]).is_subtype_of(TensorSpec([2, 3], int32))


def test_specs_pickle() -> None:
    spec = TensorSpec([2, None], int32, "q")

    assert spec == pickle.loads(pickle.dumps(spec))
