"""Matches objects with those of a checkpoint, including objects that are created later."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from nbtf._graph.trial import in_earnest
from nbtf._ops.trackable import Trackable
from nbtf._ops.variables.variable import Variable
from nbtf._runtime.logger import get_logger
from nbtf.data.iterators import Iterator
from nbtf.dtypes import as_dtype
from nbtf.errors import InvalidArgumentError
from nbtf.keras.layers.tracking import TrackedDict, TrackedList, tracked
from nbtf.keras.saving import arrays
from nbtf.train.object_graph import Node, children_of, name_of, parents_in

_INCONSISTENT = (
    "Inconsistent references when loading the checkpoint into this object graph. For example, in the saved checkpoint "
    "object, `model.layer.weight` and `model.layer_copy.weight` reference the same variable, while in the current "
    "object these are two different variables. The referenced variables are:(%s and %s)."
)
_DELETED = (
    "Detecting that an object or model or tf.train.Checkpoint is being deleted with unrestored values. See the "
    "following logs for the specific values in question. To silence these warnings, use `status.expect_partial()`."
)


class Unrestored:
    """Values of a checkpoint that no variable has used, for the warning once no object can use them any more."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        """Starts with all values."""
        self.numbers: dict[int, None] = dict.fromkeys(
            number for number, node in enumerate(nodes) if node.key is not None
        )
        self._parents = parents_in(nodes)
        self.expected = False

    def name_of(self, number: int) -> str:
        """Returns the name of a value in messages; the names of all values of a deep graph would fill the memory."""
        return name_of(number, self._parents)

    def warn(self) -> None:
        """Logs a warning that names them, unless `expect_partial` was called."""
        if self.numbers and not self.expected:
            get_logger().warning(_DELETED)
            for number in self.numbers:
                text = "Value in checkpoint could not be found in the restored object: %s"
                get_logger().warning(text, self.name_of(number))


class Restoration:
    """A loaded checkpoint: assigns values to existing variables now, and to others when they are created.

    Objects are matched by the names that lead to them from the root. An object that lacks saved parts remembers the
    restoration (`Trackable._awaiting`), and repeats the matching whenever a part is added to it.
    """

    def __init__(self, nodes: Sequence[Node], values: Mapping[str, np.ndarray[Any, Any]]) -> None:
        """Stores the graph of the saved objects, and their values by key."""
        self.nodes: Sequence[Node] = nodes
        self._values = values
        self.objects: dict[int, Callable[[], Any]] = {}
        self.unrestored: Unrestored = Unrestored(nodes)
        self._edges: set[tuple[int, str]] = set()
        self._ready: list[tuple[int, Any]] = []
        self._waiting: deque[tuple[int, Any]] = deque()
        weakref.finalize(self, self.unrestored.warn)

    def begin(self, root: Any) -> None:
        """Restores an object and its parts."""
        self._match(0, root)
        self._match_waiting()
        self._assign()

    def _match(self, number: int, value: Any) -> bool:
        """Matches an object with a node; returns whether all its parts exist or will report themselves."""
        matched = self.objects.get(number, lambda: None)()
        if matched is not None and matched is not value and not isinstance(value, list | tuple | dict):
            get_logger().warning(_INCONSISTENT, matched, value)
            return True
        if isinstance(value, list | tuple | dict) and not isinstance(value, TrackedList | TrackedDict):
            return self._match_parts(number, value)  # the object that contains it triggers another match
        if matched is None:
            self.objects[number] = weakref.ref(value)
            if isinstance(value, Variable | Iterator):
                self._ready.append((number, value))
                return True
        if isinstance(value, Trackable | TrackedList | TrackedDict):
            self._waiting.append((number, value))  # a list, because objects may be nested more deeply than the stack
            return True
        return self._match_parts(number, value)

    def _match_waiting(self) -> None:
        """Matches the parts of the objects in the waiting list."""
        while self._waiting:
            number, value = self._waiting.popleft()
            if not self._match_parts(number, value):
                self._await(number, value)

    def _match_parts(self, number: int, value: Any) -> bool:
        absent = {
            name: child for name, child in self.nodes[number].children.items() if (number, name) not in self._edges
        }
        children = dict(children_of(value)) if absent else {}
        for name, child in absent.items():
            child_value = children.get(name)
            if child_value is not None and (
                self._match(child, child_value) or self._match_observed(child, value, name, child_value)
            ):
                self._edges.add((number, name))
        return all((number, name) in self._edges for name in absent)

    def _match_observed(self, number: int, owner: Any, name: str, child: Any) -> bool:
        """Replaces a plain list or dictionary with one that reports new items."""
        observed = tracked(child)
        if observed is child:
            return False
        for holder in (owner, *getattr(owner, "_roots", ())):
            if isinstance(holder, TrackedList):
                list[Any].__setitem__(holder, int(name), observed)
            elif isinstance(holder, TrackedDict):
                dict[str, Any].__setitem__(holder, name, observed)
            elif isinstance(holder, Trackable) and vars(holder).get(name) is child:
                holder.__dict__[name] = observed
            else:
                continue
            return self._match(number, observed)
        return False

    def _await(self, number: int, value: Any) -> None:
        """Makes an object repeat the matching of its parts when one is added."""
        owner = weakref.ref(value)

        def resume() -> None:
            present = owner()
            if present is not None and self._match_parts(number, present):
                _forget(present, resume)
            self._match_waiting()
            self._assign()

        for holder in (value, *getattr(value, "_roots", ())):
            holder.__dict__["_awaiting"] = (*holder._awaiting, resume)

    def _assign(self) -> None:
        """Assigns the values of all matched variables, or of none."""
        assignable, self._ready = self._ready, []
        values = [(number, variable, self._value(number, variable)) for number, variable in assignable]
        for number, variable, value in values:
            if value is not None:
                _give(variable, value, self.nodes[number].key or "")
                self.unrestored.numbers.pop(number, None)

    def _value(self, number: int, variable: Any) -> Any:
        """Returns the value of a variable; None if no variable was saved there."""
        key = self.nodes[number].key
        if key is None or key not in self._values:
            return None
        if isinstance(variable, Iterator):
            return self._values[key]
        value, dtype = self._values[key], variable.dtype.np_dtype
        if not variable.shape.is_compatible_with(value.shape):
            raise ValueError(
                f"Received incompatible tensor with shape {value.shape} when attempting to restore variable with shape "
                f"{tuple(variable.shape.as_list())} and name {variable.name}."
            )
        if dtype != value.dtype and not (dtype.kind == "O" and value.dtype.kind == "S"):
            original = str(value.dtype) if value.dtype.kind == "V" else as_dtype(value.dtype).c_name
            raise InvalidArgumentError(
                f"tensor_name = {key}; expected dtype {variable.dtype.c_name} does not equal original dtype "
                f"{original} [Op:RestoreV2]"
            )
        return value


def _give(variable: Any, value: np.ndarray[Any, Any], key: str) -> None:
    if isinstance(variable, Iterator):
        variable.position = int(value)
        return
    with in_earnest():
        arrays.put(variable, value, key)


def _forget(value: Any, resume: Callable[[], None]) -> None:
    for holder in (value, *getattr(value, "_roots", ())):
        holder.__dict__["_awaiting"] = tuple(entry for entry in holder._awaiting if entry is not resume)
