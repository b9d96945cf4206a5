"""Are texts broken into lines where their language allows it, and do all lines fit?"""

from __future__ import annotations

import json
from itertools import pairwise
from unicodedata import category

import pytest

from nbtf.notebook import catalogue
from nbtf.notebook.stills.glyphs import width_of
from tests.notebook.stills.engine import evaluated

TEXTS = [
    text if isinstance(text, str) else text[1]
    for language in ("en", *catalogue.LANGUAGES)
    for text in catalogue.read(language)["memoryPicture"].values()
]
PARTS = ["a", "", "x  y ", "前。後「計算」、 ok ー", "W" * 60, "holds 12 MiB, 40 % of 3 ms"]


@pytest.mark.parametrize("room", [90, 300])
def test_lines_fit_and_add_up_to_their_text(room: int) -> None:
    words = [*TEXTS, *PARTS]
    expression = f"{json.dumps(words)}.map((words) => linesOf(text(0, 0, words, {{ size: 11 }}), {room}))"

    for whole, lines in zip(words, evaluated("flow", expression), strict=True):
        assert all(width_of(line, 11) <= room for line in lines)
        if not any(line.endswith("…") or not line for line in lines):
            assert whole.replace(" ", "") == "".join(lines).replace(" ", "")
        assert not [line for line in lines[1:] if category(line[0]) in ("Pe", "Pf", "Po", "Lm")]
        numbers = [(line, following) for line, following in pairwise(lines) if line[-1:].isdigit()]
        assert not [pair for pair in numbers if pair[1].startswith(("MiB", "%", "ms"))]


def test_texts_stand_side_by_side_until_the_line_is_full() -> None:
    texts = "['one', 'two', 'three'].map((words) => text(0, 0, words))"

    wide, wide_end = evaluated("flow", f"flowed({texts}, 16, 400, 28)")
    narrow, narrow_end = evaluated("flow", f"flowed({texts}, 16, 60, 28)")

    assert ([28, 28, 28], 28) == ([mark["y"] for mark in wide], wide_end)
    assert [mark["x"] for mark in wide] == sorted({mark["x"] for mark in wide})
    assert ([28, 46, 64], [16, 16, 16], 64) == (*([mark[side] for mark in narrow] for side in "yx"), narrow_end)
