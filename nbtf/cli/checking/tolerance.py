"""Do two texts agree except for the last digits of their numbers?"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import NamedTuple

ABSOLUTE = 1e-12
"""Below this difference, numbers are equal regardless of the tolerance: zero and rounding. Source: pytest.approx."""

MOST_DIGITS = 4000
"""Digits up to which a count is compared as a number; Python reads at most 4300. Longer counts are compared as text."""

_NUMBER = re.compile(
    r"(?<![\w.])((?:(?<![)\]])[-+])?(?:\d++\.\d*+(?:[eE][-+]?\d++)?+(?!\w)|(?:\d++|\.\d++)(?:[eE][-+]?\d++)?+))(?!\w)"
)

_BLANKS = dict.fromkeys(code for code in range(0x3001) if chr(code).isspace())


class Piece(NamedTuple):
    """The text before a number, without spaces, and the number; the last piece of a text has no number.

    `text_index` and `start` locate the number: the part of the text, and the position in it.
    """

    words: str
    number: str
    text_index: int
    start: int


def agree(recorded: str, printed: str, tolerance: float) -> bool:
    """Returns whether texts are the same except for spaces and for numbers within the tolerance.

    A number without a decimal point and exponent on both sides is a count: it must be the same.

    Args:
      recorded: a text.
      printed: a text.
      tolerance: relative difference allowed between numbers, as a share of the larger one.

    >>> agree("loss 0.5000001 in 3 steps", "loss 0.5 in  3 steps", 1e-6), agree("3 steps", "4 steps", 1.0)
    (True, False)
    """
    if recorded == printed:
        return True
    return bool(tolerance) and first_disagreement([recorded], [printed], tolerance) is None


def first_disagreement(
    recorded: Iterable[str], printed: Iterable[str], tolerance: float
) -> tuple[Piece | None, Piece | None] | None:
    """Returns a piece of each text at their first disagreement, or None at a text's end; None if they agree.

    Args:
      recorded: a text in parts, none of which ends inside a number.
      printed: another text in parts.
      tolerance: relative difference allowed between numbers, as a share of the larger one.
    """
    for then, now in zip_longest(_pieces(recorded), _pieces(printed)):
        if then is None or now is None or not _pieces_agree(then, now, tolerance):
            return then, now
    return None


def _pieces_agree(then: Piece, now: Piece, tolerance: float) -> bool:
    if then.words != now.words or bool(then.number) != bool(now.number):
        return False
    return not then.number or _close(then.number, now.number, tolerance)


def beyond(recorded: str, printed: str, tolerance: float) -> list[str]:
    """Returns descriptions of the numbers beyond the tolerance; empty if the texts differ in anything else."""
    then, now = list(_pieces([recorded])), list(_pieces([printed]))
    if not tolerance or [piece.words for piece in then] != [piece.words for piece in now]:
        return []
    pairs = [(old.number, new.number) for old, new in zip(then[:-1], now[:-1], strict=True)]
    return [
        f"{old} → {new}: {_distance(old, new):.2g} apart, tolerance {tolerance:g}"
        for old, new in pairs
        if not _close(old, new, tolerance)
    ]


def _pieces(texts: Iterable[str]) -> Iterator[Piece]:
    words: list[str] = []
    index, start = 0, 0
    for index, text in enumerate(texts):
        start = 0
        for match in _NUMBER.finditer(text):
            words.append(text[start : match.start()].translate(_BLANKS))
            yield Piece("".join(words), match[1], index, match.start())
            words.clear()
            start = match.end()
        words.append(text[start:].translate(_BLANKS))
    yield Piece("".join(words), "", index, start)


def _close(then: str, now: str, tolerance: float) -> bool:
    if then.lstrip("+-").isdigit() and now.lstrip("+-").isdigit():
        return then == now if max(len(then), len(now)) > MOST_DIGITS else int(then) == int(now)
    first, second = float(then), float(now)
    if math.inf in (abs(first), abs(second)):
        return then == now  # too large for floats, in which all numbers of this size would be equal
    return math.isclose(first, second, rel_tol=tolerance, abs_tol=ABSOLUTE)


def _distance(then: str, now: str) -> float:
    """The difference of two numbers as a share of the larger one."""
    first, second = float(then), float(now)
    return abs(first - second) / max(abs(first), abs(second), ABSOLUTE)
