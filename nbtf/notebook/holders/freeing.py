"""Finds the lines that free a piece of memory; only lines that really do are shown.

A line removes references. An object dies when none is left, which removes its own references in turn. So for each
object that has to die, the references found are compared with Python's count: if Python counts more, nothing is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import FrameType

from nbtf.notebook.holders.families import Families
from nbtf.notebook.holders.names import IN_PARTS, LONGEST, AccessPath
from nbtf.notebook.holders.reference import ITEM, Reference
from nbtf.notebook.holders.search import Root

FORGET = "%gpu_memory --forget-last-error"
COLLECT = "import gc; gc.collect()"

_DEEPEST = 50
"""Maximum length of a chain of objects that a line may have to free."""

_MOST = 4
"""Maximum number of lines for one piece: if more are needed, the program itself should change."""


_FEW = 2
"""Number of lines up to which entries of dictionaries are deleted one by one, and not with the whole dictionary."""


class _NotFreedError(Exception):
    """Something holds the object that no line removes."""


class Freeing:
    """Finds the lines that free objects of a graph."""

    def __init__(
        self,
        families: Families,
        forgotten: Sequence[FrameType],
        variables: Mapping[str, object],
        is_late: Callable[[], bool],
    ) -> None:
        """Stores the families, the frames that forgetting the last error clears, the user's variables, and the time."""
        self.families: Families = families
        self.variables: Mapping[str, object] = variables
        self.is_late: Callable[[], bool] = is_late
        self.forgotten: set[int] = {id(frame) for frame in forgotten}

    def lines(self, numbers: Collection[int], all_items: bool = False) -> list[str] | None:
        """Returns the lines that free objects, in the order in which to run them.

        Args:
          numbers: the objects.
          all_items: whether to free lists as a whole instead of entry by entry.

        Returns:
          None if the objects would stay alive or time ran out; an empty list if they are freed when the cell ends.
        """
        lines = self._lines(numbers, all_items, False)
        if lines is not None and len(lines) <= _FEW:
            return lines
        in_whole = self._lines(numbers, all_items, True)
        return lines if in_whole is None or (lines is not None and len(lines) <= len(in_whole)) else in_whole

    def _lines(self, numbers: Collection[int], all_items: bool, all_entries: bool) -> list[str] | None:
        """Returns the lines that free objects; with `all_entries`, dictionaries are freed as a whole as well."""
        cut = _Cut(self, all_items, all_entries)
        try:
            for number in numbers:
                if not cut.goes_with_freed(number):
                    cut.free(number, 0)
        except _NotFreedError:
            return None
        lines = [*_in_order(cut.lines), *([COLLECT] if cut.has_cycle else [])]
        return lines if len(lines) <= _MOST else None


def _in_order(lines: Collection[str]) -> list[str]:
    """Returns lines in an order in which each can run: what is inside something comes before it."""
    inner = [line for line in lines if line.startswith(("del ", "import ")) or line.endswith(" = None")]
    return [*dict.fromkeys([*sorted(inner, key=len, reverse=True), *lines])]


class _Cut:
    """The lines for one piece, as they are found."""

    def __init__(self, freeing: Freeing, all_items: bool, all_entries: bool) -> None:
        self._families, self._names = freeing.families, freeing.families.names
        self._graph = self._names.graph
        self._forgotten, self._variables, self._late = freeing.forgotten, freeing.variables, freeing.is_late
        self._whole, self._all_entries = all_items, all_entries
        self._freed: set[int] = set()
        self._being_freed: set[int] = set()
        self.lines: dict[str, None] = {}
        self.has_cycle = False

    def goes_with_freed(self, number: int) -> bool:
        """Returns whether an object is only in a list that is freed as a whole, or in an entry of that list."""
        entries: list[int] = []
        while number not in self._freed:
            into = self._graph.into[number]
            is_alone = len(into) == 1 and self._graph.counts.get(number) == 1 and len(entries) < _DEEPEST
            if not (self._whole and is_alone and self._families.has_entry(into[0], number)):
                return False
            entries.append(number)
            number = into[0]
        self._freed.update(entries)
        return True

    def free(self, number: int, depth: int) -> None:
        """Adds the lines that remove all references to an object."""
        if number in self._freed:
            return
        if number in self._being_freed:
            self.has_cycle = True
            return
        if depth > _DEEPEST or self._late() or self._graph.counts.get(number) != len(self._graph.into[number]):
            raise _NotFreedError
        if len(self.lines) > _MOST:
            raise _NotFreedError
        self._being_freed.add(number)
        parents = dict.fromkeys(self._graph.into[number])
        self._free_of_roots(number, [parent for parent in parents if type(self._graph.objects[parent]) is Root])
        for parent in parents:
            if type(self._graph.objects[parent]) is not Root:
                self._free_of(parent, number, depth)
        self._being_freed.remove(number)
        self._freed.add(number)

    def _free_of_roots(self, number: int, roots: list[int]) -> None:
        root_kinds = {self._graph.objects[root].kind for root in roots}
        if root_kinds & {"module", "running"}:
            raise _NotFreedError
        if "error" in root_kinds:
            self.lines[FORGET] = None
        if root_kinds & {"variable", "output", "moving", "kept"}:
            self.lines |= dict.fromkeys(self._deletion(number, roots))

    def _deletion(self, number: int, roots: list[int]) -> list[str]:
        """Returns the lines that remove an object from all of IPython's places; for that, `%xdel` needs a variable."""
        obj = self._graph.objects[number]
        candidates = [path for root in roots for path in self._names.below_root(root, number)]
        paths = sorted(candidates, key=lambda path: path.rank)
        for path in paths:
            if path.body in self._variables and self._variables[path.body] is obj:
                return [f"%xdel {path.body}"]
        code = next((path.code for path in paths if path.code is not None), None)
        if code is None:
            raise _NotFreedError
        name = "held"
        while name in self._variables:
            name += "_"
        return [f"{name} = {code}", f"%xdel {name}"]

    def _free_of(self, parent: int, number: int, depth: int) -> None:
        """Removes the references that one object has to another: each by a line, or by freeing the first object."""
        obj = self._graph.objects[parent]
        if id(obj) in self._forgotten:
            self.lines[FORGET] = None
            return
        if id(obj) in self._graph.running:
            raise _NotFreedError
        best = self._names.best(parent)
        lines: dict[Reference, str | None] = {}
        for path, reference in self._names.steps(parent, number):
            if not (self._whole and reference.pattern == ITEM):
                is_entry = self._all_entries and reference.text.startswith("[")
                lines[reference] = None if is_entry else _removal(path, reference, best)
        deletions = [line for line in lines.values() if line is not None]
        if len(deletions) == self._graph.into[number].count(parent):
            self.lines |= dict.fromkeys(deletions)
        else:
            self.free(parent, depth + 1)


def _removal(path: AccessPath, reference: Reference, parent: AccessPath | None) -> str | None:
    """Returns the line that removes one reference; None if no line does."""
    if reference.removal == "clear" and parent is not None and parent.code is not None:
        line = f"{parent.code}.cache_clear()"
    elif reference.removal == "close" and parent is not None and parent.code is not None:
        line = f"{parent.code}.close()"
    elif path.code is not None and IN_PARTS.search(path.code):
        return None  # a module or optimizer without one of its parameters is useless: it is freed as a whole
    elif reference.removal in ("del", "None") and path.code is not None and not path.owner:
        line = f"del {path.code}" if reference.removal == "del" else f"{path.code} = None"
    else:
        return None
    if path.needs:
        line = f"import {path.needs}; {line}"
    return line if len(line) <= LONGEST else None
