"""The sentences of the checks, in the language of the lesson.

The texts are in `static/words/*.json`, section `checks`. The kernel chooses the language as the stills do: `NBTF_LANG`,
otherwise the language in the metadata of the notebook that the kernel belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from nbtf.notebook import catalogue

_SECTION = "checks"
_LINES = "right", "notYet"
"""The texts of whole lines, which the others are part of."""
_SHORTEST = 3
"""Characters; texts with fewer of their own, such as `, `, do not identify a sentence."""
_PLACE = re.compile(r"\{(\w+)\}|\[(?:([^|\[\]]*)\|)?([^\[\]]*)\]")
_WORD = r"[\w:/]+"
_PATTERNS = {
    **{"n": r"[\d,]+", "op": r"\w+", "device": rf"{_WORD}|no device", "letter": r"\w"},
    **{"text": ".+", "message": ".*", "first": rf"(?:{_WORD}, )*{_WORD}", "last": _WORD},
}
"""Regular expressions of placeholders; others stand for any text within a sentence."""
_LISTS = frozenset({"devices", "expected", "first", "got", "names", "places", "shares"})
"""Placeholders that stand for lists."""
_IN_SENTENCE = r"(?:(?![.?] [A-Z]).)+?"


def phrase(name: str, /, **values: object) -> str:
    """Returns a text in the language of the lesson.

    Args:
      name: its key in the catalogue.
      **values: the values of its placeholders.

    >>> phrase("sameResult", n=2, device="GPU:1")
    '2 copies, the same result, on GPU:1.'
    """
    return catalogue.filled(catalogue.words(_SECTION)[name], **values)


def listed(items: Iterable[str]) -> str:
    """Returns items separated by commas."""
    return phrase("comma").join(items)


def in_language(text: str, language: str) -> str:
    """Returns the answers of a check, printed in English, in another language.

    Values inside an answer are translated as well; all other text stays unchanged.

    Args:
      text: lines of English.
      language: such as `ja`.

    >>> print(in_language("Not yet: it is not (a). Run the next cell and see.", "ja"))
    まだ正解ではありません：(a)ではありません。次のセルを実行して確かめましょう。
    """  # noqa: RUF002
    if catalogue.language_of(language) == catalogue.ENGLISH:
        return text
    return "\n".join(_translated(line, catalogue.language_of(language)) for line in text.split("\n"))


def _translated(text: str, language: str, is_list: bool = False) -> str:
    """Returns an answer or one of its values in another language; unchanged if no text of the catalogue matches it."""
    words: dict[str, list[str]] = catalogue.read(language)[_SECTION]
    for pattern, name in _patterns():
        match = pattern.fullmatch(text)
        if match is not None:
            values = {
                key: _translated(value, language, is_list=key in _LISTS) for key, value in match.groupdict().items()
            }
            return catalogue.filled(words[name][1], **values)
    for end in re.finditer(r"(?<=[.?]) ", text):
        both = text[: end.start()], text[end.end() :]
        first, second = (_translated(sentence, language) for sentence in both)
        if first != both[0] and second != both[1]:
            return catalogue.filled(words["sentences"][1], first=first, second=second)
    comma = words["comma"]
    items = text.split(comma[0])
    translated = [_translated(item, language) for item in items] if len(items) > 1 else items
    return comma[1].join(translated) if is_list or translated != items else text


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    """Returns what each English text looks like when filled in: whole lines first, then the longest texts."""
    texts: dict[str, str] = catalogue.read(catalogue.ENGLISH)[_SECTION]
    lengths = {name: len(_PLACE.sub("", text)) for name, text in texts.items()}
    names = [name for name in texts if lengths[name] >= _SHORTEST]
    names.sort(key=lambda name: (name not in _LINES, -lengths[name]))
    return [(_pattern(texts[name]), name) for name in names]


def _pattern(text: str) -> re.Pattern[str]:
    written, end = "", 0
    for match in _PLACE.finditer(text):
        written += re.escape(text[end : match.start()])
        end = match.end()
        if match[1]:
            back_reference = f"(?P={match[1]})"
            is_repeated = f"(?P<{match[1]}>" in written
            written += back_reference if is_repeated else f"(?P<{match[1]}>{_PATTERNS.get(match[1], _IN_SENTENCE)})"
        else:
            written += f"(?:{re.escape(match[2] or '')}|{re.escape(match[3])})"
    return re.compile(written + re.escape(text[end:]))
