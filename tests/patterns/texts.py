"""Generates texts that force a pattern to backtrack: its beginning, repeated, and an end that does not match."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.patterns.steps import CountingMatcher, TooManyStepsError, codes, parser

ENDS = ["", "!", "x", "\n", " "]
REPRESENTATIVES = 'a0_ \n-."<>/[(:,\\\r\x08=F'
"""One character from each group that patterns distinguish."""

LENGTH = 12
"""Number of repetitions of a part; it is then doubled twice."""

GROWTH = 2.6
"""Maximum ratio of the second doubling's cost to the first: 2 is linear, 4 quadratic."""

TOO_MANY = 10**9

FEW = 60
"""Number of steps that does not count as growth, because the text is rejected at once."""


class Text(NamedTuple):
    """A text whose middle can be repeated."""

    start: str
    part: str
    end: str

    def repeated(self, times: int) -> str:
        return self.start + self.part * times + self.end


class Finding(NamedTuple):
    """A text for which the steps grow faster than its length, and the steps for one, two and four times the length."""

    text: Text
    steps: tuple[int, ...]


def texts(pattern: str, flags: int = 0, thorough: bool = False) -> Iterator[Text]:
    """Yields texts; with `thorough`, also repeats every pair of characters."""
    items = list(parser.parse(pattern, flags))
    beginnings = list(dict.fromkeys(["", *_beginnings(items)]))
    letters = list(dict.fromkeys([*"".join(beginnings), *_literals(items), *REPRESENTATIVES]))
    parts = [*letters, *beginnings[1:]]
    if thorough:
        parts += ["".join(pair) for pair in itertools.product(letters, repeat=2)]
    for part in dict.fromkeys(parts):
        for start in beginnings if thorough else ["", *beginnings[-2:]]:
            for end in ENDS if thorough else ENDS[:3]:
                yield Text(start, part, end)


def _literals(items: Any) -> Iterator[str]:
    """Yields the characters that a pattern names, and one from each class."""
    for code, argument in items:
        if code in (codes.LITERAL, codes.NOT_LITERAL):
            yield chr(argument)
        elif code is codes.IN:
            yield from (_sample([(code, argument)]) or "")
        else:
            for inner in _inner(code, argument):
                yield from _literals(inner)


def _inner(code: Any, argument: Any) -> list[Any]:
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        return [argument[2]]
    if code is codes.SUBPATTERN:
        return [argument[3]]
    if code is codes.BRANCH:
        return list(argument[1])
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        return [argument[1]]
    return [argument] if code is codes.ATOMIC_GROUP else []


def _beginnings(items: Any) -> Iterator[str]:
    """Yields growing texts that match the beginning of a pattern, and the contents of its groups."""
    for index, (code, argument) in enumerate(items):
        if code is not codes.LITERAL or index + 1 == len(items) or items[index + 1][0] is not codes.LITERAL:
            yield _sample(items[: index + 1])
        for inner in _inner(code, argument):
            before = _sample(items[:index])
            yield from (before + text for text in _beginnings(list(inner)))
            yield _sample(list(inner))


def _sample(items: Any) -> str:
    """Returns a text that matches, ignoring lookarounds."""
    return "".join(_sample_of(*item) for item in items)


def _sample_of(code: Any, argument: Any) -> str:
    if code is codes.LITERAL:
        return chr(argument)
    if code in (codes.NOT_LITERAL, codes.ANY, codes.IN):
        return next((letter for letter in _candidates(argument) if _accepts(code, argument, letter)), "")
    if code in (codes.ASSERT, codes.ASSERT_NOT, codes.AT, codes.GROUPREF):
        return ""
    inner = _sample(list(_inner(code, argument)[0]))
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        return inner * max(1, min(int(argument[0]), 40))
    return inner


def _candidates(argument: Any) -> Iterator[str]:
    yield from REPRESENTATIVES
    for code, value in argument if isinstance(argument, list) else ():
        if code is codes.LITERAL:
            yield chr(value)
        elif code is codes.RANGE:
            yield chr(value[0])


def _accepts(code: Any, argument: Any, letter: str) -> bool:
    matcher = CountingMatcher("")
    return matcher._accepting(code, argument)(letter)


def finding(pattern: str, flags: int = 0, anchored: bool = False, thorough: bool = False) -> Finding | None:
    """Returns a text for which a pattern needs more than a linear number of steps; None if no such text was found.

    Args:
      pattern: text of the pattern, as for `re.compile`.
      flags: flags of `re`.
      anchored: whether the pattern is only tried at the beginning of a text.
      thorough: whether to try many more texts.
    """
    matcher = CountingMatcher(pattern, flags, most=2000 * LENGTH)
    for text in texts(pattern, flags, thorough):
        steps = _all_steps(matcher, text, anchored)
        first, second = steps[1] - steps[0], steps[2] - steps[1]
        if steps[2] == TOO_MANY or (second > FEW and second > GROWTH * first):
            return Finding(text, steps)
    return None


def _all_steps(matcher: CountingMatcher, text: Text, anchored: bool) -> tuple[int, int, int]:
    """Returns the steps for one, two and four times a length; stops doubling after too many steps."""
    once = _steps(matcher, text.repeated(LENGTH), anchored)
    twice = TOO_MANY if once == TOO_MANY else _steps(matcher, text.repeated(2 * LENGTH), anchored)
    return once, twice, TOO_MANY if twice == TOO_MANY else _steps(matcher, text.repeated(4 * LENGTH), anchored)


def _steps(matcher: CountingMatcher, text: str, anchored: bool) -> int:
    try:
        return matcher.search_all(text, anchored)
    except TooManyStepsError:
        return TOO_MANY


def flags_of(pattern: re.Pattern[str]) -> int:
    """Returns the flags that were passed to `re.compile`."""
    return pattern.flags & ~re.UNICODE
