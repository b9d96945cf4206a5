"""Is each variable stored where TensorFlow stores it? A share of `python -m tests.variable_placement`."""

from __future__ import annotations

import pytest

from tests.variable_placement.check import differences
from tests.variable_placement.scopes import FEW, OUTERMOST, PHASED, SCOPES
from tests.variable_placement.table import Cell, packed, recorded, recorded_cells, unpacked
from tests.variable_placement.ways import table_of_ways

STRIDE = 12
"""One cell of so many is checked here."""

CELLS = list(recorded_cells())
BY_FIT = [(cell, expected) for cell, expected in CELLS if cell.way == "open: fit"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cells", [CELLS[::STRIDE], BY_FIT], ids=["a share of the table", "a model built by fit"])
def test_variables_are_stored_where_tensorflow_stores_them(cells: list[tuple[Cell, dict[str, str]]]) -> None:
    wrong = [difference for cell, expected in cells for difference in differences(cell, expected)]

    assert len(cells) > 10
    assert [] == list(map(str, wrong))


def test_table_has_each_way_with_each_scope() -> None:
    scopes = {cell.scope for cell, _ in CELLS}

    assert set(table_of_ways()) == set(recorded())
    assert {*SCOPES, *OUTERMOST} == scopes
    assert {*PHASED} <= {cell.scope for cell, _ in CELLS if cell.phase is not None}
    assert {*FEW} <= set(SCOPES)


def test_a_variable_elsewhere_is_noticed() -> None:
    (difference,) = differences(Cell("variable", "device 2"), {"v": "3"})

    assert "variable | device 2 | v: 2 instead of 3" == str(difference)


def test_a_way_that_fails_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(tf: object, device: object) -> object:
        raise ValueError("nothing")

    monkeypatch.setattr("tests.variable_placement.table.table_of_ways", lambda: {"failing": failing})
    (difference,) = differences(Cell("failing", "device 2"), {})

    assert "ValueError: nothing" == difference.actual


@pytest.mark.parametrize("codes", [{"a": "1", "b": "1"}, {"a": "1", "b": "c"}, {"a": "01"}])
def test_codes_are_packed_and_unpacked(codes: dict[str, str]) -> None:
    assert codes == unpacked(list(codes), packed(list(codes), codes))
