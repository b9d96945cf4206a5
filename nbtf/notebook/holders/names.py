"""What does a user call an object that a search has reached?"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from itertools import islice
from types import AsyncGeneratorType, CoroutineType, FrameType, GeneratorType, ModuleType, TracebackType
from typing import Any, NamedTuple

from nbtf.notebook.holders.introspection import class_name, kind_of, module_of, mro_of
from nbtf.notebook.holders.reference import OURS, Way, key_text
from nbtf.notebook.holders.references import others, ways
from nbtf.notebook.holders.search import Graph, Root

LONGEST = 100
"""Characters of a name, and of a code line that is to be copied."""

MOVING = ("_", "__", "___")
"""The last outputs: each output gives them other names, the answer about them, too."""

_NAMES = 8
"""Names of one object that are looked for."""

_PARENTS = 64
"""Objects that refer to one that are asked for its names, at most: a long tape has one name only."""

PLAIN, OUTPUTS, UNDERSCORES, HIDDEN, INNER, LAST = range(6)
"""Ranks of names: a user's own; `Out[7]`; `_7` and `_`; through what objects of nbtf hide; of nbtf's own functions;
what is told only where nothing else is."""


class Place(NamedTuple):
    """How an object is reached: `before`, `body` and `after` are its name, `code` an expression for it.

    `pattern` is the body with any index for each index. `origin` says whose local variables these are, `needs` which
    module the code needs, `via` through which objects it leads. What is inside of an object of nbtf, the
    `owner`, is not taken from it. Below a `seal` nothing more is told. `root` is the body of the list, model or the
    like that it is inside of, `noun` what it is to that.
    """

    body: str
    code: str | None = None
    before: str = ""
    after: str = ""
    pattern: str = ""
    rank: int = PLAIN
    origin: str = ""
    needs: str = ""
    role: str = ""
    names: tuple[str, ...] = ()
    via: tuple[int, ...] = ()
    owner: str = ""
    seal: str = ""
    root: str = ""
    noun: str = ""

    @property
    def text(self) -> str:
        """The name."""
        return f"{self.before}{_short(self.body)}{self.after}{f' ({self.seal})' if self.seal else ''}"

    @property
    def kind(self) -> str:
        """The name with any index for each index: many entries of a list have the same."""
        return f"{self.before}{self.pattern}{self.after}{f' ({self.seal})' if self.seal else ''}"

    @property
    def container(self) -> str:
        """The name of the outermost list, model or the like that it is inside of; its own where there is none."""
        return f"{self.before}{_short(self.root or self.body)}{self.after}"


def _short(body: str) -> str:
    return body if len(body) <= LONGEST else f"{body[:59]}…{body[-40:]}"


class Names:
    """The names of the objects of a graph."""

    def __init__(self, graph: Graph) -> None:
        """Looks at nothing yet."""
        self.graph = graph
        self._best: dict[int, Place | None] = {}
        self._ways: dict[int, dict[int, list[Way]]] = {}
        self._roots: dict[int, dict[int, list[str]]] = {}
        self._above: dict[tuple[int, int], list[Place]] = {}
        self._nouns: dict[type, str] = {}

    def of(self, number: int) -> list[Place]:
        """Returns the names of an object, those first that a user knows best."""
        ranked = sorted(self._places(number, 3), key=lambda place: place.rank)
        known = [place for place in ranked if place.rank < HIDDEN]
        owners: dict[str, Place] = {}  # an object of nbtf has many names for what is inside of it: one will do
        for place in reversed(known):
            owners[place.owner or place.text] = place
        known = [place for place in known if owners[place.owner or place.text] is place]
        known = known or [place for place in ranked if place.rank == HIDDEN][:1]
        inner = [place for place in ranked if place.rank == INNER and all(place.origin != one.origin for one in known)]
        return [*known, *inner[:1]] or ranked  # a function of nbtf has many names for its inputs

    def steps(self, parent: int, child: int, places: list[Place] | None = None) -> list[tuple[Place, Way]]:
        """Returns the places of an object below one that refers to it, and how it does.

        Args:
          parent: the one that refers, no root.
          child: the object.
          places: those of the parent; its best when None.
        """
        if places is None:
            best = self.best(parent)
            places = [] if best is None else [best]
        thing = self.graph.objects[parent]
        found: list[tuple[Place, Way]] = []
        for place in places:
            other = others(thing)
            known = self._of(parent, place).get(id(self.graph.objects[child]))
            via = *place.via[-32:], parent
            for way in known or ([] if other is None else [other]):
                found.append((_below(place, thing, way, self._noun(kind_of(thing)), via), way))
        return found

    def _noun(self, kind: type[Any]) -> str:
        """Returns what tensors are to an object of a class; looked for once, as a list may have 100,000 of them."""
        if kind not in self._nouns:
            bases = {class_name(base) for base in mro_of(kind) if module_of(base).startswith(("nbtf.", "torch."))}
            self._nouns[kind] = next((noun for base, noun in _NOUNS.items() if base in bases), "")
        return self._nouns[kind]

    def below_root(self, root: int, number: int) -> list[Place]:
        """Returns the places of an object that a root lists."""
        thing = self.graph.objects[root]
        known = self._roots.get(root)
        if known is None:
            known = self._roots[root] = {}
            for name, value in thing.look():
                known.setdefault(id(value), []).append(name)
        return [_ROOTS[thing.kind](name) for name in known.get(id(self.graph.objects[number]), ())]

    def best(self, number: int) -> Place | None:
        """Returns the shortest place of an object; None where nobody could name it."""
        chain: list[int] = []
        while number not in self._best:
            chain.append(number)
            parent = self.graph.into[number][0]
            if type(self.graph.objects[parent]) is Root:
                break
            number = parent
        for one in reversed(chain):
            self._best[one] = next(iter(self._places(one, 0)), None)
        return self._best[chain[0] if chain else number]

    def _places(self, number: int, depth: int) -> list[Place]:
        found: dict[str, Place] = {}
        for parent in islice(dict.fromkeys(self.graph.into[number]), _PARENTS):
            if type(self.graph.objects[parent]) is Root:
                places = self.below_root(parent, number)
            elif depth == 0:
                places = [place for place, _ in self.steps(parent, number)]
            elif parent != number:
                if (parent, depth) not in self._above:
                    self._above[parent, depth] = self._places(parent, depth - 1)
                above = [place for place in self._above[parent, depth] if number not in place.via]
                places = [place for place, _ in self.steps(parent, number, above)]
            else:
                continue
            for place in places:
                found.setdefault(place.text, place)
            if depth == 0 or len(found) >= _NAMES:  # the first that refers to it is the nearest
                break
        return list(found.values())

    def _of(self, number: int, place: Place) -> dict[int, list[Way]]:
        known = self._ways.get(number)
        if known is None:
            known = self._ways[number] = {}
            thing = self.graph.objects[number]
            for value, way in ways(thing, place.role, place.names):
                known.setdefault(id(value), []).append(way)
        return known


def _below(place: Place, thing: Any, way: Way, noun: str, via: tuple[int, ...]) -> Place:
    """Returns the place of what an object at a place refers to, and the objects on the way there."""
    if place.seal:
        return place._replace(code=None, role=way.role, names=way.names, via=via)
    kind = kind_of(thing)
    origin = place.origin
    if not origin and (way.local_of or not way.shown):
        origin = next((f"{text}`{place.body}`" for text, known in _ORIGINS if issubclass(kind, known)), "")
    if way.local_of:
        rank = INNER if way.local_of.startswith(OURS) else PLAIN
        after = f"` of {way.local_of}{f' ({origin})' if origin else ''}"
        return Place(way.shown, None, "local `", after, way.shown, rank, origin, via=via)
    root, noun = _container(place, kind, noun)
    owner = place.owner or (place.text if way.hidden or module_of(kind).startswith("nbtf.") else "")
    seal = "optimizer slot" if way.role == "slots" else ""
    if owner and class_name(kind) == "GradientTape":
        seal = "GradientTape"
    return Place(
        place.body if seal else place.body + way.shown,
        None if seal or place.code is None or way.code is None else place.code + way.code,
        place.before,
        place.after,
        place.pattern if seal else place.pattern + (way.shown if way.pattern is None else way.pattern),
        max(place.rank, HIDDEN) if way.hidden and not seal else place.rank,
        place.origin if seal else origin,
        place.needs,
        way.role,
        way.names,
        via,
        owner,
        seal,
        root,
        noun,
    )


def _container(place: Place, kind: type[Any], noun: str) -> tuple[str, str]:
    """Returns the container of what an object of a class at a place refers to, and what that is to the container."""
    if noun and noun != WEIGHTS:  # also inside of a model
        return place.body, noun
    if issubclass(kind, ModuleType):
        return "", ""
    return (place.root, place.noun) if place.root else (place.body, noun)


WEIGHTS = "weights"

_NOUNS = {
    "Optimizer": "optimizer state",
    "Metric": "metric state",
    "GradientTape": "kept by the tape",
    "Layer": WEIGHTS,
    "Module": WEIGHTS,
}
"""What tensors are to an object of these classes."""

_ORIGINS: tuple[tuple[str, Any], ...] = (
    ("error ", BaseException),
    ("generator ", (GeneratorType, AsyncGeneratorType)),
    ("coroutine ", CoroutineType),
    ("", (FrameType, TracebackType)),
)


# Where names begin


def _variable(name: str) -> Place:
    if name in MOVING:
        return _moving(name)
    if name.isidentifier():
        return Place(name, name, pattern=name, rank=UNDERSCORES if re.fullmatch(r"_\d+", name) else PLAIN)
    text, is_code = key_text(name)
    return Place(f"globals()[{text}]", f"globals()[{text}]" if is_code else None, pattern=text)


def _output(name: str) -> Place:
    return Place(f"Out[{name}]", f"Out[{name}]", pattern=f"Out[{name}]", rank=OUTPUTS)


def _moving(_: str) -> Place:
    told = f"one of {', '.join(MOVING)}"
    return Place(told, pattern=told, rank=UNDERSCORES)


def _kept(code: str) -> Place:
    return Place(f"{code} (kept by IPython)", code, pattern=code, rank=LAST)


def _result(name: str) -> Place:
    return Place("the result of the last cell, until this one ends", pattern=name, rank=LAST)


def _error(name: str) -> Place:
    return Place("last error", pattern=name, origin="last error")


def _module(name: str) -> Place:
    above, dot, last = name.rpartition(".")
    found = not dot or getattr(sys.modules.get(above), "__dict__", {}).get(last) is sys.modules.get(name)
    return Place(name, name if found else None, pattern=name, needs=name)


def _running(name: str) -> Place:
    return Place(name, pattern=name, origin="running")


_ROOTS: dict[str, Callable[[str], Place]] = {
    "variable": _variable,
    "output": _output,
    "moving": _moving,
    "kept": _kept,
    "result": _result,
    "error": _error,
    "module": _module,
    "running": _running,
}
