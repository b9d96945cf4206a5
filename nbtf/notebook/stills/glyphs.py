"""Estimates the width of texts without access to a font."""

from __future__ import annotations

import json
import unicodedata
from functools import cache
from itertools import groupby

_WIDTHS = {
    0.28: " !'|.,:;ijlI·`",
    0.37: '()[]{}-/\\"frt*°',
    0.53: "ckszvxyJ?_",
    0.58: "abdeghnopquLFTE0123456789$#+=<>~^×–→←↓↑…",
    0.67: "ABCDGHKNOPQRSUVXYZ&wµ",
    0.86: "mMW@%",
}
_WIDTH_OF = {letter: width for width, letters in _WIDTHS.items() for letter in letters}
"""Mean advance of Helvetica, Inter and Segoe UI, relative to the font size. Texts are stretched to these widths."""

_OTHER, _WIDE, _MONO, _BOLD = 0.6, 1.0, 0.6, 1.05


def width_of(words: str, size: float = 12.0, weight: int = 400, mono: bool = False) -> float:
    """Returns the width at which a text is drawn, in px.

    >>> round(width_of("forward", 11)), round(width_of("MatMul", 10, mono=True))
    (39, 36)
    """
    ems = sum(map(_mono_width if mono else _width, words))
    return ems * size * (_BOLD if weight > 500 and not mono else 1.0)


def fitted(words: str, width: float, size: float = 12.0, weight: int = 400, mono: bool = False) -> str:
    """Returns as much of a text as fits in `width` px, with an ellipsis after at least four letters; otherwise nothing.

    >>> fitted("BatchMatMulV2", 60, 11, mono=True), fitted("BatchMatMulV2", 30, 11, mono=True)
    ('BatchMat…', '')
    """
    if width_of(words, size, weight, mono) <= width:
        return words
    for end in range(len(words) - 1, 3, -1):
        if width_of(words[:end] + "…", size, weight, mono) <= width:
            return words[:end] + "…"
    return ""


def _width(letter: str) -> float:
    return _WIDTH_OF.get(letter) or (_WIDE if is_wide(letter) else _OTHER)


def _mono_width(letter: str) -> float:
    return _WIDE if is_wide(letter) else _MONO


def is_wide(letter: str) -> bool:
    """Returns whether a character is as wide as it is high, as Chinese characters are."""
    return unicodedata.east_asian_width(letter) in "WF"


_WIDE_PLANES = (0x20000, 0x2FFFD), (0x30000, 0x3FFFD)
"""Planes of Unicode with Chinese characters alone, whose codes need not be looked up."""


@cache
def module() -> str:
    """Returns the widths as a JavaScript module of the views, so that a page measures texts as Python does."""
    wide = (code for code in range(0x1100, 0x20000) if is_wide(chr(code)))
    runs = (list(run) for _, run in groupby(enumerate(wide), lambda entry: entry[1] - entry[0]))
    ranges = [*((run[0][1], run[-1][1]) for run in runs), *_WIDE_PLANES]
    names = {
        "LETTERS": _WIDTH_OF,
        "OTHER_LETTER": _OTHER,
        "MONO_LETTER": _MONO,
        "BOLD_LETTERS": _BOLD,
        "WIDE_LETTERS": ranges,
    }
    return "".join(f"export const {name} = {json.dumps(value, ensure_ascii=False)};\n" for name, value in names.items())
