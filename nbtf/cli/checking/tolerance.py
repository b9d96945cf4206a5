"""Do two texts agree but for the last digits of their numbers?"""

from __future__ import annotations

import math
import re

ABSOLUTE = 1e-12
"""Below it two numbers are the same whatever their share: nothing and the rest of a rounding. Source: pytest.approx."""

_NUMBER = re.compile(r"(?<![\w.])((?:(?<![)\]])[-+])?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?![\w])")


def agree(recorded: str, printed: str, tolerance: float) -> bool:
    """Tells whether texts are the same but for blanks and for numbers within the tolerance.

    A number without point and exponent on both sides is a count: it must be the same.

    Args:
      recorded: a text.
      printed: a text.
      tolerance: by which share of the larger one numbers may differ.

    >>> agree("loss 0.5000001 in 3 steps", "loss 0.5 in  3 steps", 1e-6), agree("3 steps", "4 steps", 1.0)
    (True, False)
    """
    if recorded == printed:
        return True
    if not tolerance:
        return False
    words_then, numbers_then = _words_and_numbers(recorded)
    words_now, numbers_now = _words_and_numbers(printed)
    return words_then == words_now and all(
        _close(then, now, tolerance) for then, now in zip(numbers_then, numbers_now, strict=True)
    )


def beyond(recorded: str, printed: str, tolerance: float) -> list[str]:
    """Returns the numbers that are beyond the tolerance, in words; nothing where the texts differ in words, too."""
    words_then, numbers_then = _words_and_numbers(recorded)
    words_now, numbers_now = _words_and_numbers(printed)
    if not tolerance or words_then != words_now:
        return []
    return [
        f"{then} → {now}: {_distance(then, now):.2g} apart, tolerance {tolerance:g}"
        for then, now in zip(numbers_then, numbers_now, strict=True)
        if not _close(then, now, tolerance)
    ]


def _words_and_numbers(text: str) -> tuple[list[str], list[str]]:
    """Returns what stands between the numbers, without blanks, and the numbers."""
    pieces = _NUMBER.split(text)
    return ["".join(words.split()) for words in pieces[::2]], pieces[1::2]


def _close(then: str, now: str, tolerance: float) -> bool:
    if then.lstrip("+-").isdigit() and now.lstrip("+-").isdigit():
        return int(then) == int(now)
    return math.isclose(float(then), float(now), rel_tol=tolerance, abs_tol=ABSOLUTE)


def _distance(then: str, now: str) -> float:
    """The share of the larger number by which two differ."""
    first, second = float(then), float(now)
    return abs(first - second) / max(abs(first), abs(second), ABSOLUTE)
