"""The memory of other libraries on a card: their arrays, the names of those, and the rest of their pools."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

from nbtf import runtime
from nbtf._counts import counted
from nbtf.notebook.holders.containers import Entry, Gather, Row, merge
from nbtf.notebook.holders.garbage import Piece
from nbtf.notebook.holders.holders import Holders
from nbtf.notebook.holders.names import IN_MODULE, AccessPath, tidy

_NAMES = 10
"""Maximum number of an array's names to show."""

_STATE_GONE = re.compile(r"del (.+\.state)")
_IN_STATE = re.compile(r"(.+)\.state\[<\w+>\]\['\w+'\]")


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
        self._holders, self._libraries = holders, libraries
        self._devices = {f"cuda:{number}" for number in cards}
        self._pieces = [
            piece
            for piece in holders.largest_first
            if piece[0] in self._devices and not any(piece[2] in addresses for addresses in own_ranges)
        ]
        self._listed = set(holders.by_piece)  # a piece appears in one row only

    def rows(self, gather: Gather) -> list[Row]:
        """Returns rows for arrays with names, for their gradients, and for what is kept for backward passes."""
        rows = {piece: self._row(piece) for piece in self._pieces}
        entries = [Entry(piece, self._container(piece, row), row["nbytes"], row) for piece, row in rows.items()]
        return gather(entries, self._lines) + self._gradients(rows) + self._saved(rows, gather) + self._taped()

    def _container(self, piece: Piece, row: Row) -> str:
        """Returns the container of an array and its role there: `batches`, `model: weights`."""
        optimizer = _optimizer(row)
        if optimizer:
            return f"{optimizer}: optimizer state"
        paths = self._paths(piece)
        names = ", ".join(dict.fromkeys(tidy(path.container) for path in paths))
        in_modules = bool(paths) and all(IN_MODULE.search(path.text) for path in paths)
        if in_modules:
            return f"{names}: weights"
        array = self._holders.objects_of(piece)[0]
        nouns = {path.noun for path in paths} if self._library(array).is_variable(array) else set[str]()
        return f"{names}: {nouns.pop()}" if len(nouns - {""}) == len(nouns) == 1 else names

    def _library(self, array: Any) -> runtime.Arrays:
        return next(library for library in self._libraries if issubclass(type(array), library.type))

    def _row(self, piece: Piece) -> Row:
        array = self._holders.objects_of(piece)[0]
        library, paths = self._library(array), self._paths(piece)
        names = [tidy(path.text) for path in paths]
        return {
            "device": piece[0],
            "library": library.library,
            "holder": ", ".join(names[:_NAMES]) or "something unnamed",
            "names": names,
            "nbytes": self._holders.nbytes(piece),
            "tensor": f"{library.describe(array)} ({library.library})",
            "patterns": list(dict.fromkeys(tidy(path.pattern_text) for path in paths)),
        }

    def _paths(self, piece: Piece) -> list[AccessPath]:
        """Returns the most informative names of a piece: a module's parts as such, and names in preference to keys."""
        holder = self._holders.of(piece)
        paths = list(
            {tidy(path.text): path for path in ([] if holder is None else [*holder.names, *holder.views])}.values()
        )
        in_modules = [path for path in paths if IN_MODULE.search(path.text)]
        clear = [path for path in paths if "<" not in tidy(path.text)]
        return in_modules or clear or paths[:1]

    def _lines(self, pieces: Sequence[Piece]) -> list[str] | None:
        """Returns the lines that free pieces, unless their library holds one of them where Python cannot see it."""
        groups = [self._holders.objects_of(piece) for piece in pieces]
        if not all(self._library(arrays[0]).is_pythons(arrays, 0) for arrays in groups):
            return None
        lines = self._holders.lines(pieces)
        if lines is not None and len(lines) == 1 and (state := _STATE_GONE.fullmatch(lines[0])):
            return [f"{state[1]}.clear()"]  # frees the same memory, and the optimizer keeps working
        return lines

    # What a library keeps where Python cannot see it

    def _gradients(self, rows: dict[Piece, Row]) -> list[Row]:
        """Returns rows for gradients without a name of their own; a module's gradients share one row."""
        groups: dict[tuple[str, str], list[Entry]] = {}
        for piece, row in rows.items():
            for array in self._holders.objects_of(piece):
                library = self._library(array)
                gradient = library.gradient(array)
                holding = None if gradient is None else library.holding(gradient)
                if holding is None or not self._is_new(holding):
                    continue
                path = next(iter(self._paths(piece)), None)
                name = f"{row['names'][0]}.grad" if row["names"] else "a gradient"
                code = None if path is None or path.code is None else tidy(path.code)
                module = "" if code is None or path is None else _module_of(path.code or "")
                alone = code is not None and library.is_pythons([gradient], 1)
                gradient_row: Row = {"holder": name, "names": [name], "nbytes": holding.nbytes, "alone": alone}
                gradient_row |= {"tensor": f"{library.describe(gradient)} ({library.library})"}
                gradient_row |= {"frees": [f"{code}.grad = None"] if alone else None}
                entry = Entry(key(holding), module or name, holding.nbytes, row | gradient_row)
                groups.setdefault((piece[0], entry.container), []).append(entry)
        return [_of_module(group) if len(group) > 1 else group[0].row for group in groups.values()]

    def _saved(self, rows: dict[Piece, Row], gather: Gather) -> list[Row]:
        """Returns rows for nameless tensors that arrays keep for backward passes, the largest first."""
        kept_sizes: dict[Piece, tuple[int, dict[Piece, int]]] = {}
        for piece in rows:
            for array in self._holders.objects_of(piece):
                library = self._library(array)
                saved = library.saved(array)
                holdings = [holding for holding in map(library.holding, saved.tensors) if holding is not None]
                sizes = {key(holding): holding.nbytes for holding in holdings if key(holding) not in self._listed}
                if sizes:
                    kept_sizes[piece] = saved.nodes, sizes
        entries: list[Entry] = []
        keepers_of: dict[Piece, list[Piece]] = {}
        most_first = sorted(kept_sizes.items(), key=lambda item: (sum(item[1][1].values()), item[1][0]), reverse=True)
        for piece, (nodes, sizes) in most_first:
            new = {saved: nbytes for saved, nbytes in sizes.items() if saved not in self._listed}
            if new:
                self._listed |= new.keys()
                keepers_of[piece] = [keeper for keeper, (_, sizes) in kept_sizes.items() if sizes.keys() & new.keys()]
                amount = f"{counted(nodes, 'node')}, {counted(len(new), 'tensor')}"
                holder = f"{rows[piece]['holder']}: kept for its backward pass ({amount})"
                container = self._container(piece, rows[piece])
                nbytes = sum(new.values())
                row = rows[piece] | {"holder": holder, "nbytes": nbytes, "tensor": ""}
                container = container and f"{container}: kept for backward passes"
                entries.append(Entry(piece, container, nbytes, row))

        def lines(pieces: Sequence[Piece]) -> list[str] | None:
            keepers = list(dict.fromkeys(keeper for piece in pieces for keeper in keepers_of[piece]))
            return self._letting_go(keepers, rows)

        return gather(entries, lines)

    def _letting_go(self, keepers: list[Piece], rows: dict[Piece, Row]) -> list[str] | None:
        """Returns the lines after which nothing keeps the graphs; a scalar's value can be kept."""
        lines = self._lines(keepers)
        if lines is None or len(keepers) > 1 or not rows[keepers[0]]["tensor"].startswith("[] "):
            return lines
        name = rows[keepers[0]]["names"][0] if rows[keepers[0]]["names"] else ""
        return [f"{name} = {name}.item()"] if lines == [f"%xdel {name}"] else lines

    def _taped(self) -> list[Row]:
        """Returns a row for what a library's tapes keep on each card for backward passes."""
        rows: list[Row] = []
        for library in self._libraries:
            taped = library.taped(self._listed)
            if taped is None:
                continue
            paths, lines = self._holders.of_objects(taped.keepers)
            names = [path.text for path in paths] or [f"a tape of {library.library}"]
            for device in dict.fromkeys(
                holding.device for holding in taped.holdings if holding.device in self._devices
            ):
                sizes = [holding.nbytes for holding in taped.holdings if holding.device == device]
                holder = f"{', '.join(names[:_NAMES])}: kept by the tape ({counted(len(sizes), 'tensor')})"
                row: Row = {"device": device, "library": library.library, "holder": holder, "names": names}
                rows.append(row | {"nbytes": sum(sizes), "tensor": "", "frees": lines})
        return rows

    def _is_new(self, holding: runtime.Holding) -> bool:
        """Returns whether a piece has no row yet, and records that it now has one."""
        new = key(holding) not in self._listed
        self._listed.add(key(holding))
        return new


def key(holding: runtime.Holding) -> Piece:
    """Returns the piece of memory that an object holds."""
    return holding.device, holding.region, holding.offset


def _optimizer(row: Row) -> str:
    """Returns the optimizer that keeps an array as a parameter's state; empty if none does."""
    match = _IN_STATE.fullmatch(row["patterns"][0]) if row["patterns"] else None
    return match[1] if match else ""


def _of_module(group: list[Entry]) -> Row:
    """Returns one row for the gradients of a module."""
    name = group[0].container
    frees = [f"{name}.zero_grad()"] if all([entry.facts["alone"] for entry in group]) else None
    return merge(group, f"{name}: gradients") | {"frees": frees}


def _module_of(code: str) -> str:
    """Returns the code that names a parameter's module; empty if it belongs to none."""
    match = IN_MODULE.search(code)
    return code[: match.start()] if match else ""


def pool_rows(cards: Collection[int], rows: Sequence[Row], complete: bool) -> list[Row]:
    """Returns rows for the contents of the libraries' pools that no array's row covers.

    Args:
      cards: CUDA numbers of the cards.
      rows: the rows of the arrays.
      complete: whether the search for arrays had time to finish.
    """
    devices = {f"cuda:{number}" for number in cards}
    pools = [
        (library.name, pool) for library in runtime.frameworks() for pool in library.pools() if pool.device in devices
    ]
    result: list[Row] = []
    for library, pool in sorted(pools, key=lambda pair: pair[1].device):
        named_bytes = sum([row["nbytes"] for row in rows if (row["device"], row["library"]) == (pool.device, library)])
        base = {"device": pool.device, "library": library, "frees": None}
        if pool.in_use > named_bytes:
            holder = f"{library}: arrays {'without a name' if complete else 'not found in time'}"
            result.append(base | {"holder": holder, "nbytes": pool.in_use - named_bytes})
        if pool.reserved > pool.in_use:
            frees = None if pool.returns is None else [pool.returns]
            idle = pool.reserved - pool.in_use
            result.append(base | {"holder": f"{library}: kept for later arrays", "nbytes": idle, "frees": frees})
    return result


def addresses(device: str) -> list[range]:
    """Returns the address ranges of a GPU's tensors on its card, if its allocator reports addresses."""
    try:
        pieces = runtime.memory_pieces(device)
    except ValueError:  # the device has not started
        return []
    return [range(piece.offset, piece.offset + piece.nbytes) for piece, _ in pieces]
