"""Which ids does a page give to its parts, and how are they numbered, so that ids drawn at random are the same?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_ID = re.compile(r"""\bid=(?:"([^"\n]+)"|'([^'\n]+)')""")
_NAME = re.compile(r"[\w-]+")
_LETTER = re.compile(r"[\w-]")
_NAME_OR_SIGN = re.compile(r"[\w-]+|[^\w-]")

LONGEST_ID = 256
"""Characters: what is longer is no id that a program has drawn."""


def numbers_of_ids(page: str) -> dict[str, str]:
    """Returns the ids of a page in their order, each with what it is compared as.

    Args:
      page: HTML or SVG.

    >>> numbers_of_ids('<i id="a1"></i><i id="b2"></i>')
    {'a1': 'ID-1', 'b2': 'ID-2'}
    """
    numbers: dict[str, str] = {}
    for match in _ID.finditer(page):
        name = match[1] or match[2]
        if len(name) <= LONGEST_ID:
            numbers.setdefault(name, f"ID-{len(numbers) + 1}")
    return numbers


def with_numbered_ids(page: str, numbers: Mapping[str, str]) -> str:
    """Returns a page, or a part of one, in which every id and what refers to it is numbered.

    Args:
      page: HTML or SVG.
      numbers: of `numbers_of_ids`.

    >>> with_numbered_ids('<i id="a1"></i><b href="#a1">', {"a1": "ID-1"})
    '<i id="ID-1"></i><b href="#ID-1">'
    """
    lengths = sorted({len(name) for name in numbers if not _NAME.fullmatch(name)}, reverse=True)
    if lengths:
        return "".join(_pieces(page, numbers, lengths))
    return _NAME.sub(lambda match: numbers.get(match[0], match[0]), page) if numbers else page


def _pieces(page: str, numbers: Mapping[str, str], lengths: list[int]) -> Iterator[str]:
    """Yields a page in pieces, where some ids have other signs than names have, such as `:r1:`.

    Such an id is looked up at each place where one may begin; the longest counts.
    """
    start = end = 0
    while (match := _NAME_OR_SIGN.search(page, end)) is not None:
        name = _id_at(page, match, numbers, lengths)
        if name:
            yield page[start : match.start()]
            yield numbers[name]
            start = end = match.start() + len(name)
        else:
            end = match.end()
    yield page[start:]


def _id_at(page: str, match: re.Match[str], numbers: Mapping[str, str], lengths: list[int]) -> str:
    """Returns the id that begins at a place; an empty text where a letter before or behind it makes it another word."""
    begin = match.start()
    if begin and _LETTER.match(page, begin - 1):
        return ""
    for length in lengths:
        candidate = page[begin : begin + length]
        if candidate in numbers and not _LETTER.match(page, begin + length):
            return candidate
    return match[0] if match[0] in numbers else ""
