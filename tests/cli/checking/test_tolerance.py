"""When do texts agree but for the last digits of their numbers?"""

from __future__ import annotations

import pytest

from nbtf.cli.checking.tolerance import agree, beyond


@pytest.mark.parametrize(
    ("recorded", "printed", "tolerance"),
    [
        ("a", "a", 0.0),
        ("0.1000001", "0.1", 1e-5),
        ("[1. 2.]", "[0.9999999 2.0000001]", 1e-6),
        ("-1.5e-3", "-1.50000001e-3", 1e-6),
        ("loss: 0.50001 - acc: 1.0", "loss: 0.5 - acc: 0.99999", 1e-4),
        ("1e-17", "0.0", 1e-6),
        ("x  1.0", "x 1.0", 1e-6),
        ("\t0.5\n", " 0.5000001\t", 1e-5),
        ("nan inf 1.0", "nan inf 1.0000001", 1e-5),
        ("3 of 4", "3 of 4", 1e-6),
    ],
)
def test_numbers_within_the_tolerance_are_the_same(recorded: str, printed: str, tolerance: float) -> None:
    assert agree(recorded, printed, tolerance)


@pytest.mark.parametrize(
    ("recorded", "printed", "tolerance"),
    [
        ("0.1", "0.1000001", 0.0),
        ("0.1", "0.2", 1e-3),
        ("0.1", "-0.1", 0.5),
        ("100 steps", "101 steps", 0.5),
        ("1.0 a", "1.0 b", 0.5),
        ("1.0", "nan", 0.5),
        ("1.0 2.0", "1.0", 0.5),
        ("layer_1.0", "layer_2.0", 0.5),
        ("1e-9", "3e-9", 1e-3),
    ],
)
def test_anything_else_is_not(recorded: str, printed: str, tolerance: float) -> None:
    assert not agree(recorded, printed, tolerance)


def test_numbers_beyond_are_named_with_their_distance() -> None:
    assert beyond("a 0.5 b 2.0", "a 0.6 b 2.0", 1e-3) == ["0.5 → 0.6: 0.17 apart, tolerance 0.001"]


def test_where_words_differ_no_number_is_to_blame() -> None:
    assert beyond("a 0.5", "b 0.6", 1e-3) == []
