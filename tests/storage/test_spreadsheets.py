"""Does text that nbtf writes into CSV files stay text in a spreadsheet?"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf
from nbtf._storage.spreadsheets import as_cell
from nbtf.notebook.magics.export import exported

FORMULAS = ["=1+1", "+1+1", "-x", "-1-1", "@tf.function", "\tx", "\rx", "\r\n=1", '=HYPERLINK("http://example.org")']
NUMBERS = ["-1.5", "+1", "-1e-3", "-inf", -1.5, -7, 0, None, True, "", "1=1", "MatMul", "'=1"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_becomes_text(text: str) -> None:
    assert as_cell(text) == f"'{text}".replace("\r\n", "\n").replace("\r", "\n")


@pytest.mark.parametrize("value", NUMBERS)
def test_numbers_and_other_text_stay(value: Any) -> None:
    assert as_cell(value) is value


def test_a_carriage_return_begins_no_row() -> None:
    assert as_cell("a\r=1+1") == "a\n=1+1"


def cells(text: str) -> list[str]:
    return [cell for line in csv.reader(io.StringIO(text, newline="")) for cell in line]


def is_formula(cell: str) -> bool:
    return as_cell(cell) is not cell


@pytest.mark.parametrize("code", FORMULAS)
def test_no_cell_of_exported_events_is_a_formula(code: str) -> None:
    with tf.runtime.recording() as record:
        tf.add(tf.zeros([2]), 1.0)
    text = exported(record.snapshot(), "csv", [], lambda site: code)

    assert as_cell(code) in cells(text)
    assert not any(map(is_formula, cells(text)))


@pytest.mark.parametrize("append", [False, True])
def test_no_cell_of_a_table_of_training_is_a_formula(append: bool, tmp_path: Path) -> None:
    logger = tf.keras.callbacks.CSVLogger(tmp_path / "log.csv", append=append)
    logger.on_train_begin()
    logger.on_epoch_end(0, {name: value for name, value in zip(FORMULAS[:3], ["=1", -1.5, "-2.5"], strict=True)})
    text = (tmp_path / "log.csv").read_text()

    assert not any(map(is_formula, cells(text)))
    assert {"-1.5", "-2.5", "'=1", "'=1+1"} < set(cells(text))
