"""Which ids are in a page, and how are they numbered, so that randomly chosen ids compare as equal?"""

from __future__ import annotations

import re
from collections.abc import Iterator

_ID = re.compile(r"""\bid=(?:"([^"\n]+)"|'([^'\n]+)')""")
_NAME = re.compile(r"[\w-]+")
_LETTER = re.compile(r"[\w-]")
_NAME_OR_SIGN = re.compile(r"[\w-]+|[^\w-]")

LONGEST_ID = 256
"""Characters; a longer id is not numbered."""


class PageIds:
    """The ids of a page, each with the number that replaces it for comparison.

    >>> ids = PageIds('<i id="a1"></i><i id="b2"></i>')
    >>> ids.numbers
    {'a1': 'ID-1', 'b2': 'ID-2'}
    >>> ids.numbered('<b href="#a1">')
    '<b href="#ID-1">'
    """

    def __init__(self, page: str) -> None:
        """Finds the ids.

        Args:
          page: HTML or SVG.
        """
        self.numbers: dict[str, str] = {}
        for match in _ID.finditer(page):
            name = match[1] or match[2]
            if len(name) <= LONGEST_ID:
                self.numbers.setdefault(name, f"ID-{len(self.numbers) + 1}")
        with_signs = {len(name) for name in self.numbers if not _NAME.fullmatch(name)}
        self._lengths = sorted(with_signs, reverse=True)

    def numbered(self, text: str) -> str:
        """Returns a part of the page with every id and every reference to it numbered.

        Args:
          text: all or part of the page.
        """
        if self._lengths:
            return "".join(self._pieces(text))
        return _NAME.sub(lambda match: self.numbers.get(match[0], match[0]), text) if self.numbers else text

    def _pieces(self, text: str) -> Iterator[str]:
        """Yields a text in pieces, split at ids that contain characters other than those of names, such as `:r1:`.

        Such an id is looked up wherever one may begin; the longest match counts.
        """
        start = end = 0
        while (match := _NAME_OR_SIGN.search(text, end)) is not None:
            name = self._id_at(text, match)
            if name:
                yield text[start : match.start()]
                yield self.numbers[name]
                start = end = match.start() + len(name)
            else:
                end = match.end()
        yield text[start:]

    def _id_at(self, text: str, match: re.Match[str]) -> str:
        """Returns the id that begins at a position; empty if an adjacent letter makes it part of another word."""
        begin = match.start()
        if begin and _LETTER.match(text, begin - 1):
            return ""
        for length in self._lengths:
            candidate = text[begin : begin + length]
            if candidate in self.numbers and not _LETTER.match(text, begin + length):
                return candidate
        return match[0] if match[0] in self.numbers else ""
