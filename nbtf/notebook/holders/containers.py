"""Combines the tensors of one list, model or optimizer into one row that expands to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, overload

from nbtf._counts import counted
from nbtf._devices.sizes import gib
from nbtf.notebook.holders.garbage import Piece

Row = dict[str, Any]

_SHARED = ("device", "library", "tensor", "op", "code")
"""Columns that a row of many tensors shows if all of them agree."""


class Entry(NamedTuple):
    """One tensor: its piece of memory, and the name of the container that holds it with others; empty for none.

    `facts` are the columns that many rows may share; `holder_facts` computes the others from `owner` on request.
    `may_be_copy` is whether a GPU may have a copy of another GPU's tensor under the same name.
    """

    piece: Piece
    container: str
    nbytes: int
    facts: Row
    holder_facts: Callable[[Entry], Row] | None = None
    owner: Any = None
    may_be_copy: bool = False

    @property
    def row(self) -> Row:
        """Its row."""
        return self.facts if self.holder_facts is None else self.facts | self.holder_facts(self)


class Copies(NamedTuple):
    """Equal tensors, one on each GPU."""

    entries: Sequence[Entry]

    @property
    def row(self) -> Row:
        """The row of all of them."""
        row = self.entries[0].row
        return _together([[entry] for entry in self.entries], row | _agreed(self.entries), row["holder"])


class Parts(Sequence[Row]):
    """The rows of a container's tensors, each created on access, because a list may have 100,000."""

    def __init__(self, entries: Sequence[Entry | Copies]) -> None:
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

    Equal tensors under the same names on several GPUs, such as the copies of a mirrored variable, have one row as well.

    Args:
      entries: the tensors, largest first.
      lines: returns the lines that free pieces together.
    """
    groups: dict[object, list[Entry]] = {}
    for entry in entries:
        key = (entry.facts["device"], entry.container) if entry.container else entry.piece
        groups.setdefault(key, []).append(entry)
    containers: dict[object, list[list[Entry]]] = {}
    for key, group in groups.items():
        containers.setdefault(group[0].container or key, []).append(group)
    rows: list[Row] = []
    for of_devices in containers.values():
        mirrored = len(of_devices) > 1 and _are_copies(of_devices)
        for together in [of_devices] if mirrored else [[group] for group in of_devices]:
            frees = lines([entry.piece for group in together for entry in group])
            rows.append((_mirrored_row(together) if mirrored else _row(together[0])) | {"frees": frees})
    return rows


def list_all(entries: Sequence[Entry], lines: Lines) -> list[Row]:
    """Returns a row for each tensor."""
    return gather([entry._replace(container="") for entry in entries], lines)


def _row(group: list[Entry]) -> Row:
    return group[0].row if len(group) == 1 else merge(group, group[0].container)


def _are_copies(groups: list[list[Entry]]) -> bool:
    """Returns whether each GPU has the same tensors under the same names."""
    if len({len(group) for group in groups}) > 1 or not all(entry.may_be_copy for group in groups for entry in group):
        return False
    return all(_names(group) == _names(groups[0]) for group in groups[1:])


def _names(group: list[Entry]) -> list[tuple[str, str]]:
    return sorted((entry.row["holder"], entry.facts["tensor"]) for entry in group)


def _mirrored_row(groups: list[list[Entry]]) -> Row:
    """Returns one row for the tensors of all GPUs, whose parts are the tensors with their copies."""
    sorted_groups = [sorted(group, key=lambda entry: (entry.row["holder"], entry.facts["tensor"])) for group in groups]
    copies = [Copies(entries) for entries in zip(*sorted_groups, strict=True)]
    if len(copies) == 1:
        return copies[0].row
    every = [entry for group in groups for entry in group]
    copies.sort(key=lambda each: -sum(entry.nbytes for entry in each.entries))
    row = merge(every, groups[0][0].container) | {"parts": Parts(copies)}
    return _together(groups, row, f"{groups[0][0].container} ({counted(len(copies), 'tensor')})")


def _together(groups: Sequence[Sequence[Entry]], row: Row, holder: str) -> Row:
    """Returns the row of equal tensors, one group on each GPU."""
    sums = [sum(entry.nbytes for entry in group) for group in groups]
    smallest, largest = gib(min(sums)), gib(max(sums))
    size = largest if smallest == largest else f"{smallest} to {largest}"
    names = sorted({str(group[0].facts["device"]) for group in groups}, key=lambda name: (len(name), name))
    return row | {
        "holder": f"{holder}: {len(groups)} × {size}, one on each GPU",
        "device": names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}" if _adjoin(names) else ", ".join(names),
        "nbytes": sum(sums),
        "pieces": sum(len(group) for group in groups),
    }


def _adjoin(names: list[str]) -> bool:
    """Returns whether more than two GPUs have consecutive numbers: `GPU:0`, `GPU:1`, `GPU:2`."""
    numbers = [int(number) for name in names if (number := name.rpartition(":")[2]).isdigit()]
    return len(names) > 2 and numbers == [*range(numbers[0], numbers[0] + len(names))]


def _agreed(entries: Sequence[Entry]) -> Row:
    """Returns the shared columns: empty where tensors differ."""
    first, *further = {id(entry.facts): entry.facts for entry in entries}.values()
    return {
        name: first[name] if all(facts.get(name) == first[name] for facts in further) else ""
        for name in _SHARED
        if name in first
    }


def merge(entries: Sequence[Entry], container: str) -> Row:
    """Returns one row for several tensors, without the lines that free them."""
    return (
        {"device": "", "tensor": "", "op": "", "code": ""}
        | _agreed(entries)
        | {
            "holder": f"{container} ({counted(len(entries), 'tensor')})",
            "nbytes": sum([entry.nbytes for entry in entries]),
            "pieces": len(entries),
            "names": [container],
            "views": [],
            "parts": Parts(entries),
        }
    )
