"""Where do texts stand that may need more than a line?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from unicodedata import category

from nbtf.notebook.stills.glyphs import fitted, is_wide
from nbtf.notebook.stills.marks import Text

_GAP = 16.0
_LINE = 18.0
_NEVER_FIRST = ("Pe", "Pf", "Po", "Lm")
"""Kinds of letters that no line begins with: brackets that close, commas, marks that lengthen a vowel."""


def flowed(texts: Iterable[Text], begin: float, right: float, y: float) -> tuple[list[Text], float]:
    """Returns texts beside one another, on more lines where they need them, and the baseline of the last line.

    Args:
      texts: their own places do not matter.
      begin: where lines begin, in px.
      right: where they end.
      y: the first baseline.
    """
    marks: list[Text] = []
    x = begin
    for text in texts:
        for number, words in enumerate(lines_of(text, right - begin)):
            new = replace(text, x=x, y=y, words=words)
            if x > begin and (number or x + new.width > right):
                x, y = begin, y + _LINE
                new = replace(new, x=x, y=y)
            marks.append(new)
            x += new.width + _GAP
    return marks, y


def lines_of(text: Text, room: float) -> list[str]:
    """Returns words as lines that fit: broken where their language does, and cut only where it does not."""
    lines = [""]
    for word in _pieces(text.words):
        longer = lines[-1] + word
        if lines[-1] and replace(text, words=longer.rstrip()).width > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return [fitted(line.rstrip(), room, text.size, text.weight, text.mono) for line in lines]


def _pieces(words: str) -> Iterator[str]:
    """Yields what stays together: words with the space behind them; Chinese and Japanese letters one by one."""
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
