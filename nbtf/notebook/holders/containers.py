"""Combines the tensors of one list, model or optimizer into one row that expands to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, overload

from nbtf._counts import counted
from nbtf.notebook.holders.garbage import Piece

Row = dict[str, Any]

_SHARED = ("device", "library", "tensor", "op", "code")
"""Columns that a row of many tensors shows if all of them agree."""


class Entry(NamedTuple):
    """One tensor: its piece of memory, and the name of the container that holds it with others; empty for none.

    `facts` are the columns that many rows may share; `holder_facts` computes the others from `owner` on request.
    """

    piece: Piece
    container: str
    nbytes: int
    facts: Row
    holder_facts: Callable[[Entry], Row] | None = None
    owner: Any = None

    @property
    def row(self) -> Row:
        """Its row."""
        return self.facts if self.holder_facts is None else self.facts | self.holder_facts(self)


class Parts(Sequence[Row]):
    """The rows of a container's tensors, each created on access, because a list may have 100,000."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        """Stores the entries of the tensors."""
        self._entries = entries

    def __len__(self) -> int:
        """Returns the number of tensors."""
        return len(self._entries)

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...

    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        """Returns one row, or a list of rows for a slice."""
        if isinstance(index, slice):
            return [entry.row for entry in self._entries[index]]
        return self._entries[index].row


Lines = Callable[[Sequence[Piece]], list[str] | None]
"""Returns the lines that free pieces together."""

Gather = Callable[[Sequence[Entry], Lines], list[Row]]
"""How tensors become rows: `gather`, or `list_all`."""


def gather(entries: Sequence[Entry], lines: Lines) -> list[Row]:
    """Returns one row for a container's tensors on a device, with their rows as its `parts`.

    Args:
      entries: the tensors, largest first.
      lines: returns the lines that free pieces together.
    """
    groups: dict[object, list[Entry]] = {}
    for entry in entries:
        key = (entry.facts["device"], entry.container) if entry.container else entry.piece
        groups.setdefault(key, []).append(entry)
    return [_row(group, lines([entry.piece for entry in group])) for group in groups.values()]


def list_all(entries: Sequence[Entry], lines: Lines) -> list[Row]:
    """Returns a row for each tensor."""
    return gather([entry._replace(container="") for entry in entries], lines)


def _row(group: list[Entry], frees: list[str] | None) -> Row:
    if len(group) == 1:
        return group[0].row | {"frees": frees}
    return merge(group, group[0].container) | {"frees": frees}


def merge(entries: Sequence[Entry], container: str) -> Row:
    """Returns one row for several tensors, without the lines that free them."""
    first, *further = {id(entry.facts): entry.facts for entry in entries}.values()
    are_same = {name: all([facts.get(name) == first[name] for facts in further]) for name in _SHARED if name in first}
    shared = {name: first[name] for name, is_same in are_same.items() if is_same}
    return (
        {"device": "", "tensor": "", "op": "", "code": ""}
        | shared
        | {
            "holder": f"{container} ({counted(len(entries), 'tensor')})",
            "nbytes": sum([entry.nbytes for entry in entries]),
            "pieces": len(entries),
            "names": [container],
            "views": [],
            "parts": Parts(entries),
        }
    )
