"""Which bytes of a pickled event are the same in the next one? A shape: opcodes that agree, and numbers that differ.

An event is a dictionary of a few integers, strings that were stored before, and the list of its frames. After one event
was read by its opcodes, its shape gives the places of the fields in the next one, if all other bytes agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from nbtf._snapshots.excerpts import PUT, PUT_SIZE

DICT, LIST, MARK, MEMOIZE, SET_ITEMS, LONG1 = b"}](\x94u\x8a"
_INTEGERS = {ord("K"): 1, ord("M"): 2, ord("J"): 4}
_REFERENCES = {ord("h"): 1, ord("j"): 4}
_CONSTANTS = b"N\x88\x89"
_TUPLES = b"\x85\x86\x87"
_CONTINUES = b"\x94r(aeus\x85\x86\x87"
_MAX_BYTES = 400
_NUMBERS = ("addr", "device_free", "size", "stream", "time_us")
FRAMES = "frames"


class Place(NamedTuple):
    """Where the argument of an opcode is: its offset and size in bytes, and whether the integer is signed."""

    offset: int
    size: int
    signed: bool = False


class Shape(NamedTuple):
    """The bytes of an event without the list of its frames.

    Attributes:
      begin: its first bytes, up to the opcode of the list; the places of numbers and references contain zeros.
      begin_mask: 255 for each byte of `begin` that must agree, 0 for the others.
      end: the bytes after the list of frames, which is empty if the event ends with `begin`.
      end_mask: the same for `end`.
      integers: the integers with their names; an offset below 0 counts from the end of the event.
      action: the reference to the action.
      stack: the reference to the list of frames, if it was stored before.
      references: all other references.
      stored_before: number of objects that `begin` stores.
      stored: number of objects that `begin` and `end` store.
      has_list: whether a list of frames begins with the last byte of `begin`.
    """

    begin: bytes
    begin_mask: bytes
    end: bytes
    end_mask: bytes
    integers: tuple[tuple[str, Place], ...]
    action: Place
    stack: Place | None
    references: tuple[Place, ...]
    stored_before: int
    stored: int
    has_list: bool

    @property
    def fields(self) -> dict[str, Place]:
        """The integers by name."""
        return dict(self.integers)


class _Walk:
    """Follows the opcodes of an event from its first byte; None of the methods build anything."""

    def __init__(self, content: bytes, names: Mapping[int, Any]) -> None:
        self.content, self.at, self.end, self.names = content, 0, len(content), names
        self.free: list[Place] = []  # what may differ
        self.fields: dict[str, Place] = {}
        self.values: dict[str, int] = {}
        self.references: dict[str, Place] = {}
        self.keys: list[str] = []
        self.list_at = self.list_end = -1
        self.stored = self.stored_before = 0
        self.is_last = False  # whether the list of frames is the last value

    def opcode(self) -> int:
        return self.content[self.at]

    def argument(self, size: int, skipped: int, signed: bool = False) -> Place:
        """Passes an argument that may differ."""
        argument = Place(self.at + skipped, size, signed)
        self.free.append(argument)
        self.at += skipped + size
        return argument

    def value_at(self, argument: Place) -> int:
        data = self.content[argument.offset : argument.offset + argument.size]
        return int.from_bytes(data, "little", signed=argument.signed)

    def pair(self) -> bool:
        """Passes a key and its value; False if it is of no usual form."""
        size = _REFERENCES.get(self.opcode())
        if size is None:
            return False
        key = self.names.get(int.from_bytes(self.content[self.at + 1 : self.at + 1 + size], "little"))
        self.at += 1 + size
        if type(key) is not str or key in self.keys:
            return False
        self.keys.append(key)
        return self._value(key)

    def _value(self, key: str) -> bool:
        opcode = self.opcode()
        if key == FRAMES and opcode == LIST:
            self.list_at, self.stored_before = self.at, self.stored
            self.list_end = self.at = self.end - 1 if self.is_last else end_of_value(self.content, self.at, self.end)
            return self.list_end > 0
        if opcode in _REFERENCES and key not in _NUMBERS:
            self.references[key] = self.argument(_REFERENCES[opcode], 1)
            return True
        if opcode in _INTEGERS or opcode == LONG1:
            return self._integer(key, opcode)
        if opcode in _CONSTANTS and key not in (*_NUMBERS, FRAMES):
            self.at += 1
            return True
        return False

    def _integer(self, key: str, opcode: int) -> bool:
        """Passes an integer, or a tuple of small ones, whose values must agree."""
        size, skipped = (self.content[self.at + 1], 2) if opcode == LONG1 else (_INTEGERS[opcode], 1)
        following = self.content[self.at + skipped + size]
        if following in _REFERENCES or following == SET_ITEMS:
            argument = self.argument(size, skipped, signed=opcode in (LONG1, ord("J")))
            if key in _NUMBERS:
                self.fields[key], self.values[key] = argument, self.value_at(argument)
            return size <= 8
        while self.opcode() in _INTEGERS:
            self.at += 1 + _INTEGERS[self.opcode()]
        if self.opcode() not in _TUPLES or key in _NUMBERS:
            return False
        self.at += 1
        self.pass_memoize()
        return True

    def pass_memoize(self) -> None:
        """Passes the opcode that stores an object, if it is there."""
        if self.opcode() in (MEMOIZE, PUT):
            self.at += 1 + _argument(self.content, self.at)
            self.stored += 1


def shape_of(content: bytes, names: Mapping[int, Any], event: Mapping[Any, Any]) -> tuple[Shape, int, int] | None:
    """Returns the shape of an event, and where its list of frames begins and ends; None if it has no usual form.

    Args:
      content: the bytes of the event, as in an excerpt.
      names: the stored objects, by index.
      event: what the event's opcodes built.
    """
    walk = _Walk(content, names)
    walk.is_last = bool(event) and next(reversed(event)) == FRAMES  # pyright: ignore
    if content[0] != DICT or content[-1] != SET_ITEMS:
        return None
    walk.at += 1
    walk.pass_memoize()
    if walk.opcode() != MARK:
        return None
    walk.at += 1
    while walk.at < walk.end - 1:
        if not walk.pair() or len(walk.free) > 20:
            return None
    if walk.at != walk.end - 1 or walk.keys != list(event) or "action" not in walk.references:
        return None
    if any(event[key] != value for key, value in walk.values.items()):
        return None
    return _shape(walk)


def _shape(walk: _Walk) -> tuple[Shape, int, int] | None:
    """Returns the shape of an event whose opcodes were followed to its end."""
    end = walk.end
    has_list = walk.list_at >= 0
    cut, resumed = (walk.list_at, walk.list_end) if has_list else (end, end)
    data = bytearray(walk.content[:cut] + walk.content[resumed:])
    if len(data) > _MAX_BYTES:
        return None
    mask = bytearray(b"\xff" * len(data))
    removed = resumed - cut
    for argument in walk.free:
        at = argument.offset if argument.offset < cut else argument.offset - removed
        data[at : at + argument.size] = mask[at : at + argument.size] = bytes(argument.size)

    def placed(argument: Place) -> Place:
        return argument if argument.offset < cut else argument._replace(offset=argument.offset - end)

    references = dict(walk.references)
    action, stack = references.pop("action"), references.pop(FRAMES, None)
    opening = bytes([LIST]) if has_list else b""
    shape = Shape(
        bytes(data[:cut]) + opening,
        bytes(mask[:cut]) + b"\xff" * len(opening),
        bytes(data[cut:]),
        bytes(mask[cut:]),
        tuple((name, placed(argument)) for name, argument in walk.fields.items()),
        placed(action),
        None if stack is None else placed(stack),
        tuple(placed(argument) for argument in references.values()),
        walk.stored_before,
        walk.stored,
        has_list,
    )
    return shape, cut, resumed


def end_of_value(content: bytes, at: int, end: int) -> int:
    """Returns the offset after a value of a dictionary; 0 if it has opcodes that events do not have."""
    height, marks = 0, list[int]()
    while at < end:
        opcode = content[at]
        if height == 1 and not marks and opcode not in _CONTINUES:
            return at
        at += 1 + _argument(content, at)
        if opcode == MARK:
            marks.append(height)
        elif opcode in b"etu":
            if not marks:
                return at - 1 if opcode == SET_ITEMS and height == 1 else 0
            height = marks.pop() + (opcode == ord("t"))
        elif opcode in _HEIGHTS:
            height += _HEIGHTS[opcode]
        else:
            return 0
    return 0


_HEIGHTS = {MEMOIZE: 0, PUT: 0, ord("a"): -1, ord("s"): -2, 0x85: 0, 0x86: -1, 0x87: -2} | dict.fromkeys(
    b"]}hjKMJN\x8a\x8c\x88\x89)", 1
)
_SIZES = _INTEGERS | _REFERENCES | {PUT: PUT_SIZE}


def _argument(content: bytes, at: int) -> int:
    """Returns the size of an opcode's argument."""
    opcode = content[at]
    if opcode in b"\x8a\x8c":
        return 1 + content[at + 1]
    return _SIZES.get(opcode, 0)
