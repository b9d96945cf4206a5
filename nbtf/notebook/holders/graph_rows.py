"""Rows for memory that the search does not reach: gradients, tensors for backward passes, and garbage."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import Any, NamedTuple

from nbtf._counts import counted
from nbtf.notebook.holders.containers import Entry, Gather, Row, merge
from nbtf.notebook.holders.freeing import COLLECT
from nbtf.notebook.holders.garbage import HELD_BY_CYCLES, Piece
from nbtf.notebook.holders.library_rows import NAMES, ForeignArrays, key, owner_of_gradients
from nbtf.notebook.holders.names import tidy


class _Keeper(NamedTuple):
    """The keeper of a graph: the array of a piece, or its gradient if `line` is given, which frees that gradient.

    `line` is empty if no line does. `container` names the gradients that share a row.
    """

    piece: Piece
    holder: str
    container: str
    line: str | None = None


class GraphRows:
    """The rows of gradients and of graphs."""

    def __init__(self, arrays: ForeignArrays) -> None:
        """Stores the arrays that have rows."""
        self._arrays = arrays
        self._rows = arrays.by_piece

    def rows(self, gather: Gather) -> list[Row]:
        """Returns rows for gradients, for what is kept for backward passes, and for garbage."""
        return self._gradients() + self._saved(gather) + self._taped() + self._garbage(gather)

    # Gradients

    def _gradient_keeper(self, piece: Piece, gradient: Any) -> _Keeper:
        """Returns the name of an array's gradient and the line that frees it."""
        names, path = self._rows[piece]["names"], next(iter(self._arrays.paths(piece)), None)
        owner = "" if path is None else owner_of_gradients(path)
        code = None if path is None or path.code is None else tidy(path.code)
        is_alone = code is not None and self._arrays.library(gradient).is_pythons([gradient], 1)
        holder = f"{names[0]}.grad" if names else "a gradient"
        line = "" if not is_alone else f"{owner}.zero_grad()" if owner else f"{code}.grad = None"
        return _Keeper(piece, holder, f"{owner}: gradients" if owner else holder, line)

    def _gradients(self) -> list[Row]:
        """Returns rows for gradients without a name of their own; a module's gradients share one row."""
        groups: dict[tuple[str, str], list[Entry]] = {}
        for piece, row in self._rows.items():
            for array in self._arrays.holders.objects_of(piece):
                library = self._arrays.library(array)
                gradient = library.gradient(array)
                holding = None if gradient is None else library.holding(gradient)
                if holding is None or not self._arrays.is_new(holding):
                    continue
                keeper = self._gradient_keeper(piece, gradient)
                gradient_row: Row = {"holder": keeper.holder, "names": [keeper.holder], "nbytes": holding.nbytes}
                gradient_row |= {"device": holding.device, "frees": [keeper.line] if keeper.line else None}
                gradient_row |= {"tensor": f"{library.describe(gradient)} ({library.library})"}
                entry = Entry(key(holding), keeper.container, holding.nbytes, row | gradient_row)
                groups.setdefault((holding.device, keeper.container), []).append(entry)
        return [_of_module(group) if len(group) > 1 else group[0].row for group in groups.values()]

    # Graphs

    def _kept(self) -> dict[_Keeper, tuple[int, dict[Piece, int]]]:
        """Returns, for each keeper, the number of its graph's nodes and the nameless tensors that they keep."""
        graphs: dict[_Keeper, tuple[int, dict[Piece, int]]] = {}
        for piece in self._rows:
            for array in self._arrays.holders.objects_of(piece):
                library = self._arrays.library(array)
                gradient = library.gradient(array)
                for keeping in [array] if gradient is None else [array, gradient]:
                    saved = library.saved(keeping)
                    tensors = [*saved.tensors, *saved.parameters]
                    holdings = [holding for holding in map(library.holding, tensors) if holding is not None]
                    sizes = {key(holding): holding.nbytes for holding in holdings}
                    sizes = {piece: nbytes for piece, nbytes in sizes.items() if piece not in self._arrays.listed}
                    if sizes:
                        of_array = _Keeper(piece, self._rows[piece]["holder"], self._arrays.container(piece))
                        keeper = of_array if keeping is array else self._gradient_keeper(piece, gradient)
                        graphs[keeper] = saved.nodes, sizes
        return graphs

    def _saved(self, gather: Gather) -> list[Row]:
        """Returns rows for nameless tensors that arrays and gradients keep for backward passes, the largest first."""
        graphs = self._kept()
        entries: list[Entry] = []
        keepers_of: dict[Piece, list[_Keeper]] = {}
        most_first = sorted(graphs.items(), key=lambda item: (sum(item[1][1].values()), item[1][0]), reverse=True)
        for keeper, (nodes, sizes) in most_first:
            new = {saved: nbytes for saved, nbytes in sizes.items() if saved not in self._arrays.listed}
            self._arrays.listed |= new
            for device in sorted({piece[0] for piece in new}):
                of_device = {saved: nbytes for saved, nbytes in new.items() if saved[0] == device}
                first = next(iter(of_device))
                keepers_of[first] = [each for each, (_, sizes) in graphs.items() if sizes.keys() & of_device.keys()]
                amount = f"{counted(nodes, 'node')}, {counted(len(of_device), 'tensor')}"
                name = keeper.holder if keeper.line is None else keeper.container
                row = self._rows[keeper.piece] | {"holder": f"{name}: kept for its backward pass ({amount})"}
                row |= {"device": device, "nbytes": sum(of_device.values()), "tensor": ""}
                container = keeper.container and f"{keeper.container}: kept for backward passes"
                entries.append(Entry(first, container, sum(of_device.values()), row))

        def lines(pieces: Sequence[Piece]) -> list[str] | None:
            return self._letting_go(list(dict.fromkeys(keeper for piece in pieces for keeper in keepers_of[piece])))

        return gather(entries, lines)

    def _letting_go(self, keepers: list[_Keeper]) -> list[str] | None:
        """Returns the lines after which nothing keeps the graphs; a scalar's value can be kept."""
        of_gradients = dict.fromkeys(keeper.line for keeper in keepers if keeper.line is not None)
        pieces = [keeper.piece for keeper in keepers if keeper.line is None]
        lines = self._arrays.lines(pieces) if pieces else []
        if lines is None or "" in of_gradients:
            return None
        scalars = {f"%xdel {name}": f"{name} = {name}.item()" for name in map(self._scalar, pieces) if name}
        if pieces and scalars.keys() == set(lines):
            lines = [scalars[line] for line in lines]
        return [*lines, *[line for line in of_gradients if line]]

    def _scalar(self, piece: Piece) -> str:
        """Returns the only name of a scalar; empty for other arrays."""
        row = self._rows[piece]
        return row["names"][0] if row["tensor"].startswith("[] ") and len(row["names"]) == 1 else ""

    def _taped(self) -> list[Row]:
        """Returns a row for what a library's tapes keep on each card for backward passes."""
        rows: list[Row] = []
        for library in self._arrays.libraries:
            taped = library.taped(self._arrays.listed)
            if taped is None:
                continue
            paths, lines = self._arrays.holders.of_objects(taped.keepers)
            names = [path.text for path in paths] or [f"a tape of {library.library}"]
            holdings = [holding for holding in taped.holdings if holding.device in self._arrays.devices]
            for device in dict.fromkeys(holding.device for holding in holdings):
                sizes = [holding.nbytes for holding in holdings if holding.device == device]
                holder = f"{', '.join(names[:NAMES])}: kept by the tape ({counted(len(sizes), 'tensor')})"
                row: Row = {"device": device, "library": library.library, "holder": holder, "names": names}
                rows.append(row | {"nbytes": sum(sizes), "tensor": "", "frees": lines})
        return rows

    # Garbage

    def _garbage(self, gather: Gather) -> list[Row]:
        """Returns rows for arrays that only reference cycles keep alive, with what these keep for backward passes."""
        entries = list[Entry]()
        dead = self._arrays.holders.garbage_of(self._nameless())  # a reference from here would keep them alive
        for array in [arrays[0] for piece, arrays in (self._nameless() if dead else {}).items() if piece in dead]:
            library = self._arrays.library(array)
            saved = library.saved(array)
            for tensor in (array, *saved.tensors, *saved.parameters):
                holding = library.holding(tensor)
                if holding is not None and self._arrays.is_new(holding):
                    row: Row = {"device": holding.device, "library": library.library, "nbytes": holding.nbytes}
                    row |= {"holder": HELD_BY_CYCLES, "names": [], "patterns": []}
                    row |= {"tensor": f"{library.describe(tensor)} ({library.library})"}
                    entries.append(Entry(key(holding), HELD_BY_CYCLES, holding.nbytes, row))
        return gather(entries, lambda _: [COLLECT])

    def _nameless(self) -> dict[Piece, list[Any]]:
        """Returns the arrays of the pieces without a row that Python's collector knows, largest piece first."""
        types = tuple([library.type for library in self._arrays.libraries])
        arrays, sizes = dict[Piece, list[Any]](), dict[Piece, int]()
        for obj in gc.get_objects():
            if issubclass(type(obj), types):
                holding = self._arrays.library(obj).holding(obj)
                if holding is not None and holding.device in self._arrays.devices:
                    if key(holding) not in self._arrays.listed:
                        arrays.setdefault(key(holding), []).append(obj)
                        sizes[key(holding)] = holding.nbytes
        return {piece: arrays[piece] for piece in sorted(sizes, key=lambda piece: -sizes[piece])}


def _of_module(group: list[Entry]) -> Row:
    """Returns one row for the gradients of a module."""
    lines = {tuple(entry.facts["frees"] or ()) for entry in group}
    frees = [*lines.pop()] if len(lines) == 1 else None
    return merge(group, group[0].container) | {"frees": frees or None}
