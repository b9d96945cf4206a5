"""Finds what is reachable from the places where users keep objects, and which object refers to which.

The search uses the garbage collector's `gc.get_referents`, which returns every reference that an object owns and runs
none of the object's code. Visited objects stay alive until the search is discarded, and no longer.
"""

from __future__ import annotations

import gc
import os
import site
import sys
import sysconfig
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from types import FrameType, FunctionType, ModuleType
from typing import Any

import numpy as np

import nbtf
from nbtf import runtime
from nbtf.notebook.holders.introspection import class_dict, is_sequence, kind_of, locals_of, module_of, names_in

HOLDERS = (nbtf.Tensor, nbtf.Variable)
"""Classes that can hold device memory; all others only lead to it."""

OTHERS = frozenset({"IPython", "ipykernel", "traitlets", "comm", "zmq", "tornado", "jupyter_client"})
"""Packages of the notebook itself. Their objects lead everywhere; what they keep for users is looked up by name."""

OURS = ("nbtf._runtime.tensor", "nbtf._runtime.tape")
"""Modules below the runtime whose objects users hold; all others are internal."""

_INNER = (
    *("nbtf._devices", "nbtf._runtime", "nbtf._types", "nbtf.notebook", "nbtf.runtime"),
    "tensorflow.python.eager.context",  # every tensor of TensorFlow refers to its context
)

_AT_ONCE = 1 << 16
"""List entries visited between two checks of the clock: a few milliseconds."""

_TOGETHER = 256
"""Objects between two checks of the clock; holders among them are tested together for whether they lead anywhere."""

Look = Callable[[], Iterable[tuple[str, object]]]

Kind = tuple[type, Callable[[Any], Sequence[runtime.Holding]]]
"""A class of another library that holds device memory, and a function that returns the piece an object holds."""


class Root:
    """A place where a search starts. It is read again each time, and keeps nothing alive."""

    __slots__ = ("__weakref__", "kind", "look")

    def __init__(self, root_kind: str, look: Look) -> None:
        """Stores the kind of place, and the function that lists its names and objects."""
        self.kind: str = root_kind
        self.look: Look = look


class Graph:
    """The objects reached, numbered in the order in which they were found: the nearest first.

    `into` lists, for each object, the numbers of those that refer to it, once per reference. `counts` is the total
    number of references to each object that leads to a holder. `holdings` are the pieces of memory that tensors hold.
    """

    def __init__(
        self,
        roots: Iterable[Root],
        running: Iterable[FrameType],
        hidden: Iterable[object],
        foreign_kinds: Iterable[Kind] = (),
    ) -> None:
        """Prepares a search.

        Args:
          roots: where the search begins, in order of preference for names.
          running: user frames that are running; the collector does not see their variables.
          hidden: objects that are not entered, because roots cover them.
          foreign_kinds: classes of other libraries that hold device memory.
        """
        self._kinds = tuple(foreign_kinds)
        self._holders = (*HOLDERS, *[cls for cls, _ in self._kinds])
        self.objects: list[Any] = [object(), *roots]  # nothing refers to the first: it calibrates the reference counts
        self.into: list[list[int]] = [[] for _ in self.objects]
        self.holdings: dict[int, Sequence[runtime.Holding]] = {}
        self.counts: dict[int, int] = {}
        self.running: set[int] = {id(frame) for frame in running}
        self.finished = False
        self._border = _Border(hidden)

    def search(self, deadline: float) -> None:
        """Searches until everything is found or `time.monotonic()` reaches `deadline`; then counts references."""
        numbers = {id(obj): number for number, obj in enumerate(self.objects)}
        objects, number, asked_until = self.objects, 1, 0
        long_lists = deque[tuple[int, int]]()  # long lists: each waits for its next part until everything else is done
        while number < len(objects) or long_lists:
            if (number % _TOGETHER == 0 or number == len(objects)) and time.monotonic() > deadline:
                break
            if number == len(objects):
                parent, start = long_lists.popleft()
                self._take(parent, objects[parent][start : start + _AT_ONCE], numbers)
                if start + _AT_ONCE < len(objects[parent]):
                    long_lists.append((parent, start + _AT_ONCE))
                continue
            if is_sequence(objects[number]) and len(objects[number]) > _AT_ONCE:
                long_lists.append((number, 0))
            elif issubclass(kind_of(objects[number]), HOLDERS) and number >= asked_until:
                asked_until, leading = self._leading(number, numbers)
                number = number if leading else asked_until
                continue
            else:
                self._take(number, self.referents(objects[number]), numbers)
            number += 1
        self.finished: bool = number == len(objects) and not long_lists
        self.count(self.holdings)

    def _leading(self, first: int, numbers: dict[int, int]) -> tuple[int, bool]:
        """Returns where a run of tensors and variables ends, and whether any of them leads anywhere.

        Most lead nowhere, so they are tested together; few of 100,000 are tested individually.
        """
        last, end = first + 1, min(len(self.objects), (first // _TOGETHER + 1) * _TOGETHER)
        while last < end and issubclass(kind_of(self.objects[last]), HOLDERS):
            last += 1
        referents = {id(obj): obj for obj in gc.get_referents(*self.objects[first:last])}
        tracked = [(key, obj) for key, obj in referents.items() if self._is_seen(obj)]
        return last, any([key in numbers or self._border.lets_in(obj) for key, obj in tracked])

    def _is_seen(self, obj: Any) -> bool:
        """Returns whether an object may be entered and the collector tracks it.

        Object arrays and running frames lead somewhere although the collector does not track them.
        """
        cls = kind_of(obj)
        if id(cls) in self._border.refused:
            return False
        return gc.is_tracked(obj) or (cls is np.ndarray and obj.dtype.hasobject) or cls is FrameType

    def _take(self, parent: int, values: Iterable[Any], numbers: dict[int, int]) -> None:
        is_tracked, objects, into, border = gc.is_tracked, self.objects, self.into, self._border
        refused, admitted, outside = border.refused, border.admitted, border.outside
        for obj in values:
            cls = kind_of(obj)
            if id(cls) in refused:
                continue
            # Object arrays and running frames lead somewhere although the collector does not track them.
            if not is_tracked(obj) and not (cls is np.ndarray and obj.dtype.hasobject) and cls is not FrameType:
                continue
            earlier = numbers.get(id(obj))
            if earlier is not None:
                into[earlier].append(parent)
            elif id(obj) not in outside if id(cls) in admitted else border.lets_in(obj):
                number = numbers[id(obj)] = len(objects)
                objects.append(obj)
                into.append([parent])
                if issubclass(type(obj), self._holders):
                    holdings = self._holdings(obj, objects[parent])
                    if holdings:
                        self.holdings[number] = holdings

    def _holdings(self, obj: Any, parent: Any) -> Sequence[runtime.Holding]:
        for cls, look in self._kinds:
            if issubclass(type(obj), cls):
                # The array behind a tensor belongs to the tensor.
                return () if issubclass(type(parent), HOLDERS) else look(obj)
        holding = runtime.holding(obj)
        return () if holding is None else (holding,)

    def referents(self, obj: Any) -> list[Any]:
        """Returns the objects to which an object refers, once per reference."""
        cls = kind_of(obj)
        if cls is Root:
            return [value for _, value in obj.look()]
        if cls is FunctionType:
            names = obj.__globals__, obj.__builtins__
            return [
                referent for referent in gc.get_referents(obj) if referent is not names[0] and referent is not names[1]
            ]
        if cls is FrameType and id(obj) in self.running:
            return list(locals_of(obj).values())
        if cls is np.ndarray:
            return obj.ravel().tolist() if obj.dtype == object else []
        return gc.get_referents(obj)

    def count(self, numbers: Iterable[int]) -> None:
        """Counts the references to objects and to everything that leads to them."""
        base_count = sys.getrefcount(self.objects[0])
        waiting = list(numbers)
        while waiting:
            number = waiting.pop()
            if number not in self.counts:
                self.counts[number] = sys.getrefcount(self.objects[number]) - base_count
                waiting += self.into[number]


_IMPORT_MACHINERY = ("__loader__", "__spec__")
"""Names in a module that its author did not define: the import system's objects may lead to everything."""


class _Border:
    """The limits of a search: it skips modules that users did not write, and internals of the notebook and nbtf."""

    def __init__(self, hidden: Iterable[object]) -> None:
        self._folders = _installed()
        self._kinds: dict[int, tuple[bool, type]] = {}  # by id: a class may define its own equality
        self._classes: dict[int, type] = {}  # other classes: each tensor leads to its own
        self.refused: set[int] = set()
        """Ids of classes none of whose objects are entered."""
        self.admitted: set[int] = set()
        """Ids of classes all of whose objects are entered, except for those outside."""
        self.outside = {id(obj) for obj in hidden}
        for _, module in modules():
            names = names_in(module)
            self.outside |= {id(names.get(name)) for name in _IMPORT_MACHINERY}
            if not self.is_users(module):
                self.outside |= {id(module), id(names)}

    def lets_in(self, obj: Any) -> bool:
        """Returns whether to enter an object."""
        if id(obj) in self.outside or id(obj) in self._classes:
            return False
        cls = kind_of(obj)
        verdict = self._kinds.get(id(cls))
        if verdict is None:
            verdict = self._kinds[id(cls)] = (self._enters(cls), cls)
            if not verdict[0]:
                self.refused.add(id(cls))
            elif not issubclass(cls, type | ModuleType):
                self.admitted.add(id(cls))
        if verdict[0] and issubclass(cls, type):
            if not self._is_users_class(obj):
                self._classes[id(obj)] = obj
                return False
            return True
        return verdict[0] and not (issubclass(cls, ModuleType) and not self.is_users(obj))

    def is_users(self, module: ModuleType) -> bool:
        """Returns whether a user wrote a module: its file is not where packages are installed, or it has none."""
        names = names_in(module)
        file = names.get("__file__")
        if type(file) is str:
            return not file.startswith(self._folders)
        return names.get("__spec__") is None and names.get("__name__") != "builtins"

    def _is_users_class(self, cls: type) -> bool:
        name = class_dict(cls).get("__module__")
        module: Any = sys.modules.get(name) if type(name) is str else None
        return issubclass(type(module), ModuleType) and self.is_users(module)

    @staticmethod
    def _enters(class_: type) -> bool:
        module = module_of(class_)
        if issubclass(class_, HOLDERS) or module in OURS:
            return True
        return module.partition(".")[0] not in OTHERS and not module.startswith(_INNER)


def modules() -> list[tuple[str, ModuleType]]:
    """Returns the imported modules, with their names."""
    return [(name, module) for name, module in list(sys.modules.items()) if issubclass(kind_of(module), ModuleType)]


def users_modules() -> list[tuple[str, ModuleType]]:
    """Returns the imported modules that users wrote, with their names."""
    border = _Border(())
    return [(name, module) for name, module in modules() if name != "__main__" and border.is_users(module)]


def _installed() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders |= {site.getusersitepackages(), os.path.dirname(os.path.abspath(nbtf.__file__))}
    return tuple(folder + os.sep for folder in folders)
