"""Nested structures, taken apart and put together."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nbtf as tf
from tests.ops.refusals import refused, untyped


class Point(NamedTuple):
    x: Any
    y: Any


class Pair(NamedTuple):
    x: Any
    y: Any


structures = st.recursive(
    st.integers(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
)


@given(structures)
def test_what_is_taken_apart_can_be_put_together(structure: Any) -> None:
    assert structure == tf.nest.pack_sequence_as(structure, tf.nest.flatten(structure))


@given(structures)
def test_mapping_the_identity_changes_nothing(structure: Any) -> None:
    assert structure == tf.nest.map_structure(lambda x: x, structure)
    tf.nest.assert_same_structure(structure, structure)


def test_dictionaries_go_by_their_sorted_keys_and_keep_their_order() -> None:
    given = OrderedDict([("b", 1), ("a", 2)])

    assert [2, 1] == tf.nest.flatten(given)
    assert ["b", "a"] == list(tf.nest.map_structure(str, given))


def test_kinds_of_structures_are_kept() -> None:
    for structure in (Point(1, 2), defaultdict(list, a=1), OrderedDict(a=1), (1, [2])):
        assert type(structure) is type(tf.nest.map_structure(lambda x: x, structure))


@pytest.mark.parametrize("value", ["text", b"bytes", None, {1, 2}, np.ones(2), tf.TensorShape([1, 2]), iter([1])])
def test_what_is_one_value_is_not_taken_apart(value: Any) -> None:
    assert not tf.nest.is_nested(value)
    assert value is tf.nest.flatten(value)[0]


def test_tensors_and_ranges() -> None:
    tensor = tf.constant([1, 2])

    assert tensor is tf.nest.flatten([tensor])[0]
    assert [0, 1] == tf.nest.flatten(range(2)) == tf.nest.map_structure(int, range(2))


@pytest.mark.parametrize(
    ("one", "other", "text"),
    [
        (
            [1, 2],
            [3, [4]],
            'Substructure "type=list str=[4]" is a sequence, while substructure "type=int str=2" is not',
        ),
        (1, [1], 'Substructure "type=list str=[1]" is a sequence, while substructure "type=int str=1" is not'),
        (
            [1, 2],
            [3],
            "The two structures don't have the same number of elements. First structure: type=list str=[1, 2].",
        ),
        (
            {"a": 1},
            {"b": 1},
            "The two dictionaries don't have the same set of keys. First structure has keys type=list",
        ),
    ],
)
def test_structures_of_another_build_are_refused(one: Any, other: Any, text: str) -> None:
    frame = f"The two structures don't have the same nested structure.\n\nFirst structure: type={type(one).__name__} "

    refused(lambda: tf.nest.assert_same_structure(one, other), frame, ValueError)
    with pytest.raises(ValueError, match="More specifically") as caught:
        tf.nest.map_structure(lambda x, y: x, one, other)
    assert f"More specifically: {text}" in str(caught.value)


@pytest.mark.parametrize(("one", "other"), [([1], (1,)), (Point(1, 2), (1, 2)), (Point(1, 2), Pair(1, 2))])
def test_kinds_of_sequences_differ_unless_one_does_not_ask(one: Any, other: Any) -> None:
    with pytest.raises(TypeError, match="The two namedtuples don't have the same sequence type"):
        tf.nest.assert_same_structure(one, other)
    tf.nest.assert_same_structure(one, other, check_types=False)


def test_named_tuples_of_one_name_and_all_dictionaries_are_alike() -> None:
    other = NamedTuple("Point", [("x", int), ("y", int)])  # noqa: UP014  # another class of that name

    tf.nest.assert_same_structure(Point(1, 2), other(3, 4))
    tf.nest.assert_same_structure({"a": 1}, OrderedDict(a=1))


def test_an_error_shows_the_whole_build() -> None:
    with pytest.raises(ValueError, match="Entire first") as caught:
        tf.nest.assert_same_structure(({"a": [1]}, Point(1, 2)), (1, 2))

    assert "Entire first structure:\n({'a': [.]}, Point(x=., y=.))\nEntire second structure:\n(., .)" in str(
        caught.value
    )


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: untyped.nest.map_structure(5, [1]), TypeError, "func must be callable, got: 5"),
        (lambda: tf.nest.map_structure(int), ValueError, "Must provide at least one structure"),
        (
            lambda: tf.nest.map_structure(int, [1], a=2),
            ValueError,
            "Only valid keyword arguments are `check_types` and",
        ),
        (
            lambda: tf.nest.pack_sequence_as([1, 2], [1]),
            ValueError,
            "Could not pack sequence. Structure had 2 atoms, but ",
        ),
        (
            lambda: tf.nest.pack_sequence_as(1, [1, 2]),
            ValueError,
            "The target structure is of type `<class 'int'>`\n  1\n",
        ),
        (
            lambda: tf.nest.pack_sequence_as([1], 1),
            TypeError,
            "Attempted to pack value:\n  1\ninto a structure, but found",
        ),
        (lambda: tf.nest.flatten({1: 1, "b": 2}), TypeError, "'<' not supported between instances of"),
    ],
)
def test_nonsense_is_refused(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    refused(call, text, error)
