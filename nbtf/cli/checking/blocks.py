"""Into which parts is a long text split, so that applying rules and comparing needs no second copy of it?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

BLOCK = 1_000_000
"""Characters of a part. A shorter text is a single part."""

DATA = 100_000
"""Characters: a longer word of a long text, such as an encoded picture, is data, in which nothing varies."""

_DATA = re.compile(rf"""(?<![^\s"'<>])[^\s"'<>]{{{DATA},}}""")
_BETWEEN_WORDS = re.compile(r"""(?<=[^\W\d_])(?= [^\W\d_])|(?=["'<])""")
_BETWEEN_OTHERS = re.compile(r"(?<=\S)(?=\s)")


class Block(NamedTuple):
    """A part of a text, and whether rules apply to it."""

    text: str
    is_data: bool = False


def blocks(text: str) -> Iterator[Block]:
    r"""Yields the parts of a text, in order.

    A part ends at the end of a line, or between two words of a long line. Data are separate parts.
    """
    start = 0
    if len(text) > BLOCK:
        for data in _DATA.finditer(text):
            yield from _prose(text, start, data.start())
            yield from (Block(text[at : min(at + BLOCK, data.end())], True) for at in range(*data.span(), BLOCK))
            start = data.end()
    yield from _prose(text, start, len(text))


def _prose(text: str, start: int, end: int) -> Iterator[Block]:
    while end - start > BLOCK:
        cut = _cut(text, start + BLOCK, end)
        yield Block(text[start:cut])
        start = cut
    if start < end:
        yield Block(text[start:end] if start or end < len(text) else text)


def _cut(text: str, at: int, end: int) -> int:
    """Returns the first position, from `at` on, where a part may end.

    A rule may match the end of a line with the marks around it, or words with a number between them.
    """
    last = min(at + DATA, end)
    line_end = text.find("\n", at, last)
    if line_end >= 0:
        return line_end - 1 if text[line_end - 1 : line_end + 2] == ">\n<" else line_end + 1
    between = _BETWEEN_WORDS.search(text, at, last) or _BETWEEN_OTHERS.search(text, at, last)
    return between.start() if between is not None else at
