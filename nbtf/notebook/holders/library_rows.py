"""The arrays of other libraries on a card, and their names."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

from nbtf import runtime
from nbtf.notebook.holders.containers import Entry, Gather, Row
from nbtf.notebook.holders.garbage import Piece
from nbtf.notebook.holders.holders import Holders
from nbtf.notebook.holders.names import IN_MODULE, AccessPath, tidy

NAMES = 10
"""Maximum number of an array's names to show."""

_STATE_GONE = re.compile(r"del (.+\.state)")
_IN_STATE = re.compile(r"(.+)\.state\[<\w+>\]\['\w+'\]")
_OF_OPTIMIZER = re.compile(r"(.+)\.param_groups\[")


class ForeignArrays:
    """The arrays of other libraries that a search has found on some cards."""

    def __init__(
        self,
        holders: Holders,
        libraries: Sequence[runtime.Arrays],
        cards: Collection[int],
        own_ranges: Collection[range],
    ) -> None:
        """Stores the result of a search.

        Args:
          holders: the result of a search that knows `libraries`.
          libraries: how to recognize each library's arrays.
          cards: CUDA numbers of the cards.
          own_ranges: addresses that belong to nbtf's tensors; arrays there are only views of them.
        """
        self.holders, self.libraries = holders, libraries
        self.devices: set[str] = {f"cuda:{number}" for number in cards}
        pieces = [
            piece
            for piece in holders.largest_first
            if piece[0] in self.devices and not any(piece[2] in addresses for addresses in own_ranges)
        ]
        self.listed: dict[Piece, int] = {piece: holders.nbytes(piece) for piece in holders.by_piece}
        """The pieces that have a row, with their sizes; each appears in one row only."""
        self.by_piece: dict[Piece, Row] = {piece: self._row(piece) for piece in pieces}
        """The row of each piece that has names."""

    def rows(self, gather: Gather) -> list[Row]:
        """Returns rows for arrays with names."""
        entries = [Entry(piece, self.container(piece), row["nbytes"], row) for piece, row in self.by_piece.items()]
        return gather(entries, self.lines)

    def container(self, piece: Piece) -> str:
        """Returns the container of an array and its role there: `batches`, `model: weights`."""
        row, paths = self.by_piece[piece], self.paths(piece)
        names = _containers(paths)
        optimizer = _optimizer(row)
        if optimizer:
            role = f"{optimizer}: optimizer state"
        elif paths and all(IN_MODULE.search(path.text) for path in paths):
            role = f"{names}: weights"
        else:
            array = self.holders.objects_of(piece)[0]
            nouns = {path.noun for path in paths} if self.library(array).is_variable(array) else set[str]()
            return f"{names}: {nouns.pop()}" if len(nouns - {""}) == len(nouns) == 1 else names
        other_names = _containers(self._other_paths(piece))
        return f"{role}; the same memory: {other_names}" if other_names else role

    def library(self, array: Any) -> runtime.Arrays:
        """Returns the library of an array."""
        return next(library for library in self.libraries if issubclass(type(array), library.type))

    def _row(self, piece: Piece) -> Row:
        array = self.holders.objects_of(piece)[0]
        library, paths = self.library(array), [*self.paths(piece), *self._other_paths(piece)]
        names = [tidy(path.text) for path in paths]
        return {
            "device": piece[0],
            "library": library.library,
            "holder": ", ".join(names[:NAMES]) or "something unnamed",
            "names": names,
            "nbytes": self.holders.nbytes(piece),
            "tensor": f"{library.describe(array)} ({library.library})",
            "patterns": list(dict.fromkeys(tidy(path.pattern_text) for path in paths)),
        }

    def paths(self, piece: Piece) -> list[AccessPath]:
        """Returns the most informative names of a piece: as a part of a module or an optimizer, then plain names."""
        paths = self._all_paths(piece)
        in_modules = [path for path in paths if IN_MODULE.search(path.text)]
        states = [path for path in paths if _IN_STATE.fullmatch(tidy(path.text))]
        clear = [path for path in paths if "<" not in tidy(path.text)]
        return in_modules or states or clear or paths[:1]

    def _other_paths(self, piece: Piece) -> list[AccessPath]:
        """Returns the names under which a program keeps a module's or optimizer's tensors as well."""
        own_texts = {tidy(path.text) for path in self.paths(piece)}
        return [
            path
            for path in self._all_paths(piece)
            if not (tidy(path.text) in own_texts or "<" in tidy(path.text) or _OF_OPTIMIZER.match(path.text))
        ]

    def _all_paths(self, piece: Piece) -> list[AccessPath]:
        holder = self.holders.of(piece)
        paths = [] if holder is None else [*holder.names, *holder.views]
        return [*{tidy(path.text): path for path in paths}.values()]

    def lines(self, pieces: Sequence[Piece]) -> list[str] | None:
        """Returns the lines that free pieces, unless their library holds one of them where Python cannot see it."""
        groups = [self.holders.objects_of(piece) for piece in pieces]
        if not all(self.library(arrays[0]).is_pythons(arrays, 0) for arrays in groups):
            return None
        lines = self.holders.lines(pieces)
        return None if lines is None else [_of_state(line) for line in lines]

    def is_new(self, holding: runtime.Holding) -> bool:
        """Returns whether a piece has no row yet, and records that it now has one."""
        new = key(holding) not in self.listed
        self.listed.setdefault(key(holding), holding.nbytes)
        return new


def key(holding: runtime.Holding) -> Piece:
    """Returns the piece of memory that an object holds."""
    return holding.device, holding.region, holding.offset


def owner_of_gradients(path: AccessPath) -> str:
    """Returns the code of what frees a parameter's gradient with `zero_grad`: a module or optimizer; empty for none."""
    code = path.code or ""
    match = IN_MODULE.search(code)
    if match is not None:
        return tidy(code[: match.start()])
    optimizer = _OF_OPTIMIZER.match(code)
    return "" if optimizer is None else tidy(optimizer[1])


def _containers(paths: Sequence[AccessPath]) -> str:
    return ", ".join(dict.fromkeys(tidy(path.container) for path in paths))


def _of_state(line: str) -> str:
    """Returns a line that frees an optimizer's state so that the optimizer keeps working; other lines as they are."""
    state = _STATE_GONE.fullmatch(line)
    return line if state is None else f"{state[1]}.clear()"


def _optimizer(row: Row) -> str:
    """Returns the optimizer that keeps an array as a parameter's state; empty if none does."""
    match = _IN_STATE.fullmatch(row["patterns"][0]) if row["patterns"] else None
    return match[1] if match else ""
