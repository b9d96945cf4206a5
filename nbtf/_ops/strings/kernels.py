"""Kernels of the string ops: how each element is read and changed."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

from nbtf.errors import InvalidArgumentError

ENCODED_AS = {"UTF-8": "utf-8", "UTF-16-BE": "utf-16-be", "UTF-32-BE": "utf-32-be"}
"""The supported output encodings and Python's names for them."""


def each(xp: Any, function: Callable[[Any], Any], dtype: Any, array: Any) -> Any:
    """Returns an array with the results of a function for each element of another array."""
    return filled(xp, map(function, array.ravel().tolist()), array.shape, dtype)


def filled(xp: Any, items: Iterable[Any], shape: tuple[int, ...], dtype: Any) -> Any:
    """Returns an array of items with a shape and dtype; errors raised while iterating are passed on."""
    return xp.fromiter(items, dtype, prod(shape)).reshape(shape)


# Code points


def decoded(data: bytes, encoding: str, errors: str, replacement: int, control: bool = False) -> list[int]:
    """Returns the code points of an encoded string.

    Args:
      data: the encoded string.
      encoding: Python's or TensorFlow's name of the encoding.
      errors: `strict`, `replace` or `ignore`.
      replacement: the code point that replaces invalid bytes.
      control: whether to replace control characters as well; False by default.

    Raises:
      InvalidArgumentError: if bytes are invalid and `errors` is `strict`, or the encoding is unknown.
    """
    codec = _codec(encoding)
    points: list[int] = []
    while data:
        try:
            points.extend(map(ord, data.decode(codec)))
            break
        except UnicodeDecodeError as error:
            points.extend(map(ord, data[: error.start].decode(codec)))
            if errors == "strict":
                raise InvalidArgumentError("Invalid formatting on input string") from None
            if errors == "replace":
                points.append(replacement)
            data = data[error.end :]
    return [replacement if control and point < 32 else point for point in points]


@lru_cache(maxsize=32)
def _codec(encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        raise InvalidArgumentError(f"Could not create converter for input encoding: {encoding}") from None


def encoded(points: Sequence[int], encoding: str, errors: str, replacement: int) -> bytes:
    """Returns the encoded string of code points; see `decoded`."""
    code_points: list[int] = []
    for point in points:
        if 0 <= point < 0xD800 or 0xDFFF < point <= 0x10FFFF:
            code_points.append(point)
        elif errors == "strict":
            raise InvalidArgumentError("Code point is out of range for Unicode, or is a surrogate.")
        elif errors == "replace":
            code_points.append(replacement)
    return "".join(map(chr, code_points)).encode(ENCODED_AS[encoding])


def characters(text: bytes) -> int:
    """Returns the number of characters in a UTF-8 string, whether well-formed or not."""
    return sum(byte & 0xC0 != 0x80 for byte in text)


def part(text: bytes, pos: int, length: int, unit: str) -> bytes:
    """Returns up to `length` bytes or characters from `pos`, which counts from the end if negative.

    For bytes, a negative `length` means all that follow. For characters, it means none, as in TensorFlow,
    and raises an error if `pos` is negative.

    Raises:
      IndexError: if `pos` is out of range.
    """
    units: Any = text if unit == "BYTE" else text.decode("utf-8", "surrogateescape")
    count = len(units)
    if not -count <= pos <= count or (unit != "BYTE" and pos < 0 and length < 0):
        raise IndexError(pos)
    begin = pos + count if pos < 0 else pos
    if unit == "BYTE":
        return units[begin:] if length < 0 else units[begin : begin + length]
    return units[begin : begin + max(length, 0)].encode("utf-8", "surrogateescape")


# Patterns


@lru_cache(maxsize=64)
def pattern(text: bytes) -> re.Pattern[str]:
    r"""Returns a compiled pattern; `\d`, `\s` and `\w` match ASCII only, as in RE2.

    Raises:
      InvalidArgumentError: if the pattern is invalid.
    """
    source = text.decode("utf-8", "surrogateescape")
    try:
        return re.compile(source, re.ASCII)
    except re.error as error:
        raise InvalidArgumentError(f"Invalid pattern: {source}, error: {error.msg}: {source}") from None


def full_match(source: bytes) -> Callable[[bytes], bool]:
    """Returns a function that reports whether a string matches completely."""
    regex = pattern(source)
    return lambda text: regex.fullmatch(text.decode("utf-8", "surrogateescape")) is not None


def replaced(text: bytes, regex: re.Pattern[str], rewrite: str, everywhere: bool) -> bytes:
    r"""Returns a string with matches of a pattern replaced; `\0` to `\9` in `rewrite` refer to the match."""
    end = -1

    def write(match: re.Match[str]) -> str:
        nonlocal end
        if match.start() == match.end() == end:
            return ""  # RE2 finds no empty match directly after another match
        end = match.end()
        return _rewritten(match, rewrite) if "\\" in rewrite else rewrite

    subject = text.decode("utf-8", "surrogateescape")
    return regex.sub(write, subject, 0 if everywhere else 1).encode("utf-8", "surrogateescape")


def _rewritten(match: re.Match[str], rewrite: str) -> str:
    def group(reference: re.Match[str]) -> str:
        digit = reference[1]
        return match[int(digit)] or "" if digit.isdigit() else digit

    return re.sub(r"\\([0-9\\])", group, rewrite)
