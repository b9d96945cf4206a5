"""Counts the steps of a pattern in a text, with a matcher that backtracks as Python's `re` does.

It interprets the parse tree of `re`. Each tested character, position or branch is a step.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

parser: Any = re._parser  # pyright: ignore[reportAttributeAccessIssue]
codes: Any = re._constants  # pyright: ignore[reportAttributeAccessIssue]

After = Callable[[int], int | None]
"""Matches the rest of the pattern from a position; returns the end of the whole match, or None."""

Node = Callable[[int, After], int | None]
"""Matches at a position, then the rest of the pattern."""


class TooManyStepsError(Exception):
    """The pattern has exceeded its number of steps."""


class CountingMatcher:
    """A pattern that is matched step by step."""

    def __init__(self, pattern: str, flags: int = 0, most: int = 10**6) -> None:
        """Parses the pattern.

        Args:
          pattern: text of the pattern, as for `re.compile`.
          flags: flags of `re`.
          most: maximum number of steps in one text.
        """
        self._tree = parser.parse(pattern, flags)
        self._flags = self._tree.state.flags
        self._most = most
        self._root = self._sequence(list(self._tree))
        self.steps = 0

    def search_all(self, text: str, anchored: bool = False) -> int:
        """Returns the number of steps to find all matches, as `re.sub` does, or the match at the beginning.

        Raises:
          TooManyStepsError: if the number exceeds the maximum.
        """
        self._text, self.steps, self._groups = text, 0, dict[int, tuple[int, int]]()
        self.spans: list[tuple[int, int]] = []
        limit, start = sys.getrecursionlimit(), 0
        sys.setrecursionlimit(10**5)  # a repeated group is matched recursively
        try:
            while start <= len(text):
                self._tick()
                end = self._root(start, lambda place: place)
                if end is not None:
                    self.spans.append((start, end))
                if anchored:
                    break
                start = end if end is not None and end > start else start + 1
        finally:
            sys.setrecursionlimit(limit)
        return self.steps

    def _tick(self) -> None:
        self.steps += 1
        if self.steps > self._most:
            raise TooManyStepsError

    def _sequence(self, items: Sequence[Any]) -> Node:
        nodes = [self._node(*item) for item in items]

        def match(start: int, after: After, index: int = 0) -> int | None:
            if index == len(nodes):
                return after(start)
            return nodes[index](start, lambda place: match(place, after, index + 1))

        return match

    def _node(self, code: Any, argument: Any) -> Node:
        if code in _CHARACTERS:
            return self._character(code, argument)
        return getattr(self, f"_{str(code).lower()}")(argument)

    def _character(self, code: Any, argument: Any) -> Node:
        accepts = self._accepting(code, argument)

        def match(start: int, after: After) -> int | None:
            self._tick()
            return after(start + 1) if start < len(self._text) and accepts(self._text[start]) else None

        return match

    def _accepting(self, code: Any, argument: Any) -> Callable[[str], bool]:
        """Returns the characters that a character class accepts, determined with `re` itself."""
        letter = {codes.LITERAL: chr, codes.NOT_LITERAL: chr}.get(code, lambda _: "")(argument)
        folded = bool(self._flags & re.IGNORECASE)
        if code is codes.LITERAL:
            return lambda character: character == letter or (folded and character.lower() == letter.lower())
        if code is codes.NOT_LITERAL:
            return lambda character: character != letter
        if code is codes.ANY:
            return lambda character: character != "\n" or bool(self._flags & re.DOTALL)
        negated = argument[0][0] is codes.NEGATE
        parts = [self._accepting_part(*part) for part in argument if part[0] is not codes.NEGATE]
        return lambda character: negated is not any(part(character) for part in parts)

    def _accepting_part(self, code: Any, argument: Any) -> Callable[[str], bool]:
        if code is codes.RANGE:
            return lambda character: argument[0] <= ord(character) <= argument[1]
        if code is codes.CATEGORY:
            pattern = re.compile(_CATEGORIES[str(argument)], self._flags & re.ASCII)
            return lambda character: pattern.match(character) is not None
        return lambda character: ord(character) == argument

    def _max_repeat(self, argument: Any) -> Node:
        least, most, items = argument
        if len(items) == 1 and items[0][0] in _CHARACTERS:
            return self._repeated_character(least, most, items[0])
        return self._repeated(least, most, self._sequence(list(items)), greedy=True)

    def _min_repeat(self, argument: Any) -> Node:
        least, most, items = argument
        return self._repeated(least, most, self._sequence(list(items)), greedy=False)

    def _possessive_repeat(self, argument: Any) -> Node:
        return self._alone(self._max_repeat(argument))

    def _atomic_group(self, items: Any) -> Node:
        return self._alone(self._sequence(list(items)))

    def _alone(self, node: Node) -> Node:
        """Returns an atomic node, which is not tried again once it has matched."""

        def match(start: int, after: After) -> int | None:
            end = node(start, lambda place: place)
            return None if end is None else after(end)

        return match

    def _repeated_character(self, least: int, most: int, item: Any) -> Node:
        accepts = self._accepting(*item)

        def match(start: int, after: After) -> int | None:
            end = start
            while end < len(self._text) and end - start < int(most) and accepts(self._text[end]):
                self._tick()
                end += 1
            for place in range(end, start + least - 1, -1):
                self._tick()
                if (result := after(place)) is not None:
                    return result
            return None

        return match

    def _repeated(self, least: int, most: int, node: Node, greedy: bool) -> Node:
        def match(start: int, after: After, count: int = 0) -> int | None:
            def again(place: int) -> int | None:
                return None if place == start and count >= least else match(place, after, count + 1)

            self._tick()
            if count < least:
                return node(start, again)
            repeated = (lambda: node(start, again)) if count < int(most) else (lambda: None)
            first, second = (repeated, lambda: after(start)) if greedy else (lambda: after(start), repeated)
            result = first()
            return second() if result is None else result

        return match

    def _subpattern(self, argument: Any) -> Node:
        group, added, removed, items = argument
        node = self._with_flags(added, removed, items)

        def match(start: int, after: After) -> int | None:
            def remember(place: int) -> int | None:
                before = self._groups.get(group)
                self._groups[group] = start, place
                result = after(place)
                if result is None and before is not None:
                    self._groups[group] = before
                return result

            return node(start, remember)

        return match if group is not None else node

    def _with_flags(self, added: int, removed: int, items: Any) -> Node:
        before, self._flags = self._flags, (self._flags | added) & ~removed
        try:
            return self._sequence(list(items))
        finally:
            self._flags = before

    def _branch(self, argument: Any) -> Node:
        branches = [self._sequence(list(branch)) for branch in argument[1]]

        def match(start: int, after: After) -> int | None:
            for branch in branches:
                self._tick()
                if (result := branch(start, after)) is not None:
                    return result
            return None

        return match

    def _assert(self, argument: Any) -> Node:
        return self._look(argument, wanted=True)

    def _assert_not(self, argument: Any) -> Node:
        return self._look(argument, wanted=False)

    def _look(self, argument: Any, wanted: bool) -> Node:
        direction, items = argument
        node, width = self._sequence(list(items)), items.getwidth()[0] if direction < 0 else 0

        def match(start: int, after: After) -> int | None:
            self._tick()
            place = start - width
            matches = place >= 0 and node(place, lambda end: end) is not None
            return after(start) if matches is wanted else None

        return match

    def _at(self, code: Any) -> Node:
        name = str(code)
        if self._flags & re.MULTILINE:
            name = {"AT_BEGINNING": "AT_BEGINNING_LINE", "AT_END": "AT_END_LINE"}.get(name, name)
        pattern = re.compile(_PLACES[name], self._flags & re.ASCII)

        def match(start: int, after: After) -> int | None:
            self._tick()
            return after(start) if pattern.match(self._text, start) is not None else None

        return match

    def _groupref(self, group: int) -> Node:
        def match(start: int, after: After) -> int | None:
            begin, end = self._groups.get(group, (0, 0))
            self.steps += end - begin
            self._tick()
            same = self._text.startswith(self._text[begin:end], start)
            return after(start + end - begin) if same else None

        return match


_CHARACTERS = (codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN)
_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}
_PLACES = {
    "AT_BEGINNING": r"\A",
    "AT_BEGINNING_STRING": r"\A",
    "AT_BEGINNING_LINE": r"(?m:^)",
    "AT_END": r"$",
    "AT_END_LINE": r"(?m:$)",
    "AT_END_STRING": r"\Z",
    "AT_BOUNDARY": r"\b",
    "AT_NON_BOUNDARY": r"\B",
}
