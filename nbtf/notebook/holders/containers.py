"""How do the tensors of one list, model or optimizer become one row, which opens to them?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, overload

from nbtf._counts import counted
from nbtf.notebook.holders.garbage import Piece

Row = dict[str, Any]

_SHARED = ("device", "library", "tensor", "op", "code")
"""What a row of many tensors says where it is the same for all of them."""


class Entry(NamedTuple):
    """One tensor: which piece of memory it has, and the name of what holds it with others; empty for none.

    `facts` are those of its row that many may share, `holder_facts` makes the others of `owner` when somebody looks.
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
    """The rows of the tensors of a container, each made when it is asked for: a list may have 100,000."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        """Takes the tensors."""
        self._entries = entries

    def __len__(self) -> int:
        """Returns how many there are."""
        return len(self._entries)

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...

    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        """Returns one row, or some."""
        if isinstance(index, slice):
            return [entry.row for entry in self._entries[index]]
        return self._entries[index].row


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
    """Returns one row for several tensors, without what frees them."""
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
