"""Which differences of output are told, and how is an error put into words?"""

from __future__ import annotations

from typing import Any

import pytest

from nbtf.cli.comparison import difference, is_recorded, may_raise, what_is_missing
from nbtf.cli.execution import CellError, CellRun, Output


def stream(text: str | list[str], name: str = "stdout") -> Output:
    return {"output_type": "stream", "name": name, "text": text}


def result(text: str) -> Output:
    return {"output_type": "execute_result", "data": {"text/plain": text}}


def cell(*outputs: Output, **fields: Any) -> dict[str, Any]:
    return {"outputs": list(outputs), "execution_count": 1, **fields}


def changed(recorded: list[Output], came: list[Output]) -> list[str]:
    return difference(cell(*recorded), CellRun(1, 0, "", outputs=came))


@pytest.mark.parametrize(
    ("recorded", "came"),
    [
        ([], []),
        ([stream("a\nb\n")], [stream("a \nb")]),
        ([stream(["a\n", "b\n"])], [stream("a\nb\n")]),
        ([stream("a\n"), stream("b\n")], [stream("a\nb\n")]),
        ([result("<f at 0x7f00aa12bc30>")], [result("<f at 0x7fffaa12bc99>")]),
        ([stream("x\n"), stream("warned", "stderr")], [stream("x\n")]),
        ([stream("10%\r20%\r100%\n")], [stream("100%\n")]),
        ([stream("2022-11-01 01:02:03.456: I tensorflow/x.cc:1] Created\nx\n")], [stream("x\n")]),
        ([stream("x\n")], [stream("Executing op A in device D\nx\n")]),
        ([stream("Executing op A in device D\n", "stderr")], [stream("Executing op A in device D\n")]),
        ([{"output_type": "display_data", "data": {"image/png": "AAAA"}}], []),
    ],
)
def test_output_is_the_same(recorded: list[Output], came: list[Output]) -> None:
    assert [] == changed(recorded, came)


@pytest.mark.parametrize(
    ("recorded", "came", "lines"),
    [
        ([stream("a\nb\n")], [stream("a\nc\n")], ["- b", "+ c"]),
        ([result("1")], [], ["- 1"]),
        ([], [stream("1\n")], ["+ 1"]),
        (
            [stream("Executing op A in device D\n")],
            [stream("Executing op A in device E\n")],
            ["- Executing op A in device D", "+ Executing op A in device E"],
        ),
    ],
)
def test_difference_is_shown_line_by_line(recorded: list[Output], came: list[Output], lines: list[str]) -> None:
    assert lines == changed(recorded, came)


def test_long_difference_is_cut_and_counted() -> None:
    lines = changed([], [stream("".join(f"{n}\n" for n in range(20)))])

    assert (9, "… 12 more lines") == (len(lines), lines[-1])


@pytest.mark.parametrize(
    ("saved", "recorded"),
    [
        ({"outputs": [], "execution_count": None}, False),
        ({"outputs": [], "execution_count": 3}, True),
        ({"outputs": [stream("a")], "execution_count": None}, True),
    ],
)
def test_cell_is_recorded_if_it_has_been_run(saved: dict[str, Any], recorded: bool) -> None:
    assert recorded == is_recorded(saved)


@pytest.mark.parametrize(
    ("saved", "wanted"),
    [
        (cell({"output_type": "error", "ename": "ValueError"}), True),
        (cell({"output_type": "error", "ename": "KeyError"}), False),
        (cell(metadata={"tags": ["raises-exception"]}), True),
        (cell(metadata={"tags": ["other"]}), False),
    ],
)
def test_error_is_wanted_if_recorded_or_tagged(saved: dict[str, Any], wanted: bool) -> None:
    assert wanted == may_raise(saved, CellError("ValueError", "text"))


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("AttributeError", "module 'nbtf' has no attribute 'keras'", "tf.keras is not in nbtf yet"),
        ("AttributeError", "module 'nbtf' has no attribute 'a'. It is not in nbtf yet.", "tf.a is not in nbtf yet"),
        ("AttributeError", "module 'nbtf.a.b' has no attribute 'c'", "tf.a.b.c is not in nbtf yet"),
        (
            "AttributeError",
            "module 'nbtf' has no attribute 'Session'. Write this.",
            "AttributeError: module 'nbtf' has no attribute 'Session'. Write this.",
        ),
        (
            "AttributeError",
            "module 'nbtf' has no attribute 'mul'",
            "AttributeError: module 'nbtf' has no attribute 'mul'. Current name: tf.multiply.",
        ),
        (
            "AttributeError",
            "module 'nbtf.compat.v1.test' has no attribute 'mock'",
            "AttributeError: module 'nbtf.compat.v1.test' has no attribute 'mock'. Use unittest or pytest.",
        ),
        ("ImportError", "cannot import name 'keras' from 'nbtf' (/a/b.py)", "tf.keras is not in nbtf yet"),
        ("ModuleNotFoundError", "tf.keras is not in nbtf yet", "tf.keras is not in nbtf yet"),
        ("ModuleNotFoundError", "No module named 'nbtf.keras'", "tf.keras is not in nbtf yet"),
        ("ModuleNotFoundError", "No module named 'pandas'", "pandas is not installed"),
        ("ValueError", "one\ntwo", "ValueError: one …"),
        ("AssertionError", "", "AssertionError"),
    ],
)
def test_error_is_put_into_a_sentence(name: str, text: str, says: str) -> None:
    assert says == what_is_missing(CellError(name, text))
