"""Does `tf.print` write values as TensorFlow's kernels do?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import nbtf as tf
from nbtf._record.events import OpPlaced
from tests.machines import machine


class Point(NamedTuple):
    x: Any
    y: Any


def printed(capsys: pytest.CaptureFixture[str], *inputs: Any, **how: Any) -> str:
    tf.print(*inputs, output_stream=sys.stdout, **how)
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([1.0, 2.5], "[1 2.5]"),
        ([[1, 20], [300, 4]], "[[1 20]\n [300 4]]"),
        ([[[1], [2]], [[3], [4]]], "[[[1]\n  [2]]\n\n [[3]\n  [4]]]"),
        (1 / 3, "0.333333343"),
        ([True, False], "[1 0]"),
        (["a", 'q"\n\1é'], '["a" "q\\"\\n\\001é"]'),
        ([], "[]"),
        (1e-7, "1e-07"),
        (1.5 - 2j, "(1.5,-2)"),
    ],
)
def test_tensors_are_written_without_commas(capsys: pytest.CaptureFixture[str], value: Any, text: str) -> None:
    assert f"{text}\n" == printed(capsys, tf.constant(value))


def test_single_text_is_written_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert 'a"b\n' == printed(capsys, tf.constant('a"b'))
    assert '"a" "b"\n' == printed(capsys, tf.constant("a"), tf.constant("b"))


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        (("a", 1, 2.5, True, None), "a 1 2.5 True None"),
        (([1, 2, 3],), "[1, 2, 3]"),
        (([1],), "[1]"),
        (("{}", "%s"), "{} %s"),
        ((b"abc",), "b'abc'"),
        ((), ""),
    ],
)
def test_python_values_are_written_as_python_does(
    capsys: pytest.CaptureFixture[str], inputs: tuple[Any, ...], text: str
) -> None:
    assert f"{text}\n" == printed(capsys, *inputs)


def test_tensors_stand_where_they_are_in_a_structure(capsys: pytest.CaptureFixture[str]) -> None:
    one, two = tf.constant(1), tf.constant([2.0, 3.0])

    assert "[1, [2 3], 'x']\n" == printed(capsys, [one, two, "x"])
    assert "{'a': [2 3], 'b': 1}\n" == printed(capsys, {"b": one, "a": two})
    assert "Point(x=1, y=[2 3])\n" == printed(capsys, Point(one, two))


def test_variables_ragged_and_sparse_tensors_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert "[1 2]\n" == printed(capsys, tf.Variable([1.0, 2.0]))
    assert "[['a'], ['b', 'c']]\n" == printed(capsys, tf.ragged.constant([["a"], ["b", "c"]]))
    assert "[[1.500000], [2.000000, 3.000000]]\n" == printed(capsys, tf.ragged.constant([[1.5], [2.0, 3.0]]))
    assert "SparseTensor(indices=[[1]], values=[7], shape=[2])\n" == printed(capsys, tf.sparse.from_dense([0, 7]))


@pytest.mark.parametrize(
    ("summarize", "text"), [(3, "[0 1 2 ... 7 8 9]"), (1, "[0 ... 9]"), (-1, "[0 1 2 3 4 5 6 7 8 9]")]
)
def test_long_tensors_are_summarized(capsys: pytest.CaptureFixture[str], summarize: int, text: str) -> None:
    assert f"{text}\n" == printed(capsys, tf.constant(list(range(10))), summarize=summarize)


def test_rows_are_summarized_on_every_axis(capsys: pytest.CaptureFixture[str]) -> None:
    matrix = tf.reshape(tf.constant(list(range(16))), [4, 4])
    rows = tf.ragged.constant([[i] for i in range(8)])

    assert "[[0 ... 3]\n ...\n [12 ... 15]]\n" == printed(capsys, matrix, summarize=1)
    assert "[[0], [1], ..., [6], [7]]\n" == printed(capsys, rows, summarize=2)


def test_separator_and_end_are_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert "a-1!" == printed(capsys, "a", 1, sep="-", end="!")


def test_stderr_is_where_it_goes(capsys: pytest.CaptureFixture[str]) -> None:
    tf.print("x")

    assert ("", "x\n") == capsys.readouterr()


def test_files_are_added_to(tmp_path: Path) -> None:
    file = tmp_path / "log.txt"
    tf.print("ä", output_stream=f"file://{file}")
    tf.print([1], output_stream=f"file://{file}")

    assert "ä\n[1]\n" == file.read_text(encoding="utf-8")


def test_other_streams_and_keywords_are_refused() -> None:
    with pytest.raises(ValueError, match="Unsupported output stream, logging level, or file"):
        tf.print("x", output_stream="bogus")
    with pytest.raises(ValueError, match=r"Unrecognized keyword arguments for tf.print: {'foo': 1}"):
        tf.print("x", foo=1)


def test_printing_is_done_by_the_cpu(capsys: pytest.CaptureFixture[str]) -> None:
    events: list[Any] = []
    with machine(1):
        tensor = tf.constant([1.0])
        stop = tf.runtime.observe(events.append)
        tf.print(tensor)
        stop()

    placed = [(e.op, e.device[-5:]) for e in events if isinstance(e, OpPlaced)]
    assert [("StringFormat", "CPU:0"), ("PrintV2", "CPU:0")] == placed
    assert "[1]\n" == capsys.readouterr().err
