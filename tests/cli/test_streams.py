"""What does a reader see of a stream that goes back over what it has printed?"""

from __future__ import annotations

import re
from typing import Any

import pytest

from nbtf.cli.streams import as_seen, joined_neighbours, joined_streams, without_overwritten
from tests.cli.checking.cells import result, stream


@pytest.mark.parametrize(
    ("printed", "seen"),
    [
        ("abcd\x08\x08\x08x", "ax"),
        ("ab\x08\x08\x08c", "c"),
        ("a\n\x08b", "a\nb"),
        ("a\x08b\x08c\nd\x08", "c\n"),
        ("1%\r2%\r", "2%\r"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("12\x08\r3", "3"),
        ("plain", "plain"),
    ],
)
def test_a_backspace_erases_one_character_of_its_line(printed: str, seen: str) -> None:
    assert as_seen(printed) == seen


def test_every_character_is_visited_once_however_many_erase_it(lines_run: Any) -> None:
    shapes = ("x" * 100 + "\x08" * 100, "x\x08" * 100, "xy\x08" * 60 + "\x08" * 60)
    for shape in shapes:
        once, twice, four_times = (lines_run(lambda text=shape * n: as_seen(text)) for n in (1, 2, 4))
        assert four_times - twice <= 2.1 * (twice - once) + 10


def test_a_stream_in_pieces_is_one_output_and_standard_output_comes_first() -> None:
    outputs = [stream("w\n", "stderr"), stream("a\r"), result("1"), stream("b\n"), stream("x\n", "stderr")]

    joined = joined_streams(outputs)

    assert [(each.get("name"), each.get("text")) for each in joined] == [
        ("stdout", "b\n"),
        ("stderr", "w\nx\n"),
        (None, None),
    ]


def test_pieces_with_something_between_them_stay_apart() -> None:
    joined = joined_neighbours([stream("a"), stream("b"), result("1"), stream("c")])

    assert [each.get("text") for each in joined] == ["ab", None, "c"]


def test_what_is_overwritten_is_what_a_notebook_program_leaves_out() -> None:
    of_nbclient = re.compile(r".*\r(?=[^\n])")
    for text in ("a\rb", "a\r\nb", "a\r", "\ra\rb\r\n\rc\r", "a\r\r\nb"):
        assert without_overwritten(text) == of_nbclient.sub("", text)
