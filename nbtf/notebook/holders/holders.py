"""Finds what holds the memory of the GPUs."""

from __future__ import annotations

import inspect
import time
from collections.abc import Collection, Sequence
from types import FrameType, ModuleType
from typing import Any, NamedTuple

from nbtf import runtime
from nbtf._runtime.inventory import lent_pieces
from nbtf.notebook.holders import last_error
from nbtf.notebook.holders.families import Families
from nbtf.notebook.holders.freeing import Freeing
from nbtf.notebook.holders.garbage import Piece, garbage, garbage_of
from nbtf.notebook.holders.introspection import class_name, items_of, kind_of, names_in, running_frames
from nbtf.notebook.holders.names import MOVING, OUTPUTS, UNDERSCORES, AccessPath, Names, in_users_words
from nbtf.notebook.holders.reference import Reference
from nbtf.notebook.holders.search import Graph, Kind, Root, users_modules
from nbtf.notebook.session import Session

Modules = list[tuple[str, ModuleType]]

UNKNOWN = -1
"""How many objects share a piece of memory that another library manages."""

LONGEST_LABEL = 60
"""Maximum length of a name in a label."""

_SEARCHING = 0.7
"""Share of the time for the search; the rest is for names."""


class Held(NamedTuple):
    """The holder of a piece of memory.

    `names` are the names of one tensor or variable; `views` are those of others that share its memory. `unknown` means
    that the search did not reach all of them.
    """

    names: list[AccessPath]
    views: list[AccessPath]
    unknown: bool


class Item(NamedTuple):
    """The holder of a piece of memory to which only one object refers, once, such as an entry of a list.

    `stems` are the names of everything to which the object refers, without the last step; `outermost` is the number of
    the outermost container. An item refers to none of the objects found, so a row that has not been expanded keeps
    nothing alive.
    """

    outermost: int
    is_variable: bool
    stems: list[AccessPath]
    step: Reference

    @property
    def with_names(self) -> Held:
        """The same holder with all its names."""
        return Held([stem.joined(self.step) for stem in self.stems], [], False)


class Holders:
    """The result of a search. It keeps what it found alive: use it at once, and drop it."""

    def __init__(self, session: Session, seconds: float, foreign_kinds: Sequence[Kind] = ()) -> None:
        """Searches for at most `seconds` seconds, also for the memory holders of other libraries."""
        shell = session.shell
        start = time.monotonic()
        self._deadline = start + seconds
        modules = users_modules()
        running = _running(shell, modules)
        hidden = [shell.user_ns, shell.user_global_ns, shell.user_ns_hidden, _outputs(shell), shell, session]
        self._graph = Graph(_roots(shell, running, modules), running, hidden, foreign_kinds)
        self._graph.search(start + seconds * _SEARCHING)
        self._names = Names(self._graph)
        self._families = Families(self._names)
        self._deadline = max(self._deadline, time.monotonic() + seconds * (1 - _SEARCHING))
        deadline = self._deadline  # not `self`: an object that refers to itself outlives its use
        is_late = lambda: time.monotonic() > deadline  # noqa: E731
        self._freeing = Freeing(self._families, last_error.frames(shell), shell.user_ns, is_late)
        self.by_piece: dict[Piece, list[int]] = {}
        self._holdings: dict[Piece, runtime.Holding] = {}
        for number, holdings in self._graph.holdings.items():
            for holding in holdings:
                piece = holding.device, holding.region, holding.offset
                self.by_piece.setdefault(piece, []).append(number)
                self._holdings.setdefault(piece, holding)

    @property
    def largest_first(self) -> list[Piece]:
        """The pieces of memory whose holders were found, largest first."""
        return sorted(self.by_piece, key=lambda piece: -self.nbytes(piece))

    @property
    def looked(self) -> int:
        """The number of objects searched."""
        return len(self._graph.objects)

    @property
    def finished(self) -> bool:
        """Whether the search was complete."""
        return self._graph.finished

    @property
    def is_late(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() > self._deadline

    def of(self, piece: Piece) -> Held | None:
        """Returns the holder of a piece; None if none was found."""
        numbers = self.by_piece.get(piece)
        if not numbers:
            return None
        first, *other_numbers = numbers
        names = self._names.of(first)
        views = [path for number in other_numbers for path in self._names.of(number)]
        unknown = self._is_shared_by_others(piece) or not all(
            self._graph.counts[number] == len(self._graph.into[number]) for number in numbers
        )
        return Held(names, views, unknown)

    def owner(self, piece: Piece) -> Held | Item | None:
        """Returns the holder of a piece, without names if it is one of many entries; None if none was found."""
        numbers = self.by_piece.get(piece, ())
        if len(numbers) == 1 and self._holdings[piece].sharers in (1, UNKNOWN):
            number, into = numbers[0], self._graph.into[numbers[0]]
            if len(into) == 1 and self._graph.counts[number] == 1 and (family := self._families.of(into[0])):
                step = family.last_step(number)
                if step is not None:
                    is_variable = "Variable" in class_name(kind_of(self._graph.objects[number]))
                    return Item(family.outermost, is_variable, family.stems, step)
        return self.of(piece)

    def nbytes(self, piece: Piece) -> int:
        """Returns the size of a piece that was found."""
        return self._holdings[piece].nbytes

    def objects_of(self, piece: Piece) -> list[Any]:
        """Returns the objects that hold a piece."""
        return [self._graph.objects[number] for number in self.by_piece.get(piece, ())]

    def are_variables(self, piece: Piece) -> bool:
        """Returns whether variables hold a piece."""
        return all(["Variable" in class_name(kind_of(obj)) for obj in self.objects_of(piece)])

    def garbage(self, pieces: list[Piece]) -> set[Piece]:
        """Returns the nameless pieces that only reference cycles hold."""
        return garbage(pieces, self._deadline)

    def garbage_of(self, arrays: dict[Piece, list[Any]]) -> set[Piece]:
        """Returns the pieces that only reference cycles hold, given all arrays of each piece; empties `arrays`."""
        return garbage_of(arrays, self._deadline)

    def lines(self, pieces: Sequence[Piece]) -> list[str] | None:
        """Returns the lines that free pieces together; None if no such lines are known."""
        groups = [self.by_piece[piece] for piece in pieces]
        if any(map(self._is_shared_by_others, pieces)):
            return None
        return self._freeing.lines([number for numbers in groups for number in numbers], all_items=len(pieces) > 1)

    def of_objects(self, ids: Collection[int]) -> tuple[list[AccessPath], list[str] | None]:
        """Returns the names of objects, and the lines that free them together; None if no such lines are known.

        Args:
          ids: the objects' ids.
        """
        numbers = [number for number, obj in enumerate(self._graph.objects) if id(obj) in ids]
        self._graph.count(numbers)
        lines = self._freeing.lines(numbers) if len(numbers) == len(ids) else None
        return [path for number in numbers for path in self._names.of(number)[:1]], lines

    def names(self, piece: Piece) -> list[AccessPath]:
        """Returns the names of a piece's holder."""
        return [path for number in self.by_piece.get(piece, ()) for path in self._names.of(number)]

    def _is_shared_by_others(self, piece: Piece) -> bool:
        return self._holdings[piece].sharers not in (len(self.by_piece[piece]), UNKNOWN)


def holder_names(session: Session, seconds: float) -> tuple[dict[Piece, str], bool]:
    """Returns a short label of what holds each piece of GPU memory, such as `x, Out[7]`, and whether time sufficed.

    PyTorch's memory on simulated GPUs is listed under the addresses in their maps; a module's memory, under its path.

    Args:
      session: the session whose shell's variables are searched.
      seconds: maximum duration; pieces not found by then are left out.
    """
    lent = _lent_pieces()
    if not lent and not any(device.in_use for device in runtime.devices()):
        return {}, True
    arrays = [each for library in runtime.frameworks() if lent and (each := library.arrays()) is not None]
    holders, labels = Holders(session, seconds, [(each.type, each.pieces) for each in arrays]), dict[Piece, str]()
    for piece in holders.largest_first:
        if holders.is_late:
            return labels, False
        names = holders.names(piece)
        if any(path.rank == OUTPUTS for path in names):
            names = [path for path in names if path.rank != UNDERSCORES]
        texts = [path.text for path in names]
        labels[lent.get(piece, piece)] = in_few_words(in_users_words(texts) if piece in lent else texts)
    return labels, holders.finished


def _lent_pieces() -> dict[Piece, Piece]:
    """Returns the addresses in the simulated GPUs' maps, by PyTorch's own device and address."""
    return {
        (f"cuda:{device.cuda}", 0, address): (device.name, piece.region, piece.offset)
        for device in runtime.devices()
        if device.simulated and device.cuda is not None
        for address, piece in lent_pieces(device.name).items()
    }


def in_few_words(names: list[str], limit: int = 3) -> str:
    """Returns the first of some names, and how many more there are.

    >>> in_few_words(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    """
    names = list(dict.fromkeys(names))
    shortened = [name if len(name) <= LONGEST_LABEL else f"{name[: LONGEST_LABEL - 1]}…" for name in names[:limit]]
    return ", ".join(shortened) + (f" and {len(names) - limit} more" if len(names) > limit else "")


# Where the search begins


def _roots(shell: Any, running: list[FrameType], modules: Modules) -> list[Root]:
    return [
        Root("variable", lambda: [item for item in _variables(shell) if item[1] is not _outputs(shell)]),
        Root("output", lambda: [(str(key), value) for key, value in list(_outputs(shell).items())]),
        Root("error", lambda: last_error.references(shell)),
        Root("running", lambda: [("", frame) for frame in running]),
        Root("module", lambda: modules),
        Root("moving", lambda: _moving(shell)),
        Root("kept", lambda: _shell_values(shell)),
        Root("result", lambda: _last_result(shell)),
    ]


def _outputs(shell: Any) -> dict[Any, Any]:
    outputs: Any = shell.user_ns.get("_oh")
    return outputs if kind_of(outputs) is dict else {}


def _variables(shell: Any) -> list[tuple[str, object]]:
    variables = list(shell.user_ns.items())
    if shell.user_global_ns is not shell.user_ns:
        variables += shell.user_global_ns.items()
    return [(name, value) for name, value in variables if type(name) is str]


def _shell_values(shell: Any) -> list[tuple[str, object]]:
    """Returns what IPython keeps out of sight: outputs, and the variables of scripts that `%run` ran."""
    values = [
        (f"get_ipython().user_ns_hidden[{name!r}]", value)
        for name, value in list(shell.user_ns_hidden.items())
        if type(name) is str and name not in MOVING
    ]
    for file, module in list(shell._main_mod_cache.items()):
        for name, value in items_of(names_in(module)):
            values.append((f"get_ipython()._main_mod_cache[{file!r}].{name}", value))
    return values


def _moving(shell: Any) -> list[tuple[str, object]]:
    """Returns where IPython keeps the last outputs, besides the user's variables `_`, `__` and `___`."""
    hidden, hook = shell.user_ns_hidden, shell.displayhook
    values = [(name, hidden[name]) for name in MOVING if name in hidden]
    return values + [(name, getattr(hook, name)) for name in MOVING if hasattr(hook, name)]


def _last_result(shell: Any) -> list[tuple[str, object]]:
    last = shell.last_execution_result
    return [] if last is None else [("", last.result)]


def _running(shell: Any, modules: Modules) -> list[FrameType]:
    """Returns the frames of user functions that are running, in all threads."""
    names = {id(shell.user_ns), *(id(names_in(module)) for _, module in modules)}
    return [
        frame
        for frame in running_frames()
        if id(frame.f_globals) in names and frame.f_code.co_flags & inspect.CO_OPTIMIZED
    ]
