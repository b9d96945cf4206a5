"""Of which constants of Python's numbers has a log told? TensorFlow makes each once, so that its log has one line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from nbtf._devices.base import Device
from nbtf._runtime.scopes import Scope
from nbtf._types import DType

Key: TypeAlias = "tuple[Any, ...]"

_NUMBERS = frozenset({bool, int, float, complex})
_BASES: tuple[Any, ...] = (int, float, complex)
"""Classes whose numbers TensorFlow remembers, with those that inherit from them. Source: `PyArray_IsPythonNumber`."""

_REMEMBERED = 4096
"""Numbers at most; a loop over floats must not fill the memory."""


class Constants:
    """The constants of numbers that listeners have heard of, each with the number of its event.

    Never a tensor: TensorFlow's cache holds 256 bytes of a GPU for each number, until the process ends. Here a constant
    is put on its device whenever it is needed, which is told as the copy that it is, and its memory goes with the last
    tensor. Restart begins anew.

    Source: `TFE_TensorHandleCache` of TensorFlow 2.21.
    """

    __slots__ = ("_events",)

    def __init__(self) -> None:
        """Has heard of none."""
        self._events: dict[Key, int] = {}

    def key(self, value: Any, dtype: DType | None, device: Device, scope: Scope | None) -> Key | None:
        """Returns what tells constants apart: class, number, dtype asked for, device, and the one that a block names.

        None for what is made each time: other values than numbers, nan, and what a session's nodes use.
        """
        plain = value
        if value.__class__ not in _NUMBERS:
            base = next((base for base in _BASES if isinstance(value, base)), None)
            if base is None:
                return None
            plain = base.__pos__(value)  # without asking methods of the class that inherits
        if scope is not None and scope.node is not None:
            return None
        request = None if scope is None or scope.request is None else scope.request.name
        return (value.__class__, plain, dtype, device, request) if plain == plain else None

    def claim(self, key: Key, event: int) -> int:
        """Returns the number of the event that told of a constant: this one where nobody has heard of it.

        Of threads that come at the same time, one gets its own number.
        """
        if len(self._events) >= _REMEMBERED and key not in self._events:
            self._events.clear()
        return self._events.setdefault(key, event)

    def settle(self, key: Key, event: int) -> None:
        """Notes the event that told of a constant."""
        self._events[key] = event

    def begin_anew(self) -> Callable[[], None]:
        """Tells of every constant again, as if nobody had heard of any; the returned function ends that."""
        outer, self._events = self._events, {}

        def end() -> None:
            self._events = outer | self._events

        return end

    def forget(self, events: Sequence[int]) -> None:
        """Takes back what was claimed for events that did not come about."""
        for key, event in list(self._events.items()):
            if event in events:
                self._events.pop(key, None)
