"""How is a result shown: as text, as HTML, as data?"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from nbtf import runtime
from nbtf._counts import counted
from nbtf._displayed import Displayed, is_in_ipython
from nbtf._locks import computed_once

NOTHING = "–"
MOST_ROWS = 60
"""Number of rows that are shown; the data has all."""
_DATA = "to_dict()"
FEW_PARTS = 3
"""Number of a row's parts that are shown as text; one more is shown rather than hidden."""


def text(value: Any) -> str:
    """Returns a value as a cell of a table shows it."""
    if value is None or value == "":
        return NOTHING
    return f"{value:,}" if isinstance(value, int) else str(value)


def size(nbytes: int | None) -> str:
    """Returns a number of bytes for a cell of a table: exact if that is short. The data has all digits."""
    return NOTHING if nbytes is None else runtime.exact(nbytes).partition(" (")[0]


class Column(NamedTuple):
    """A column: its name in data, its title, how its values are shown, and whether they are numbers."""

    name: str
    title: str
    write: Callable[[Any], str] = text
    number: bool = False


def texts(*names: str) -> list[Column]:
    """Returns columns of texts, whose titles are their names."""
    return [Column(name, name) for name in names]


def sizes(**titles: str) -> list[Column]:
    """Returns columns of sizes in bytes, by name and title."""
    return [Column(name, title, size, number=True) for name, title in titles.items()]


def facts_of(source: object, *names: str) -> dict[str, Any]:
    """Returns some attributes of an object, by name."""
    return {name: getattr(source, name) for name in names}


class Table(Displayed):
    """Rows with notes below: prints as text, displays as HTML, and provides its rows as data."""

    def __init__(
        self,
        columns: Sequence[Column],
        rows: Iterable[Mapping[str, Any]],
        notes: Iterable[str] = (),
        limit: int = MOST_ROWS,
        lister: str = _DATA,
        folded: Callable[[Mapping[str, Any]], bool] | None = None,
    ) -> None:
        """Stores the rows by column name; at most `limit` are shown, and the data has all.

        A row may have `parts`, rows of the same columns into which it expands; `lister` shows all of them. Rows marked
        `folded` are only in the data.
        """
        self.columns: tuple[Column, ...] = tuple(columns)
        self.rows: list[dict[str, Any]] = [dict(row) for row in rows]
        self.notes: list[str] = list(notes)
        self._most = limit
        self._lister = lister
        self._unfolded = self.rows if folded is None else [row for row in self.rows if not folded(row)]

    def to_dict(self) -> dict[str, Any]:
        """Returns the rows as dictionaries of plain values, and the notes below them."""
        return {"rows": [_plain(row) for row in self.rows], "notes": list(self.notes)}

    def to_pandas(self) -> Any:
        """Returns a pandas DataFrame with the same rows.

        Raises:
          ModuleNotFoundError: if pandas is not installed.
        """
        names = [column.name for column in self.columns]
        return import_module("pandas").DataFrame(
            [[row.get(name) for name in names] for row in self.rows], columns=names
        )

    def __repr__(self) -> str:
        """Returns the table as text."""
        cells = [[column.title for column in self._filled]]
        for row, values in zip(self._unfolded, self._cells(self._unfolded[: self._most]), strict=False):
            cells += [values, *self._first_parts(row)]
        widths = [max(map(display_width, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(map(_padded, row, widths, self._filled)).rstrip() for row in cells] if self._unfolded else []
        return "\n".join([*lines, *self._below()])

    def _repr_html_(self) -> str:
        """Returns the table as HTML: no script, no ids, no style except a column's alignment and line breaks."""
        head = "".join(f'<th scope="col"{_side(column)}>{html.escape(column.title)}</th>' for column in self._filled)
        rows = "".join(map(self._html_row, self._unfolded, self._cells(self._unfolded[: self._most])))
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>" if self._unfolded else ""
        return f"<div>{table}{''.join(f'<p>{html.escape(note)}</p>' for note in self._below())}</div>"

    @computed_once
    def _filled(self) -> list[Column]:
        """The columns that are not empty; computed once, because a table may have 100,000 rows."""
        first, *columns = self.columns
        return [
            first,
            *(each for each in columns if any(each.write(row.get(each.name)) != NOTHING for row in self._unfolded)),
        ]

    def _cells(self, rows: Iterable[Mapping[str, Any]]) -> list[list[str]]:
        return [[one_line(column.write(row.get(column.name))) for column in self._filled] for row in rows]

    def _first_parts(self, row: Mapping[str, Any]) -> list[list[str]]:
        """Returns the cells of a row's first parts, followed by the number of further parts."""
        part_rows: Sequence[Mapping[str, Any]] = row.get("parts", ())
        count = len(part_rows) if len(part_rows) <= FEW_PARTS + 1 else FEW_PARTS
        visible_rows = part_rows[:count]
        cells = [[f"  {first}", *values] for first, *values in self._cells(visible_rows)]
        ending = [[f"  {text}", *[""] * (len(self._filled) - 1)] for text in self._summary(row, visible_rows)]
        return cells + ending

    def _summary(self, row: Mapping[str, Any], visible_rows: Sequence[Mapping[str, Any]]) -> list[str]:
        """Returns the number and size of the parts that are not shown, without creating them."""
        count = len(row.get("parts", ())) - len(visible_rows)
        nbytes = row["nbytes"] - sum([part_row["nbytes"] for part_row in visible_rows]) if count else 0
        return [f"and {count:,} more, {runtime.exact(nbytes)}; {self._lister} lists them"] if count else []

    def _html_row(self, row: Mapping[str, Any], values: list[str]) -> str:
        """Returns a row; one with parts can be expanded by mouse and keyboard."""
        cells = list(map(_cell, values, self._filled))
        part_rows: Sequence[Mapping[str, Any]] = row.get("parts", ())[:MOST_ROWS]
        if part_rows:
            rows = "".join(f"<tr>{''.join(map(_cell, cells, self._filled))}</tr>" for cells in self._cells(part_rows))
            ending = "".join([f"<p>{html.escape(text)}</p>" for text in self._summary(row, part_rows)])
            summary = f"<summary>{html.escape(values[0])}</summary>"
            opened = f"<details>{summary}<table><tbody>{rows}</tbody></table>{ending}</details>"
            cells[0] = f"<td{_side(self._filled[0])}>{opened}</td>"
        return f"<tr>{''.join(cells)}</tr>"

    def _below(self) -> list[str]:
        count = len(self._unfolded)
        hidden = f"… {counted(count - self._most, 'more row')}: to_dict() has all"
        if self._lister != _DATA:
            hidden = f"… {count - self._most:,} more of {count:,} rows; {self._lister} lists them"
        return [*([hidden] if count > self._most else []), *self.notes]


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a row with its parts, which are created now if they have not been shown."""
    part_rows = {"parts": [dict(part_row) for part_row in row["parts"]]} if "parts" in row else {}
    return {**row, **part_rows}


LONGEST = 120
"""Characters of a cell that are shown; names are data, and may have ten thousand characters."""


def one_line(value: str) -> str:
    """Returns a text that stays within its cell: without line breaks or control characters, and not too long."""
    cut = value if len(value) <= LONGEST else f"{value[: LONGEST - 1]}…"
    return cut if cut.isprintable() else "".join(char if char.isprintable() else "�" for char in cut)


def _cell(value: str, column: Column) -> str:
    return f"<td{_side(column)}>{html.escape(value)}</td>"


def _side(column: Column) -> str:
    """Returns the style of a column's cells: numbers stay with their units; JupyterLab aligns all to the right.

    Pages of other front ends leave no space between cells.
    """
    space = "" if is_in_ipython() else ";padding:2px 8px"
    return f' style="{"white-space:nowrap" if column.number else "text-align:left"}{space}"'


def display_width(value: str) -> int:
    """Returns how many columns of a terminal a text has; Chinese and Japanese characters have two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in value)


def _padded(value: str, width: int, column: Column) -> str:
    room = " " * (width - display_width(value))
    return room + value if column.number else value + room
