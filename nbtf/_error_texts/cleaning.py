"""How does a pasted log become a text that can be searched? Without colours, prefixes, and breaks inside sentences."""

from __future__ import annotations

import html
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

LONGEST = 50 << 20
"""Characters of the longest text that is read."""

MOST_LINES = 3_000_000
"""Lines that are not empty; a text of 50 MB with more has 17 characters in each."""

_COLOURS = re.compile(r"\x1b(?:\[[0-?]{0,32}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,512}(?:\x07|\x1b\\)|[@-Z\\^_])")
_LOST_COLOURS = re.compile(r"\[(?:\d{1,3};){0,4}\d{1,3}m(?![\w.])|\[0m|\[\d{1,2}m(?=[(\w])")
"""Colours whose escape character was lost when the text was copied."""
_ESCAPED = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#x?[0-9a-fA-F]{1,6});")
_PREFIX = re.compile(r"[ \t>|│┃]{0,120}(?:\[?rank ?\d{1,5}\]?: ?|\(\w{1,40} pid=\d{1,9}\) |\d{1,3}: (?=\S))?")
_LONGEST_LINE = 4096
"""Longer lines are searched in parts, so that finding a character takes a bounded time."""
_SUFFIX = " \t|│┃\r"


class Text:
    """A text in lines without the empty ones, and the same text without spaces, in which sentences are searched."""

    def __init__(self, text: str) -> None:
        """Prepares a text.

        Raises:
          ValueError: if it has more than `LONGEST` characters, or more than `MOST_LINES` lines that are not empty.
        """
        if len(text) > LONGEST:
            raise ValueError(
                f"The text has {len(text):,} characters. Expected at most {LONGEST:,}. Pass its last part."
            )
        text = _COLOURS.sub("", text)
        text = _LOST_COLOURS.sub("", text)
        if "&" in text and _ESCAPED.search(text):
            text = html.unescape(text)
        text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\xa0", " ")
        self.lines: list[str] = []
        self._numbers = array("q")
        for number, line in _lines(text):
            for start in range(0, len(line), _LONGEST_LINE):
                self.lines.append(line[start : start + _LONGEST_LINE])
                self._numbers.append(number)
            if len(self.lines) > MOST_LINES:
                raise ValueError(f"The text has more than {MOST_LINES:,} lines. Pass its last part.")
        pieces = ["".join(_without_prefix(line).split()) for line in self.lines]
        self._ends = array("q", accumulate(map(len, pieces)))
        self.squeezed: str = "".join(pieces)

    def number_at(self, offset: int) -> int:
        """Returns the number of the line, from 1, that contains a character of the squeezed text."""
        return self._numbers[self._index_at(offset)]

    def number_of(self, index: int) -> int:
        """Returns the number, from 1, of the line that contains `lines[index]`."""
        return self._numbers[index]

    def line_end(self, offset: int) -> int:
        """Returns where the line that contains a character of the squeezed text ends there."""
        return self._ends[self._index_at(offset)]

    def line_start(self, offset: int) -> int:
        """Returns where the line that contains a character of the squeezed text starts there."""
        index = self._index_at(offset)
        return self._ends[index - 1] if index else 0

    def _index_at(self, offset: int) -> int:
        return min(bisect_right(self._ends, offset), len(self.lines) - 1)

    def quote(self, start: int, end: int, longest: int = 1200) -> str:
        """Returns the part of the text between two offsets of the squeezed text, on one line."""
        end = min(end, start + longest)
        first, last = self._index_at(start), self._index_at(max(end - 1, start))
        words: list[str] = []
        for index in range(first, last + 1):
            line = _without_prefix(self.lines[index])
            begin = self._ends[index - 1] if index else 0
            words.append(_between(line, max(start - begin, 0), min(end, self._ends[index]) - begin))
        return " ".join(" ".join(words).split())


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yields the lines that are not empty, with their numbers from 1."""
    start, number = 0, 1
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        if end > start:
            yield number, text[start:end]
        start, number = end + 1, number + 1


def _without_prefix(line: str) -> str:
    match = _PREFIX.match(line)
    return line[match.end() if match else 0 :].rstrip(_SUFFIX)


def _between(line: str, start: int, end: int) -> str:
    """Returns the part of a line between its visible characters `start` and `end`; other characters are not counted."""
    count, first, last = 0, len(line), len(line)
    for index, letter in enumerate(line):
        if letter.isspace():
            continue
        if count == start and first == len(line):
            first = index
        count += 1
        if count >= end:
            last = index + 1
            break
    return line[first:last]


def pattern(readable: str) -> re.Pattern[str]:
    """Returns a pattern for squeezed texts; spaces in `readable` are left out.

    >>> bool(pattern("CUDA out of memory").match("CUDAoutofmemory"))
    True
    """
    return re.compile(readable.replace(" ", ""))
