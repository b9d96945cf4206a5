from __future__ import annotations

from typing import Any

import pytest

import nbtf
import nbtf.compat.v1 as tf1
from nbtf.compat.v1 import Dimension


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (Dimension(3) + 2, 5),
        (2 + Dimension(3), 5),
        (Dimension(3) - 1, 2),
        (7 - Dimension(3), 4),
        (Dimension(3) * 2, 6),
        (2 * Dimension(3), 6),
        (Dimension(7) // 2, 3),
        (7 // Dimension(2), 3),
        (Dimension(7) % 2, 1),
        (7 % Dimension(2), 1),
        (Dimension(None) * 2, None),
        (Dimension(2) + Dimension(None), None),
    ],
)
def test_lengths_are_computed_with(made: Any, expected: int | None) -> None:
    assert (Dimension, expected) == (type(made), made.value)


def test_what_is_not_known_compares_to_none() -> None:
    assert [None, None, None] == [Dimension(None) == 2, Dimension(2) != Dimension(None), Dimension(None) < 3]
    assert [True, True, False] == [Dimension(2) == 2, Dimension(2) <= 3, Dimension(2) > 3]


def test_a_dimension_is_a_number_where_one_is_wanted() -> None:
    assert [0, 1] == list(range(Dimension(2)))
    assert (2, "2", "?") == (int(Dimension(2)), str(Dimension(2)), str(Dimension(None)))


def test_a_dimension_is_divided_with_two_strokes() -> None:
    with pytest.raises(TypeError, match="please use // instead"):
        _ = Dimension(4) / 2


def test_shapes_of_graphs_are_made_of_them() -> None:
    shape = tf1.placeholder(tf1.float32, [None, 2]).shape

    assert ("(?, 2)", "TensorShape([Dimension(None), Dimension(2)])") == (str(shape), repr(shape))
    assert ([None, 2], 2, [None, 2]) == (shape.as_list(), shape[1].value, [one.value for one in shape])
    assert isinstance(shape, nbtf.TensorShape)
    assert (2,) == shape[1:]
    assert "(?, 2, 3)" == str(shape.concatenate([3]))


def test_shapes_go_where_shapes_are_wanted() -> None:
    x = tf1.placeholder(tf1.float32, [4, 3])

    assert [(4, 3), (3, 4), (12,)] == [
        tuple(tf1.zeros(x.shape).shape.as_list()),
        tuple(tf1.reshape(x, [x.shape[1], x.get_shape()[0]]).shape.as_list()),
        tuple(tf1.reshape(x, [x.shape[0] * x.shape[1]]).shape.as_list()),
    ]


def test_lengths_are_numbers_for_both_kinds_of_shapes() -> None:
    shape = tf1.placeholder(tf1.float32, [4, None]).shape

    assert [4, None, 4] == [
        tf1.dimension_value(shape[0]),
        tf1.dimension_value(shape[1]),
        tf1.dimension_at_index(nbtf.TensorShape([4]), 0).value,
    ]
