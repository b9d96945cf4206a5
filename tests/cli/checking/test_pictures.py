"""When does a picture still show what the recorded one shows?"""

from __future__ import annotations

import importlib.util

import pytest

from nbtf.cli.checking.pictures import Comparison, compare
from tests.cli.checking.cells import png

RED = png()


def test_a_picture_is_the_same_with_other_bytes() -> None:
    assert compare(RED, png(Comment="drawn again")) == Comparison()
    assert compare(RED, f"{RED[:20]}\n{RED[20:]}\n") == Comparison()


def test_what_rounding_changes_is_not_seen() -> None:
    assert compare(RED, png((203, 38, 41))) == Comparison()


def test_one_pixel_of_another_colour_is_a_difference() -> None:
    assert compare(RED, png(dots=1)).difference == "the picture looks different: 0.08% of its pixels"


def test_some_pixels_may_differ_where_that_is_allowed() -> None:
    assert compare(RED, png(dots=12), 0.01) == Comparison()
    assert "1.08% of its pixels; allowed: 1.00%" in compare(RED, png(dots=13), 0.01).difference


def test_size_counts_whatever_is_allowed() -> None:
    assert compare(RED, png(size=(40, 31)), 1.0).difference == "the picture has 40 × 31 pixels; recorded: 40 × 30"


def test_of_another_version_of_the_program_only_the_size_counts() -> None:
    then, now = png(Software="Plotter 1.0"), png((0, 0, 0), Software="Plotter 1.1")

    assert compare(then, now) == Comparison(
        note="compared only the picture's size: drawn by Plotter 1.0, now Plotter 1.1"
    )
    assert compare(then, png((0, 0, 0), Software="Plotter 1.0")).difference != ""
    assert compare(then, png(size=(1, 1), Software="Plotter 1.1")).difference != ""


@pytest.mark.parametrize("broken", ["", "AAAA", "no base64", RED[:60]])
def test_what_is_no_picture_is_a_difference(broken: str) -> None:
    assert compare(RED, broken).difference.startswith("the picture cannot be compared: ")


def test_without_pillow_only_the_same_bytes_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    assert compare(RED, RED) == Comparison()
    assert "install Pillow" in compare(RED, png(Comment="drawn again")).difference
