"""How texts are read and changed, one at a time: what the string ops do with each element."""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from importlib import import_module
from operator import itemgetter
from typing import Any

from nbtf._types import DType
from nbtf.errors import InvalidArgumentError

ENCODED_AS = {"UTF-8": "utf-8", "UTF-16-BE": "utf-16-be", "UTF-32-BE": "utf-32-be"}
"""The encodings that can be written, and Python's names for them."""


def each(xp: Any, function: Callable[[Any], Any], dtype: Any, array: Any) -> Any:
    """Returns an array of what a function makes of the elements of another."""
    return filled(xp, map(function, array.ravel().tolist()), array.shape, dtype)


def filled(xp: Any, items: Iterable[Any], shape: tuple[int, ...], dtype: Any) -> Any:
    """Returns an array of these items, of a shape and a dtype; whoever reads them one by one raises what they raise."""
    result = xp.empty(shape, dtype)
    result.reshape(-1)[...] = list(items) if dtype is object else xp.fromiter(items, dtype, result.size)
    return result


# Code points


def decoded(data: bytes, encoding: str, errors: str, replacement: int, control: bool = False) -> list[int]:
    """Returns the code points of an encoded text.

    Args:
      data: the text.
      encoding: Python's or TensorFlow's name.
      errors: `strict`, `replace` or `ignore`.
      replacement: what stands for bytes that cannot be read.
      control: whether it stands for control characters as well.

    Raises:
      InvalidArgumentError: bytes cannot be read and `errors` is `strict`, or there is no such encoding.
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
    """Returns the text of code points; see `decoded`."""
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
    """Returns the number of characters of a text in UTF-8, well formed or not."""
    return sum(byte & 0xC0 != 0x80 for byte in text)


def substrings(texts: list[bytes], begins: list[int], lengths: list[int], unit: str) -> Iterator[bytes]:
    """Yields a part of each text; see `part`."""
    if unit == "BYTE" and min(begins, default=0) >= 0 <= min(lengths, default=0):
        for text, begin, length in zip(texts, begins, lengths, strict=True):
            if begin > len(text):
                raise IndexError(begin)
            yield text[begin : begin + length]
    else:
        for text, begin, length in zip(texts, begins, lengths, strict=True):
            yield part(text, begin, length, unit)


def same_part(texts: list[bytes], begin: int, length: int) -> list[bytes] | None:
    """Returns so many bytes of each text from one position on; None where not all texts have it."""
    if begin < 0 or length < 0 or min(map(len, texts), default=0) < begin:
        return None
    return list(map(itemgetter(slice(begin, begin + length)), texts))


def part(text: bytes, pos: int, length: int, unit: str) -> bytes:
    """Returns `length` bytes or characters from `pos`, which counts from the end if negative; fewer at the end.

    Raises:
      IndexError: `pos` is outside.
    """
    units: Any = text if unit == "BYTE" else text.decode("utf-8", "surrogateescape")
    count = len(units)
    if not -count <= pos <= count:
        raise IndexError(pos)
    begin = pos + count if pos < 0 else pos
    piece = units[begin:] if length < 0 else units[begin : begin + length]
    return piece if unit == "BYTE" else piece.encode("utf-8", "surrogateescape")


# Numbers


def written(form: str, values: Sequence[Any]) -> list[bytes]:
    """Returns numbers in the form of the operator `%`: all at once, which takes half the time."""
    return (f"{form}\0" * len(values) % tuple(values)).encode().split(b"\0")[:-1]


def numbers(texts: list[bytes], dtype: DType) -> list[Any]:
    """Returns the numbers that texts say; see `number`."""
    if dtype.is_floating and b"_" not in b" ".join(texts):
        try:
            return list(map(float, texts))
        except ValueError:  # some are written in another way, or say no number
            pass
    return [number(text, dtype) for text in texts]


def number(text: bytes, dtype: DType) -> Any:
    """Returns the number that a text says.

    Raises:
      InvalidArgumentError: it says none, or one that the dtype does not have.
    """
    plain = text.strip().decode("latin-1")
    try:
        if "_" in plain:
            raise ValueError(plain)
        value = _float(plain) if dtype.is_floating else int(plain)
        if dtype.is_integer and not dtype.min <= value <= dtype.max:
            raise ValueError(plain)
    except ValueError:
        shown_text = text.decode("utf-8", "backslashreplace")
        raise InvalidArgumentError(f"StringToNumberOp could not correctly convert string: {shown_text}") from None
    return value


def _float(text: str) -> float:
    return float.fromhex(text) if "0x" in text.lower() else float(text)


def short_float(value: float, single: bool) -> str:
    """Returns the shortest of two spellings that reads back as the same number.

    Source: `FloatToBuffer` and `DoubleToBuffer`, tensorflow/core/lib/strings/numbers.cc: 6 or 9 digits for single
    precision, 15 or 17 for double.
    """
    if not math.isfinite(value):
        return "nan" if value != value else "inf" if value > 0 else "-inf"
    fewest, most_digits = (6, 9) if single else (15, 17)
    text = f"{value:.{fewest}g}"
    is_equal = _as_single(float(text)) == value if single else float(text) == value
    return text if is_equal else f"{value:.{most_digits}g}"


def _as_single(value: float) -> float:
    import struct

    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.inf


# Patterns


@lru_cache(maxsize=64)
def pattern(text: bytes) -> re.Pattern[str]:
    r"""Returns a compiled pattern; digits, blanks and letters of `\d`, `\s`, `\w` are ASCII's, as in RE2.

    Raises:
      InvalidArgumentError: it cannot be read.
    """
    source = text.decode("utf-8", "surrogateescape")
    try:
        return re.compile(source, re.ASCII)
    except re.error as error:
        raise InvalidArgumentError(f"Invalid pattern: {source}, error: {error.msg}: {source}") from None


def replacement(source: bytes, rewrite: str, everywhere: bool) -> Callable[[bytes], bytes]:
    r"""Returns what writes the matches of a pattern anew; `\0` to `\9` in `rewrite` are what was matched.

    Raises:
      InvalidArgumentError: the pattern cannot be read.
    """
    regex, count = pattern(source), 0 if everywhere else 1
    if not _matches_something(regex):
        return partial(replaced, regex=regex, rewrite=rewrite, everywhere=everywhere)
    of_bytes, write, write_bytes = (
        _of_bytes(source),
        _writer(rewrite),
        _writer(rewrite.encode("utf-8", "surrogateescape")),
    )

    def replace(text: bytes) -> bytes:
        if of_bytes is not None and text.isascii():
            return of_bytes.sub(write_bytes, text, count)
        return regex.sub(write, text.decode("utf-8", "surrogateescape"), count).encode("utf-8", "surrogateescape")

    return replace


def _writer(rewrite: Any) -> Any:
    r"""Returns what `re` writes for a match: a text that it takes as it is, or a function where groups stand in it."""
    references: Any = r"\\([0-9\\])"
    backslash: Any = "\\"
    if isinstance(rewrite, bytes):
        references, backslash = references.encode(), backslash.encode()
    pieces: Any = re.split(references, rewrite)
    texts: list[Any] = pieces[::2]
    digits: list[Any] = pieces[1::2]
    if all(digit == backslash for digit in digits):
        return backslash.join(texts).replace(backslash, 2 * backslash)
    groups = [None if digit == backslash else int(digit) for digit in digits]
    nothing = rewrite[:0]

    def write(match: re.Match[Any]) -> Any:
        written: list[Any] = [texts[0]]
        for group, text in zip(groups, texts[1:], strict=True):
            written.append(backslash if group is None else match[group] or nothing)
            written.append(text)
        return nothing.join(written)

    return write


def _matches_something(regex: re.Pattern[str]) -> bool:
    """Tells whether every match has a character: then `re` and RE2 find the same ones."""
    try:
        return import_module("re._parser").parse(regex.pattern, regex.flags).getwidth()[0] > 0
    except (ImportError, AttributeError):  # the parser is private to Python
        return False


@lru_cache(maxsize=64)
def _of_bytes(source: bytes) -> re.Pattern[bytes] | None:
    """Returns the pattern for texts in ASCII, which need not be decoded; None where bytes have no such pattern."""
    try:
        return re.compile(source) if source.isascii() else None
    except (re.error, ValueError):
        return None


def full_match(source: bytes) -> Callable[[bytes], bool]:
    """Returns what tells whether a text matches from beginning to end."""
    regex, of_bytes = pattern(source), _of_bytes(source)

    def matches(text: bytes) -> bool:
        if of_bytes is not None and text.isascii():
            return of_bytes.fullmatch(text) is not None
        return regex.fullmatch(text.decode("utf-8", "surrogateescape")) is not None

    return matches


def replaced(text: bytes, regex: re.Pattern[str], rewrite: str, everywhere: bool) -> bytes:
    r"""Returns a text with the matches of a pattern written anew; `\0` to `\9` in `rewrite` are what was matched."""
    subject = text.decode("utf-8", "surrogateescape")
    pieces: list[str] = []
    copied, end = 0, -1
    for match in regex.finditer(subject):
        if match.start() == match.end() == end:
            continue  # RE2 finds no empty match right behind another match
        pieces += subject[copied : match.start()], _rewritten(match, rewrite)
        copied = end = match.end()
        if not everywhere:
            break
    return "".join([*pieces, subject[copied:]]).encode("utf-8", "surrogateescape")


def _rewritten(match: re.Match[str], rewrite: str) -> str:
    def group(reference: re.Match[str]) -> str:
        digit = reference[1]
        return match[int(digit)] or "" if digit.isdigit() else digit

    return re.sub(r"\\([0-9\\])", group, rewrite)
