"""The common part of the names of everything to which only one object refers.

The names of a list's 100,000 entries differ only in the last step; those of 50,000 pairs in a list, in the last two.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from nbtf.notebook.holders.introspection import class_name, is_of_library, kind_of
from nbtf.notebook.holders.names import LONGEST, ORIGINS, WEIGHTS, AccessPath, Names, below, chosen
from nbtf.notebook.holders.reference import ITEM, Reference
from nbtf.notebook.holders.references import entry_of, is_short
from nbtf.notebook.holders.search import Root

Role = tuple[str, tuple[str, ...]]
"""How to read an object's references: `role` and `names` of a `Reference` to it."""

_NESTED = 16
"""Maximum depth of nested families that are looked up at once."""


class Family:
    """Everything to which one object refers, and nothing else does.

    `stems` are the names without the last step. `outermost` is the number of the object that names the container of the
    whole family: the list, if this object is one of its pairs.
    """

    has_entries_only = False
    """Whether each is known to be a mere entry, as of a list, without looking it up."""

    def __init__(self, names: Names, parent: int, stems: list[AccessPath], role: Role, room: int | None = None) -> None:
        """Stores the object's number, the stems, and how to read its references.

        Names that are too long may coincide after they are cut. `room` is the number of characters that they leave for
        the last step; None if the object has one name.
        """
        self.parent: int = parent
        self.outermost: int = parent
        self.stems: list[AccessPath] = stems
        self._names, self._role, self._room = names, role, room

    @property
    def has_one_place(self) -> bool:
        """Whether the object has one name."""
        return self._room is None

    def last_step(self, number: int) -> Reference | None:
        """Returns how the object refers to something; None if the family does not name it."""
        step = self.reference_to(number)
        if step is None or step.hidden or step.local_of or not step.text:
            return None
        return step if self._room is None or len(step.text) <= self._room else None

    def reference_to(self, number: int) -> Reference | None:
        """Returns the only reference from the object to something; None if there are several."""
        references = self._names.references(self.parent, *self._role).get(id(self._names.graph.objects[number]), ())
        return references[0] if len(references) == 1 else None


class InnerFamily(Family):
    """Everything to which an item of another family refers: its name is the item's name and one step."""

    def __init__(self, names: Names, parent: int, outer: Family, step: Reference) -> None:
        """Stores the object's number, the family that contains it, and that family's reference to it."""
        super().__init__(names, parent, [outer.stems[0].joined(step, parent)], (step.role, step.names))
        self.outermost: int = outer.outermost
        self.has_entries_only: bool = is_short(names.graph.objects[parent])

    def reference_to(self, number: int) -> Reference | None:
        """Searches a short list directly: there may be very many, so no table of entries is built."""
        objects = self._names.graph.objects
        if self.has_entries_only:
            return entry_of(objects[self.parent], objects[number])
        return super().reference_to(number)


class Families:
    """The families of a graph, each computed once."""

    def __init__(self, names: Names) -> None:
        """Stores the names of the graph's objects."""
        self.names: Names = names
        self._graph = names.graph
        self._families: dict[int, Family | None] = {}
        self._called_by_others: dict[int, bool] = {}  # by id: a class may define its own equality

    def of(self, parent: int) -> Family | None:
        """Returns the family of an object; None if the names of its referents differ in more than their last step."""
        chain: list[int] = []
        while parent not in self._families and len(chain) < _NESTED:
            chain.append(parent)
            into = self._graph.into[parent]
            if len(into) != 1 or type(self._graph.objects[into[0]]) is Root:
                break
            parent = into[0]
        for number in reversed(chain):
            self._families[number] = self._inner(number) or self._outermost(number)
        return self._families[chain[0] if chain else parent]

    def has_entry(self, parent: int, number: int) -> bool:
        """Returns whether something to which only this object refers is a mere entry of it, as of a list."""
        family = self.of(parent)
        return (family is not None and family.has_entries_only) or self.names.is_item(parent, number)

    def _inner(self, number: int) -> Family | None:
        """Returns the family of an item of another family, named by that family's container; None for other objects."""
        into, cls = self._graph.into[number], kind_of(self._graph.objects[number])
        outer = self._families.get(into[0]) if len(into) == 1 else None
        if outer is None or not outer.has_one_place or not self._is_called_by_others(cls):
            return None
        step = outer.reference_to(number)
        if step is None or step.hidden or step.local_of or step.role not in ("", "attributes"):
            return None
        return InnerFamily(self.names, number, outer, step)

    def _is_called_by_others(self, cls: type[Any]) -> bool:
        """Returns whether objects of a class neither begin names nor are containers that name rows."""
        if id(cls) not in self._called_by_others:
            is_container = self.names.noun(cls) not in ("", WEIGHTS) or is_of_library(cls)
            begins = issubclass(cls, ModuleType) or any([issubclass(cls, classes) for _, classes in ORIGINS])
            self._called_by_others[id(cls)] = not is_container and not begins
        return self._called_by_others[id(cls)]

    def _outermost(self, number: int) -> Family | None:
        """Returns the family of an object whose names are looked up individually."""
        obj, above = self._graph.objects[number], self.names.above(number)
        if class_name(kind_of(obj)) == "GradientTape" or any([path.seal for path in above]):
            return None
        noun = self.names.noun(kind_of(obj))
        stems = chosen([_stem(path, obj, noun, number) for path in above])
        if not stems or not all([stem.root for stem in stems]):
            return None
        room = LONGEST - max([len(path.body) for path in above]) if len(above) > 1 else None
        return Family(self.names, number, stems, (above[0].role, above[0].names), room)


def _stem(path: AccessPath, obj: Any, noun: str, number: int) -> AccessPath:
    """Returns the name, without its last step, of anything to which an object refers."""
    step = below(path, obj, Reference(ITEM, ITEM), noun, (*path.via[-32:], number))
    return step._replace(body=path.body, code=path.code, pattern=path.pattern)
