"""On what do the opcodes of a pickle work? A stack, marks and stored objects, within limits."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeAlias, cast

from nbtf._storage.refusal import RefusedFileError

LEVELS = 200
"""The deepest nesting that is accepted; a memory snapshot has 9 levels."""

_FREE_OBJECTS = 1_000_000
_BYTES_PER_OBJECT = 8
"""A file may hold a million lists, dictionaries, tuples and strings, and one more for every 8 bytes. An empty
dictionary takes 1 byte of a pickle and 64 of memory."""

_ODD_KEYS = 10_000
"""Most keys that are neither strings nor small integers: for other keys, Python's hashes can be made to collide."""

_SMALL = 1 << 60
_STOP = ord(".")
_CONTAINERS = (list, dict, tuple)
_CHANGEABLE = (list, dict)
_LONGEST_LINE = 10_000
EXPECTED = "Expected only lists, dictionaries, tuples, strings and numbers. nbtf never runs code from a file."

Action: TypeAlias = "Callable[[PickleReader], None]"


class PickleReader:
    """Reads a pickle of plain data with a stack of its own, so that nesting uses no stack of Python.

    Attributes:
      at: offset of the next opcode.
      stack: finished objects and open containers.
      marks: heights of the stack at the MARK opcodes that are still open.
      memo: objects that the pickle stored, by index.
      skipped: number of stored objects that a subclass did not build; they count as stored.
      is_regular: whether no object was replaced, dropped or doubled, as in every pickle of data without cycles.
    """

    def __init__(self, content: bytes, source: str) -> None:
        """Begins at the first byte; `source` is the file that errors name."""
        self.content = content
        self.source = source
        self.at = 0
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        self.skipped = 0
        self.is_regular = True
        self._objects_left = _FREE_OBJECTS + len(content) // _BYTES_PER_OBJECT
        self._odd_keys = 0
        self._shared: dict[int, Any] = {}  # holds the objects, because the number of a dead one may be used again

    def load(self) -> Any:
        """Returns the data.

        Raises:
          RefusedFileError: if the pickle is damaged, asks for anything but plain data, or is too deep or too large.
        """
        content, actions = self.content, self.actions
        try:
            while (opcode := content[self.at]) != _STOP:
                self.at += 1
                actions[opcode](self)
        except (IndexError, struct.error):
            self.refuse("it ends too early, or uses an object that is missing")
        except (UnicodeError, ValueError, OverflowError, KeyError) as error:
            if isinstance(error, RefusedFileError):
                raise
            self.refuse(f"a value cannot be read: {error}")
        if len(self.stack) != 1 or self.marks:
            self.refuse(f"it ends with {len(self.stack)} objects; expected 1")
        self._check_levels(self.stack[0])
        return self.stack[0]

    def refuse(self, text: str) -> NoReturn:
        """Raises the error for a damaged pickle, with the position."""
        raise RefusedFileError(f"{self.source} is damaged: at byte {self.at:,} of the pickle, {text}. {EXPECTED}")

    def take(self, count: int) -> bytes:
        """Returns the next bytes, after checking that the file has them."""
        at = self.at
        if count < 0 or count > len(self.content) - at:
            self.refuse(f"{count:,} bytes are announced, but {len(self.content) - at:,} remain")
        self.at = at + count
        return self.content[at : at + count]

    def number(self, size: int) -> int:
        """Returns the next unsigned number of `size` bytes."""
        return int.from_bytes(self.take(size), "little")

    def line(self) -> bytes:
        """Returns the next bytes up to a line feed."""
        end = self.content.find(b"\n", self.at, self.at + _LONGEST_LINE)
        if end < 0:
            self.refuse("a line has no end")
        line, self.at = self.content[self.at : end], end + 1
        return line

    def count_object(self) -> None:
        """Counts an object against the limit."""
        self._objects_left -= 1
        if self._objects_left < 0:
            self.refuse("more objects are created than a file of this size needs")

    def items(self) -> list[Any]:
        """Removes and returns the objects since the last MARK."""
        if not self.marks:
            self.refuse("no MARK is open")
        start = self.marks.pop()
        items = self.stack[start:]
        del self.stack[start:]
        return items

    def pop(self) -> Any:
        """Removes and returns the object on top of the stack, which must lie above the last MARK."""
        if self.marks and self.marks[-1] >= len(self.stack):
            self.refuse("an object is missing after a MARK")
        return self.stack.pop()

    def push(self, value: Any) -> None:
        """Adds a new container, tuple or string."""
        self.count_object()
        self.stack.append(value)

    def target(self, container: type) -> Any:
        """Returns the open container on top of the stack, which nothing refers to yet."""
        target = self.stack[-1]
        if type(target) is not container:
            self.refuse(f"an entry is added to {_described(target)}; expected a {container.__name__}")
        if id(target) in self._shared or (self.marks and self.marks[-1] == len(self.stack)):
            self.refuse(f"a {container.__name__} is changed after it was used, or contains itself")
        return target

    def get(self, index: int) -> Any:
        """Returns a stored object."""
        try:
            value = self.memo[index]
        except KeyError:
            return self.find_skipped(index)
        if type(value) in _CHANGEABLE:
            self._shared[id(value)] = value
        return value

    def find_skipped(self, index: int) -> Any:
        """Returns a stored object that was not built."""
        self.refuse(f"object {index:,} is used before it is stored")

    def put(self, index: int) -> None:
        """Stores the object on top of the stack."""
        if index in self.memo or index != len(self.memo) + self.skipped:
            self.is_regular = False
        self.memo[index] = self.stack[-1]

    def check_key(self, key: Any) -> None:
        """Refuses keys that cannot be hashed, or whose hashes a file can make collide."""
        for entry in _key_entries(key):
            if entry is not None and type(entry) not in (str, bytes, int, float, bool):
                self.refuse(f"{_described(key)} is the key of a dictionary")
        if type(key) is not bytes and not (type(key) is int and -_SMALL < key < _SMALL):
            self._odd_keys += 1
            if self._odd_keys > _ODD_KEYS:
                self.refuse(f"more than {_ODD_KEYS:,} keys of dictionaries are neither strings nor small integers")

    def _check_levels(self, root: Any) -> None:
        """Refuses data that are nested too deeply; each object is looked at once per level of a shared path at most."""
        depths: dict[int, int] = {}
        pending: list[tuple[Any, bool]] = [(root, False)]
        while pending:
            value, is_done = pending.pop()
            if is_done:
                depth = depths[id(value)] = 1 + max((depths.get(id(entry), 0) for entry in _entries(value)), default=0)
                if depth > LEVELS:
                    self.refuse(f"lists, dictionaries and tuples are nested more than {LEVELS} levels deep")
            elif type(value) in _CONTAINERS and id(value) not in depths:
                depths[id(value)] = 0
                pending.append((value, True))
                pending += [(entry, False) for entry in _entries(value) if type(entry) in _CONTAINERS]

    actions: tuple[Action, ...] = ()


def _entries(value: Any) -> Iterable[Any]:
    return cast("dict[Any, Any]", value).values() if type(value) is dict else value


def _key_entries(key: Any) -> Iterable[Any]:
    return key if isinstance(key, tuple) else (key,)  # pyright: ignore[reportUnknownVariableType]


def _described(value: Any) -> str:
    return "a container" if type(value) in _CONTAINERS else f"{value!r:.60}"
