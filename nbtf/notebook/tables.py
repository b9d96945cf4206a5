"""How is an answer shown: as text, as HTML, as data?"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple

from nbtf import runtime

NOTHING = "–"
MOST_ROWS = 60
"""Rows that are shown; the data has all."""
FEW_PARTS = 3
"""Parts of a row that are shown in text, where there are more than one more."""


def text(value: Any) -> str:
    """Returns a value as a cell of a table shows it."""
    if value is None or value == "":
        return NOTHING
    return f"{value:,}" if isinstance(value, int) else str(value)


def size(nbytes: int | None) -> str:
    """Returns a number of bytes as a cell of a table shows it: exact where that is short. The data has all digits."""
    return NOTHING if nbytes is None else runtime.exact(nbytes).partition(" (")[0]


class Column(NamedTuple):
    """A column: its name in data, its title, how a value is shown, whether it is a number."""

    name: str
    title: str
    shown: Callable[[Any], str] = text
    number: bool = False


class Table:
    """Rows with a caption below: prints as text, shows as HTML, and gives its rows as data."""

    def __init__(
        self,
        columns: Sequence[Column],
        rows: Iterable[Mapping[str, Any]],
        notes: Iterable[str] = (),
        most: int = MOST_ROWS,
        lister: str = "to_dict()",
        folded: Callable[[Mapping[str, Any]], bool] | None = None,
    ) -> None:
        """Takes the rows by column name; at most `most` are shown, all are in the data.

        A row may have `parts`, rows of the same columns that it opens to; `lister` shows all of them. Rows that
        are `folded` are in the data alone.
        """
        self.columns, self.rows, self.notes, self._most = tuple(columns), [dict(row) for row in rows], list(notes), most
        self._lister = lister
        self._unfolded = self.rows if folded is None else [row for row in self.rows if not folded(row)]

    def to_dict(self) -> dict[str, Any]:
        """Returns the rows, each a dictionary of plain values, and the notes below them."""
        return {"rows": [dict(row) for row in self.rows], "notes": list(self.notes)}

    def to_pandas(self) -> Any:
        """Returns a pandas DataFrame with the same rows.

        Raises:
          ModuleNotFoundError: pandas is not installed.
        """
        names = [column.name for column in self.columns]
        return import_module("pandas").DataFrame(
            [[row.get(name) for name in names] for row in self.rows], columns=names
        )

    def __repr__(self) -> str:
        """Returns the table as text."""
        cells = [[column.title for column in self._shown]]
        for row, shown in zip(self._unfolded, self._cells(self._unfolded[: self._most]), strict=False):
            cells += [shown, *self._first_parts(row.get("parts", ()))]
        widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(map(_padded, row, widths, self._shown)).rstrip() for row in cells] if self._unfolded else []
        return "\n".join([*lines, *self._below()])

    def _repr_html_(self) -> str:
        """Returns the table as HTML: no script, no ids, no style but the side on which a column stands."""
        head = "".join(f'<th scope="col"{_side(one)}>{html.escape(one.title)}</th>' for one in self._shown)
        rows = "".join(map(self._html_row, self._unfolded, self._cells(self._unfolded[: self._most])))
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>" if self._unfolded else ""
        return f"<div>{table}{''.join(f'<p>{html.escape(note)}</p>' for note in self._below())}</div>"

    @cached_property
    def _shown(self) -> list[Column]:
        """The columns that say something: looked for once, as a table may have 100,000 rows."""
        first, *others = self.columns
        return [
            first,
            *(one for one in others if any(one.shown(row.get(one.name)) != NOTHING for row in self._unfolded)),
        ]

    def _cells(self, rows: Iterable[Mapping[str, Any]]) -> list[list[str]]:
        return [[one_line(column.shown(row.get(column.name))) for column in self._shown] for row in rows]

    def _first_parts(self, parts: Sequence[Mapping[str, Any]]) -> list[list[str]]:
        """Returns the cells of the first parts of a row, below which it says how many more there are."""
        shown = len(parts) if len(parts) <= FEW_PARTS + 1 else FEW_PARTS
        cells = [[f"  {first}", *others] for first, *others in self._cells(parts[:shown])]
        more = [f"  {self._more(parts[shown:])}", *[""] * (len(self._shown) - 1)]
        return [*cells, more] if parts[shown:] else cells

    def _more(self, parts: Sequence[Mapping[str, Any]]) -> str:
        nbytes = sum([part["nbytes"] for part in parts])
        return f"and {len(parts):,} more, {runtime.exact(nbytes)}; {self._lister} lists them"

    def _html_row(self, row: Mapping[str, Any], shown: list[str]) -> str:
        """Returns a row; one with parts opens to them, by mouse and by keyboard."""
        cells = list(map(_cell, shown, self._shown))
        parts = row.get("parts", ())
        if parts:
            rows = "".join(
                f"<tr>{''.join(map(_cell, one, self._shown))}</tr>" for one in self._cells(parts[:MOST_ROWS])
            )
            more = f"<p>{html.escape(self._more(parts[MOST_ROWS:]))}</p>" if parts[MOST_ROWS:] else ""
            summary = f"<summary>{html.escape(shown[0])}</summary>"
            opened = f"<details>{summary}<table><tbody>{rows}</tbody></table>{more}</details>"
            cells[0] = f"<td{_side(self._shown[0])}>{opened}</td>"
        return f"<tr>{''.join(cells)}</tr>"

    def _below(self) -> list[str]:
        more = len(self._unfolded) - self._most
        return [*([f"… {more:,} more rows: to_dict() has all"] if more > 0 else []), *self.notes]


LONGEST = 120
"""Characters of a cell that are shown; names are data, and may have ten thousand."""


def one_line(shown: str) -> str:
    """Returns a text that stays in its cell: no line breaks or control characters, and not too long."""
    cut = shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"
    return cut if cut.isprintable() else "".join(char if char.isprintable() else "�" for char in cut)


def _cell(shown: str, column: Column) -> str:
    return f"<td{_side(column)}>{html.escape(shown)}</td>"


def _side(column: Column) -> str:
    """Returns where a column stands; JupyterLab puts all on the right."""
    return "" if column.number else ' style="text-align:left"'


def _width(shown: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in shown)


def _padded(shown: str, width: int, column: Column) -> str:
    room = " " * (width - _width(shown))
    return room + shown if column.number else shown + room
