"""How is a difference shown line by line, with bounds on time and length?"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from itertools import zip_longest

MOST_LINES = 500
"""Lines up to which every difference is searched; with more, only lines equal at both ends are matched."""

WIDEST = 1000
"""Characters up to which a line is shown in full."""

CONTEXT = 60
"""Characters of a longer line that are shown before the difference."""

SHOWN = 180
"""Characters of a longer line that are shown in all."""


def changed_lines(recorded: Sequence[str], printed: Sequence[str]) -> list[str]:
    """Returns the lines that differ, marked with - and +.

    Args:
      recorded: the recorded lines.
      printed: the lines printed now.

    >>> changed_lines(["a", "b", "c"], ["a", "B", "c"])
    ['- b', '+ B']
    """
    if max(len(recorded), len(printed)) > MOST_LINES:
        recorded, printed = _between_ends(recorded, printed)
    cut = max(len(recorded), len(printed)) > MOST_LINES
    lines: list[str] = []
    matcher = difflib.SequenceMatcher(None, recorded[:MOST_LINES], printed[:MOST_LINES])
    for tag, start, end, start_now, end_now in matcher.get_opcodes():
        if tag != "equal":
            lines += _block(recorded[start:end], printed[start_now:end_now])
    if cut:
        further_lines = max(len(recorded), len(printed)) - MOST_LINES
        lines.append(f"… {further_lines:,} more lines were not compared one by one")
    return lines


def _between_ends(recorded: Sequence[str], printed: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Returns the lines without those that are equal at the beginning and at the end."""
    shorter = min(len(recorded), len(printed))
    start = next((index for index in range(shorter) if recorded[index] != printed[index]), shorter)
    longest_tail = shorter - start
    tail = next((index for index in range(longest_tail) if recorded[-1 - index] != printed[-1 - index]), longest_tail)
    return recorded[start : len(recorded) - tail], printed[start : len(printed) - tail]


def _block(then: Sequence[str], now: Sequence[str]) -> list[str]:
    """Returns the lines of one difference, long ones cut to start shortly before the first differing character."""
    pairs = [shortened(*pair) for pair in zip_longest(then, now, fillvalue="")]
    return [f"- {old}" for old, _ in pairs[: len(then)]] + [f"+ {new}" for _, new in pairs[: len(now)]]


def shortened(then: str, now: str) -> tuple[str, str]:
    """Returns two lines, long ones cut to the part around their first difference.

    >>> shortened("a" * 2000 + "b", "c")[0] == "a" * 179 + "…"
    True
    """
    if max(len(then), len(now)) <= WIDEST:
        return then, now
    start = max(0, equal_until(then, now) - CONTEXT)
    return _from(then, start), _from(now, start)


def _from(line: str, start: int) -> str:
    end = start + SHOWN - 1
    return f"{'…' if start else ''}{line[start:end]}{'…' if len(line) > end else ''}"


def equal_until(then: str, now: str) -> int:
    """Returns the index of the first difference between two texts, or the length of the shorter one."""
    step, start, shorter = 4096, 0, min(len(then), len(now))
    while start < shorter and then[start : start + step] == now[start : start + step]:
        start += step
    last = min(start + step, shorter)
    return next((index for index in range(start, last) if then[index] != now[index]), min(last, shorter))
