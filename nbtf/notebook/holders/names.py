"""Names, as a user would write them, for objects that a search has reached."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from itertools import islice
from types import AsyncGeneratorType, CoroutineType, FrameType, GeneratorType, ModuleType, TracebackType
from typing import Any, NamedTuple

from nbtf.notebook.holders.introspection import LIBRARIES, class_name, kind_of, module_of, mro_of
from nbtf.notebook.holders.reference import ITEM, OURS, Reference, key_text
from nbtf.notebook.holders.references import other_reference, references_of
from nbtf.notebook.holders.search import Graph, Root

LONGEST = 100
"""Maximum length of a name, and of a code line for copying."""

MOVING = ("_", "__", "___")
"""The last outputs. Each output renames them, including the table that lists these names."""

_NAMES = 8
"""Maximum number of names looked up for one object."""

_DEPTH = 3
"""Steps within which all names of an object's referrers are looked up, instead of only the shortest."""

_PARENTS = 64
"""Maximum number of referrers whose names are looked up: a long tape needs only one name."""

PLAIN, OUTPUTS, UNDERSCORES, HIDDEN, INNER, LAST = range(6)
"""Ranks of names: a user's own; `Out[7]`; `_7` and `_`; through hidden parts of nbtf objects; in nbtf's own functions;
and names of last resort."""


class AccessPath(NamedTuple):
    """How an object is reached: `before`, `body` and `after` are its name, `code` is an expression for it.

    `pattern` is the body with a placeholder for each index. `origin` names the function whose local variables these
    are, `needs` the module that the code must import, `via` the objects on the way. What is inside an nbtf object,
    the `owner`, cannot be removed from it. `seal` is a whole name to show instead; nothing below it is shown. `root` is
    the body of the outermost list, model or similar container, `noun` the role of the object in it.
    """

    body: str
    code: str | None = None
    prefix: str = ""
    suffix: str = ""
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
        return self.seal or f"{self.prefix}{_short(self.body)}{self.suffix}"

    @property
    def pattern_text(self) -> str:
        """The name with a placeholder for each index: many entries of a list share it."""
        return self.seal or f"{self.prefix}{self.pattern}{self.suffix}"

    def joined(self, reference: Reference, stem_of: int | None = None) -> AccessPath:
        """Returns the path extended by one step.

        Args:
          reference: the step.
          stem_of: number of the object, if the path is for what is inside it rather than for itself.
        """
        code, pattern = reference.code, reference.pattern
        return self._replace(
            body=self.body + reference.text,
            code=None if self.code is None or code is None else self.code + code,
            pattern=self.pattern + (reference.text if pattern is None else pattern),
            role=reference.role if stem_of is None else "",
            names=reference.names if stem_of is None else (),
            via=self.via if stem_of is None else (*self.via[-32:], stem_of),
        )

    @property
    def container(self) -> str:
        """The name of the outermost list, model or similar container; its own name if there is none."""
        return f"{self.prefix}{_short(self.root or self.body)}{self.suffix}"


def _short(body: str) -> str:
    return body if len(body) <= LONGEST else f"{body[:59]}…{body[-40:]}"


class Names:
    """The names of the objects of a graph."""

    def __init__(self, graph: Graph) -> None:
        """Starts without any names."""
        self.graph = graph
        self._best: dict[int, AccessPath | None] = {}
        self._references: dict[int, dict[int, list[Reference]]] = {}
        self._roots: dict[int, dict[int, list[str]]] = {}
        self._above: dict[tuple[int, int], list[AccessPath]] = {}
        self._nouns: dict[int, str] = {}  # by id: a class may define its own equality

    def of(self, number: int) -> list[AccessPath]:
        """Returns the names of an object, most familiar first."""
        return chosen(self._paths(number, _DEPTH))

    def steps(
        self, parent: int, child: int, paths: list[AccessPath] | None = None
    ) -> list[tuple[AccessPath, Reference]]:
        """Returns the paths of an object below one that refers to it, and the references.

        Args:
          parent: the object that refers, not a root.
          child: the object.
          paths: paths of the parent; its best one if None.
        """
        if paths is None:
            best = self.best(parent)
            paths = [] if best is None else [best]
        obj = self.graph.objects[parent]
        steps: list[tuple[AccessPath, Reference]] = []
        for path in paths:
            via = *path.via[-32:], parent
            for reference in self._references_to(parent, child, path):
                steps.append((below(path, obj, reference, self.noun(kind_of(obj)), via), reference))
        return steps

    def _references_to(self, parent: int, child: int, path: AccessPath) -> list[Reference]:
        """Returns the references from an object at a path to another."""
        references = self.references(parent, path.role, path.names).get(id(self.graph.objects[child]))
        if references is None:
            fallback = other_reference(self.graph.objects[parent])
            return [] if fallback is None else [fallback]
        return references

    def is_item(self, parent: int, child: int) -> bool:
        """Returns whether an object is known to be a mere entry of another, such as a list."""
        references = self._references.get(parent, {}).get(id(self.graph.objects[child]))
        return references is not None and all([reference.pattern == ITEM for reference in references])

    def noun(self, cls: type[Any]) -> str:
        """Returns the role of tensors in an object of a class; cached, because a list may have 100,000 objects."""
        if id(cls) not in self._nouns:
            bases = {class_name(base) for base in mro_of(cls) if module_of(base).startswith((*LIBRARIES, "torch."))}
            self._nouns[id(cls)] = next((noun for base, noun in _NOUNS.items() if base in bases), "")
        return self._nouns[id(cls)]

    def below_root(self, root: int, number: int) -> list[AccessPath]:
        """Returns the paths of an object that a root lists."""
        obj = self.graph.objects[root]
        names = self._roots.get(root)
        if names is None:
            names = self._roots[root] = {}
            for name, value in obj.look():
                names.setdefault(id(value), []).append(name)
        return [_ROOTS[obj.kind](name) for name in names.get(id(self.graph.objects[number]), ())]

    def best(self, number: int) -> AccessPath | None:
        """Returns the shortest path of an object; None if it has none."""
        chain: list[int] = []
        while number not in self._best:
            chain.append(number)
            parent = self.graph.into[number][0]
            if type(self.graph.objects[parent]) is Root:
                break
            number = parent
        for ancestor in reversed(chain):
            self._best[ancestor] = next(iter(self._paths(ancestor, 0)), None)
        return self._best[chain[0] if chain else number]

    def _paths(self, number: int, depth: int) -> list[AccessPath]:
        by_text: dict[str, AccessPath] = {}
        for parent in islice(dict.fromkeys(self.graph.into[number]), _PARENTS):
            if type(self.graph.objects[parent]) is Root:
                paths = self.below_root(parent, number)
            elif depth == 0:
                paths = [path for path, _ in self.steps(parent, number)]
            elif parent != number:
                above = [path for path in self._paths_above(parent, depth) if number not in path.via]
                paths = [path for path, _ in self.steps(parent, number, above)]
            else:
                continue
            for path in paths:
                by_text.setdefault(path.text, path)
            if depth == 0 or len(by_text) >= _NAMES:  # the first referrer is the nearest
                break
        return list(by_text.values())

    def above(self, parent: int) -> list[AccessPath]:
        """Returns the paths of an object that leads to the requested ones; empty for a root."""
        return [] if kind_of(self.graph.objects[parent]) is Root else self._paths_above(parent, _DEPTH)

    def _paths_above(self, parent: int, depth: int) -> list[AccessPath]:
        if (parent, depth) not in self._above:
            self._above[parent, depth] = self._paths(parent, depth - 1)
        return self._above[parent, depth]

    def references(self, number: int, role: str, names: tuple[str, ...]) -> dict[int, list[Reference]]:
        """Returns the references of an object, by id of the referent; `role` and `names` come from its path."""
        references = self._references.get(number)
        if references is None:
            references = self._references[number] = {}
            obj = self.graph.objects[number]
            for value, reference in references_of(obj, role, names):
                references.setdefault(id(value), []).append(reference)
        return references


def chosen(paths: list[AccessPath]) -> list[AccessPath]:
    """Returns the paths of an object that are worth showing, most familiar first."""
    if len(paths) <= 1:  # the common case for entries of a long list
        return paths
    ranked = sorted(paths, key=lambda path: path.rank)
    visible = [path for path in ranked if path.rank < HIDDEN]
    owners: dict[str, AccessPath] = {}  # an nbtf object has many names for its inner parts: one is enough
    for path in reversed(visible):
        owners[path.owner or path.text] = path
    visible = [path for path in visible if owners[path.owner or path.text] is path]
    visible = visible or [path for path in ranked if path.rank == HIDDEN][:1]
    inner = [
        path
        for path in ranked
        if path.rank == INNER and all(path.origin != other_path.origin for other_path in visible)
    ]
    return [*visible, *inner[:1]] or ranked  # an nbtf function has many names for its inputs


def below(path: AccessPath, obj: Any, reference: Reference, noun: str, via: tuple[int, ...]) -> AccessPath:
    """Returns the path of what an object at a path refers to, with the objects on the way."""
    if path.seal:
        return path._replace(code=None, role=reference.role, names=reference.names, via=via)
    cls = kind_of(obj)
    origin = path.origin
    if not origin and (reference.local_of or not reference.text):
        origin = next((f"{text}`{path.body}`" for text, classes in ORIGINS if issubclass(cls, classes)), "")
    if reference.local_of:
        rank = INNER if reference.local_of.startswith(OURS) else PLAIN
        suffix = f"` of {reference.local_of}{f' ({origin})' if origin else ''}"
        return AccessPath(reference.text, None, "local `", suffix, reference.text, rank, origin, via=via)
    root, noun = _container(path, cls, noun)
    owner = path.owner or (path.text if reference.hidden or module_of(cls).startswith(LIBRARIES) else "")
    seal = reference.seal
    if owner and class_name(cls) == "GradientTape":
        seal = f"{path.text} (GradientTape)"
    return AccessPath(
        path.body if seal else path.body + reference.text,
        None if seal or path.code is None or reference.code is None else path.code + reference.code,
        path.prefix,
        path.suffix,
        path.pattern if seal else path.pattern + (reference.text if reference.pattern is None else reference.pattern),
        max(path.rank, HIDDEN) if reference.hidden and not seal else path.rank,
        path.origin if seal else origin,
        path.needs,
        reference.role,
        reference.names,
        via,
        owner,
        seal,
        root,
        noun,
    )


def _container(path: AccessPath, cls: type[Any], noun: str) -> tuple[str, str]:
    """Returns the container of an object's referent, and the referent's role in it."""
    if noun and noun != WEIGHTS:  # this applies even inside a model
        return path.body, noun
    if issubclass(cls, ModuleType):
        return "", ""
    return (path.root, path.noun) if path.root else (path.body, noun)


WEIGHTS = "weights"

_NOUNS = {
    "Optimizer": "optimizer state",
    "Metric": "metric state",
    "GradientTape": "kept by the tape",
    "Compiled": "traced steps",
    "Layer": WEIGHTS,
    "Module": WEIGHTS,
}
"""The role of tensors in objects of these classes."""

ORIGINS: tuple[tuple[str, Any], ...] = (
    ("error ", BaseException),
    ("generator ", (GeneratorType, AsyncGeneratorType)),
    ("coroutine ", CoroutineType),
    ("", (FrameType, TracebackType)),
)


# Where names begin


def _variable(name: str) -> AccessPath:
    if name in MOVING:
        return _moving(name)
    if name.isidentifier():
        return AccessPath(name, name, pattern=name, rank=UNDERSCORES if re.fullmatch(r"_\d+", name) else PLAIN)
    text, is_code = key_text(name)
    return AccessPath(f"globals()[{text}]", f"globals()[{text}]" if is_code else None, pattern=text)


def _moving(_: str) -> AccessPath:
    text = f"one of {', '.join(MOVING)}"
    return AccessPath(text, pattern=text, rank=UNDERSCORES)


def _module(name: str) -> AccessPath:
    above, dot, last = name.rpartition(".")
    is_loaded = not dot or getattr(sys.modules.get(above), "__dict__", {}).get(last) is sys.modules.get(name)
    return AccessPath(name, name if is_loaded else None, pattern=name, needs=name)


_ROOTS: dict[str, Callable[[str], AccessPath]] = {
    "variable": _variable,
    "output": lambda name: AccessPath(f"Out[{name}]", f"Out[{name}]", pattern=f"Out[{name}]", rank=OUTPUTS),
    "moving": _moving,
    "kept": lambda code: AccessPath(f"{code} (kept by IPython)", code, pattern=code, rank=LAST),
    "result": lambda name: AccessPath("the result of the last cell, until this one ends", pattern=name, rank=LAST),
    "error": lambda name: AccessPath("last error", pattern=name, origin="last error"),
    "module": _module,
    "running": lambda name: AccessPath(name, pattern=name, origin="running"),
}


IN_MODULE = re.compile(r"\._(?:modules|parameters|buffers)\['")

IN_PARTS = re.compile(rf"{IN_MODULE.pattern}|\.param_groups\b")
"""Where PyTorch's modules and optimizers keep parameters."""

_STATE = re.compile(r"(.+)\.state\[<\w+>\]\['(\w+)'\]")


def tidy(name: str) -> str:
    """Returns a name as users write it, without the dictionaries in which PyTorch keeps a module's parts.

    >>> tidy("model._modules['seq']._modules['0']._parameters['weight']")
    'model.seq[0].weight'
    """
    name = re.sub(r"\._modules\['(\d+)'\]", r"[\1]", name)
    return re.sub(r"\._(?:modules|parameters|buffers)\['([^\W\d]\w*)'\]", r".\1", name)


def in_users_words(names: Sequence[str]) -> list[str]:
    """Returns the most informative of a tensor's names: those of module parts, if there are any.

    >>> in_users_words(["adam.param_groups[0]['params'][0]", "model._modules['0']._parameters['weight']"])
    ['model[0].weight']
    >>> in_users_words(["adam.state[<Parameter>]['exp_avg']"])
    ['adam: exp_avg']
    """
    in_modules = [tidy(name) for name in names if IN_MODULE.search(name)]
    states = [f"{match[1]}: {match[2]}" for match in map(_STATE.fullmatch, names) if match is not None]
    return in_modules or states or [tidy(name) for name in names]
