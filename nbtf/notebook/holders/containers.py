"""How do the tensors of one list, model or optimizer become one row, which opens to them?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from nbtf.notebook.holders.garbage import Piece

Row = dict[str, Any]

_SHARED = ("device", "library", "tensor", "op", "code")
"""What a row of many tensors says where it is the same for all of them."""


class Entry(NamedTuple):
    """A row of one tensor, which piece of memory it has, and the name of what holds it with others; empty for none."""

    piece: Piece
    container: str
    row: Row


Lines = Callable[[Sequence[Piece]], list[str] | None]
"""Returns what frees some pieces together."""

Gather = Callable[[Sequence[Entry], Lines], list[Row]]
"""How tensors become rows: `gather`, or `list_all`."""


def gather(entries: Sequence[Entry], lines: Lines) -> list[Row]:
    """Returns one row for the tensors that a container has on a device, with them as its `parts`.

    Args:
      entries: the tensors, the largest first.
      lines: returns what frees some pieces together.
    """
    groups: dict[object, list[Entry]] = {}
    for entry in entries:
        key = (entry.row["device"], entry.container) if entry.container else entry.piece
        groups.setdefault(key, []).append(entry)
    return [_row(group, lines([entry.piece for entry in group])) for group in groups.values()]


def list_all(entries: Sequence[Entry], lines: Lines) -> list[Row]:
    """Returns a row for each tensor."""
    return gather([entry._replace(container="") for entry in entries], lines)


def _row(group: list[Entry], frees: list[str] | None) -> Row:
    rows = [entry.row for entry in group]
    if len(rows) == 1:
        return rows[0] | {"frees": frees}
    return merge(rows, group[0].container) | {"frees": frees}


def merge(rows: list[Row], container: str) -> Row:
    """Returns one row for several, without what frees them."""
    shared = {name: rows[0][name] for name in _SHARED if name in rows[0] and _is_same(rows, name)}
    return (
        {"device": "", "tensor": "", "op": "", "code": ""}
        | shared
        | {
            "holder": f"{container} ({len(rows):,} tensors)",
            "nbytes": sum([row["nbytes"] for row in rows]),
            "pieces": len(rows),
            "names": [container],
            "views": [],
            "parts": rows,
        }
    )


def _is_same(rows: list[Row], name: str) -> bool:
    return all(row.get(name) == rows[0][name] for row in rows)
