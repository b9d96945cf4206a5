"""Constants already reported to the log. TensorFlow makes each Python number once, so its log shows it once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from nbtf._devices.base import Device
from nbtf._runtime.scopes import Scope
from nbtf._types import DType

Key: TypeAlias = "tuple[Any, ...]"

_NUMBERS = frozenset({bool, int, float, complex})
_BASES: tuple[Any, ...] = (int, float, complex)
"""Classes, including subclasses, whose numbers TensorFlow caches. Source: `PyArray_IsPythonNumber`."""

_REMEMBERED = 4096
"""Maximum number of entries, so that a loop over floats cannot fill the memory."""


class Constants:
    """The number constants that listeners have been notified of, each with its event number.

    This is never a cache of tensors: TensorFlow's cache keeps 256 bytes on a GPU for each number until the process
    ends. Here a constant is copied to its device whenever it is needed. The copy is reported as such, and its memory
    is freed with the last tensor. A restart clears the record.

    Source: `TFE_TensorHandleCache` of TensorFlow 2.21.
    """

    __slots__ = ("_events",)

    def __init__(self) -> None:
        """Starts empty."""
        self._events: dict[Key, int] = {}

    def key(self, value: Any, dtype: DType | None, device: Device, scope: Scope | None) -> Key | None:
        """Returns a key of a constant: class, number, requested dtype, device, and the device named by a block.

        None for values that are created again each time: nan, anything but numbers, and values of a session's nodes.
        """
        plain = value
        if value.__class__ not in _NUMBERS:
            base = next((base for base in _BASES if isinstance(value, base)), None)
            if base is None:
                return None
            plain = base.__pos__(value)  # does not call overridden methods of a subclass
        if scope is not None and scope.node is not None:
            return None
        request = None if scope is None or scope.request is None else scope.request.name
        return (value.__class__, plain, dtype, device, request) if plain == plain else None

    def claim(self, key: Key, event: int) -> int:
        """Returns the number of the event that reported a constant; `event` itself if it is new.

        If several threads claim a key at once, only one receives its own number.
        """
        if len(self._events) >= _REMEMBERED and key not in self._events:
            self._events.clear()
        return self._events.setdefault(key, event)

    def settle(self, key: Key, event: int) -> None:
        """Stores the event that reported a constant."""
        self._events[key] = event

    def begin_anew(self) -> Callable[[], None]:
        """Reports every constant again until the returned function is called."""
        outer, self._events = self._events, {}

        def end() -> None:
            self._events = outer | self._events

        return end

    def forget(self, events: Sequence[int]) -> None:
        """Withdraws the claims of events that never happened."""
        for key, event in list(self._events.items()):
            if event in events:
                self._events.pop(key, None)
