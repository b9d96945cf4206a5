"""Lays out texts that may need more than one line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from unicodedata import category

from nbtf.notebook.stills.glyphs import fitted, is_wide
from nbtf.notebook.stills.marks import Text

_GAP = 16.0
_LINE = 18.0
_NUMBER, _UNIT = re.compile(r"\d $"), re.compile(r"([KMGT]iB|B|[nµm]?s|%)\b|%")
_NEVER_FIRST = ("Pe", "Pf", "Po", "Lm")
"""Kinds of characters that cannot begin a line: closing brackets, commas, vowel lengthening marks."""


def flowed(texts: Iterable[Text], begin: float, right: float, y: float) -> tuple[list[Text], float]:
    """Returns texts side by side, wrapped where necessary, and the baseline of the last line.

    Args:
      texts: texts to lay out; their own positions are ignored.
      begin: left edge of the lines, in px.
      right: right edge of the lines.
      y: the first baseline.
    """
    marks: list[Text] = []
    x = begin
    for text in texts:
        for number, words in enumerate(lines_of(text, right - begin)):
            new = replace(text, x=x, y=y, words=words, continues=number > 0)
            if x > begin and (number or x + new.width > right):
                x, y = begin, y + _LINE
                new = replace(new, x=x, y=y)
            marks.append(new)
            x += new.width + _GAP
    return marks, y


def lines_of(text: Text, room: float) -> list[str]:
    """Returns a text as lines that fit: broken where its language allows it, and cut only if it does not."""
    lines = [""]
    for word in _pieces(text.words):
        longer = lines[-1] + word
        if lines[-1] and replace(text, words=longer.rstrip()).width > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return [fitted(line.rstrip(), room, text.size, text.weight, text.mono) for line in lines]


def _pieces(words: str) -> Iterator[str]:
    """Yields the unbreakable parts: words with the following space, and a number with its unit."""
    number = ""
    for word in _words(words):
        if number and not _UNIT.match(word):
            yield number
            number = ""
        if _NUMBER.search(word):
            number += word
        else:
            yield number + word
            number = ""
    if number:
        yield number


def _words(words: str) -> Iterator[str]:
    """Yields words with the following space; Chinese and Japanese characters one by one."""
    piece = ""
    for letter in words:
        if is_wide(letter):
            if category(letter) in _NEVER_FIRST:
                piece += letter
                continue
            if piece:
                yield piece
            piece = letter
        elif piece and is_wide(piece[-1]) and letter != " ":
            yield piece
            piece = letter
        else:
            piece += letter
            if letter == " ":
                yield piece
                piece = ""
    if piece:
        yield piece
