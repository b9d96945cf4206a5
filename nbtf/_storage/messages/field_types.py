"""The types of values in message fields: how they are checked and printed."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from operator import index
from typing import Any, Literal

import numpy as np

WireType = Literal[0, 1, 2, 5]
"""How a value is encoded: as a varint, as eight bytes, with a length prefix, or as four bytes."""

_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "'": "\\'", "\\": "\\\\"}


class FieldType:
    """A type of values; `default` is the value of an unset field."""

    name: str
    default: Any
    wire: WireType = 0

    def checked(self, value: Any, field: str) -> Any:
        """Returns a value in stored form; `field` names the field in errors.

        Raises:
          TypeError: if the value has the wrong type.
          ValueError: if the value is out of range or cannot be stored.
        """
        raise NotImplementedError

    def text(self, value: Any) -> str:
        """Returns a value in text form."""
        return str(value)

    def is_default(self, value: Any) -> bool:
        """Returns whether a value equals that of an unset field."""
        return value == self.default


class Truth(FieldType):
    """A boolean."""

    name = "bool"
    default = False

    def checked(self, value: Any, field: str) -> bool:
        """Returns a bool; integers are accepted."""
        return bool(value if value.__class__ is np.bool_ else index(value))

    def text(self, value: Any) -> str:
        """Returns `true` or `false`."""
        return "true" if value else "false"


class Whole(FieldType):
    """An integer of a given number of bits."""

    default = 0

    def __init__(self, name: str, bits: int, signed: bool = True, wire: WireType = 0) -> None:
        self.name = name
        self.wire = wire
        self.bits = bits
        self.signed = signed
        self._range = range(-(1 << bits - 1), 1 << bits - 1) if signed else range(1 << bits)

    def checked(self, value: Any, field: str) -> int:
        """Returns an integer within range."""
        if isinstance(value, bool):
            raise TypeError(f"Field {field}: Expected an int, got a boolean.")
        number = index(value)
        if number not in self._range:
            raise ValueError(f"Value out of range: {number}")
        return number


class Number(FieldType):
    """A floating point number of four or eight bytes."""

    default = 0.0

    def __init__(self, name: str, code: str, digits: tuple[int, int], wire: WireType) -> None:
        """Stores the name, the `struct` code, and the numbers of digits to print: the smaller if it is exact."""
        self.name = name
        self.wire = wire
        self.code = code
        self._digits = digits

    def checked(self, value: Any, field: str) -> float:
        """Returns the number, rounded to the field's precision."""
        if not hasattr(value, "__float__") and not hasattr(value, "__index__"):
            raise TypeError(f"must be real number, not {type(value).__name__}")
        return self._rounded(float(value))

    def _rounded(self, number: float) -> float:
        try:
            return struct.unpack(self.code, struct.pack(self.code, number))[0]
        except OverflowError:
            return float("inf") if number > 0 else float("-inf")

    def text(self, value: Any) -> str:
        """Returns the shorter of two forms that represent the number exactly."""
        short_text, all_digits = (f"{value:.{count}g}" for count in self._digits)
        return short_text if self._rounded(float(short_text)) == value else all_digits

    def is_default(self, value: Any) -> bool:
        """Returns whether it is positive zero."""
        return value == 0 and not str(value).startswith("-")


class Text(FieldType):
    """A string."""

    name = "string"
    default = ""
    wire = 2

    def checked(self, value: Any, field: str) -> str:
        """Returns a string; bytes are decoded as UTF-8."""
        if isinstance(value, bytes):
            return value.decode()
        if not isinstance(value, str):
            raise TypeError("bad argument type for built-in operation")
        return value

    def text(self, value: Any) -> str:
        """Returns it in quotation marks, with control characters as octal escapes."""
        return '"' + "".join([_escaped(character) for character in value]) + '"'


class Bytes(FieldType):
    """Bytes."""

    name = "bytes"
    default = b""
    wire = 2

    def checked(self, value: Any, field: str) -> bytes:
        """Returns bytes unchanged; rejects strings."""
        if not isinstance(value, bytes | bytearray):
            raise TypeError(f"expected bytes, {type(value).__name__} found")
        return bytes(value)

    def text(self, value: Any) -> str:
        """Returns them in quotation marks, with non-ASCII bytes as octal escapes."""
        return '"' + "".join([_escaped(chr(b)) if b < 0x80 else f"\\{b:03o}" for b in value]) + '"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    return f"\\{ord(character):03o}" if character < " " or character == "\x7f" else character


class Enum(FieldType):
    """Integers with names. In Python the values are plain integers."""

    default = 0

    def __init__(self, **numbers: int) -> None:
        self.name = "enum"
        self._numbers = numbers

    def checked(self, value: Any, field: str) -> int:
        """Returns a number; names are accepted."""
        if isinstance(value, str):
            if value not in self._numbers:
                raise ValueError(f'unknown enum label "{value}"')
            return self._numbers[value]
        return INT32.checked(value, field)

    def text(self, value: Any) -> str:
        """Returns the name of a number, or the number itself if it has none."""
        return next((name for name, number in self._numbers.items() if number == value), str(value))

    def Name(self, number: int) -> str:  # noqa: N802  # the name in protocol buffers
        """Returns the name of a number.

        Raises:
          ValueError: if it has none.
        """
        if number not in self._numbers.values():
            raise ValueError(f"Enum has no name defined for value {number!r}")
        return self.text(number)

    def Value(self, name: str) -> int:  # noqa: N802  # the name in protocol buffers
        """Returns the number of a name.

        Raises:
          ValueError: if the name does not exist.
        """
        if name not in self._numbers:
            raise ValueError(f"Enum has no value defined for name {name!r}")
        return self._numbers[name]

    def keys(self) -> list[str]:
        """Returns the names."""
        return [*self._numbers]

    def values(self) -> list[int]:
        """Returns the numbers."""
        return [*self._numbers.values()]

    def items(self) -> Iterable[tuple[str, int]]:
        """Returns pairs of name and number."""
        return [*self._numbers.items()]


BOOL = Truth()
INT32 = Whole("int32", 32)
INT64 = Whole("int64", 64)
FIXED32 = Whole("fixed32", 32, signed=False, wire=5)
FIXED64 = Whole("fixed64", 64, signed=False, wire=1)
# Numbers of printed digits. Source: upb, the C library of protocol buffers (DIG of float.h, and a sufficient maximum).
FLOAT = Number("float", "<f", (6, 9), 5)
DOUBLE = Number("double", "<d", (15, 17), 1)
STRING = Text()
BYTES = Bytes()
