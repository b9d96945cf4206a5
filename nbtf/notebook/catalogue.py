"""Which texts do the live views and the stills have, in each language?

`static/words/en.json` has every visible text of the views, with one section for each part of them. Its `terms` list
words that always have the same meaning. A file for another language has the same keys, each with the English text that
was translated and the translation, so that outdated translations are found; its `terms` are the translated ones. Texts
with {names} are whole sentences, completed in the browser, because word order differs between languages. English
singular and plural forms are in brackets after the number: "{n} cop[y|ies]", "{n} op[s]".

Python sends reasons, places and cards in English, as it prints them. The browser recognises them by the English text
(`reasons`, `places`, `cards`), so messages are the same in every language.

A view uses the language in `NBTF_LANG`, otherwise the language of the translated lesson that contains it, however that
was opened, otherwise the language of the page (`lang` of its root element, which JupyterLab sets to that of its menus).
It ignores the browser's own language, because a view should match its surroundings. A view contains the English texts
and requests others, which the kernel sends and a notebook saves; other pages do not carry them. A still cannot ask a
page, so it uses `NBTF_LANG` or the language of the lesson, otherwise English.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Set
from functools import cache
from pathlib import Path
from typing import Any

from nbtf._own_files import own_json
from nbtf._storage.reading import read_bytes

ENGLISH = "en"
LANGUAGES = ("ja", "zh_CN")
"""Languages other than English; to add one, add its file, and its name here."""
VARIABLE = "NBTF_LANG"
NOTEBOOK_VARIABLE = "JPY_SESSION_NAME"
"""Jupyter's server passes the path of its notebook to a kernel in this variable."""

_LARGEST_LESSON = 2**20
"""Bytes; a larger file is not one of our lessons, and is not read."""

_USED = re.compile(r'\bWORDS\.(\w+)|\b(?:translated|parsed)\("(\w+)"')
"""How a module of the views refers to a section."""
_PIECE = re.compile(r"\{(?P<name>\w+)\}|\[(?:(?P<one>[^|\[\]]*)\|)?(?P<several>[^\[\]]*)\]")
"""Placeholders in a text: for a value, and for a singular or plural form."""
_TRADITIONAL = re.compile(r"zh-(?!hans).*\b(?:hant|tw|hk|mo)\b")
"""Variants of Chinese without a translation; their readers get English."""


def asked_for() -> str:
    """Returns the language that the environment or the notebook requests; English for an unknown one.

    Empty if the page decides.
    """
    requested = os.environ.get(VARIABLE, "") or _language_in(os.environ.get(NOTEBOOK_VARIABLE, ""))
    return language_of(requested) if requested else ""


@cache
def _language_in(path: str) -> str:
    """Returns the language recorded in a translated lesson; empty for any other file."""
    try:
        if not path or Path(path).stat().st_size > _LARGEST_LESSON:
            return ""
        language: Any = json.loads(read_bytes(path))["metadata"]["nbtf"]["language"]
    except (OSError, ValueError, RecursionError, LookupError, TypeError):
        return ""
    return language if isinstance(language, str) else ""


def language_of(name: str) -> str:
    """Returns the language that a page or an environment names; English without a translation.

    >>> [language_of(name) for name in ("ja", "ja-JP", "zh", "zh_CN.UTF-8", "zh-TW", "en-US", "fr", "")]
    ['ja', 'ja', 'zh_CN', 'zh_CN', 'en', 'en', 'en', 'en']
    """
    text = name.lower().replace("_", "-")
    if _TRADITIONAL.match(text):
        return ENGLISH
    first = re.split("[-.]", text)[0]
    return next((language for language in LANGUAGES if language.partition("_")[0] == first), ENGLISH)


def sections_in(script: str) -> frozenset[str]:
    """Returns the sections that a module of the views uses."""
    return frozenset(section or quoted for section, quoted in _USED.findall(script))


def module(sections: Set[str]) -> str:
    """Returns the English texts of some sections, as a module of the views."""
    english = {name: words for name, words in read(ENGLISH).items() if name in sections}
    return f"export const ENGLISH = {json.dumps(english, ensure_ascii=False, separators=(',', ':'))};\n"


def translation(name: str, sections: Set[str]) -> dict[str, Any] | None:
    """Returns the texts of some sections in the named language, in the order of the English ones.

    Returns:
      The language as a page names it and the texts; None if the English texts are to be used.
    """
    language = language_of(name)
    if language == ENGLISH:
        return None
    texts = [both[1] for path, both in leaves(read(language)) if path[0] in sections]
    return {"lang": language.replace("_", "-"), "texts": texts}


def words(section: str) -> dict[str, str]:
    """Returns the texts of a section in the requested language, otherwise in English."""
    language = asked_for() or ENGLISH
    texts = read(language)[section]
    return texts if language == ENGLISH else {name: both[1] for name, both in texts.items()}


def filled(text: str, /, **values: object) -> str:
    """Returns a text with values in place of its {names}, as `fill` in `words.js` does.

    Numbers get separators. The value before `[one|several]` or `[s]` chooses between singular and plural.

    >>> [filled("{n} op[s], {copies} cop[y|ies]", n=n, copies=n) for n in (0, 1, 1234)]
    ['0 ops, 0 copies', '1 op, 1 copy', '1,234 ops, 1,234 copies']
    """
    written = ""

    def piece(match: re.Match[str]) -> str:
        nonlocal written
        if match["name"] is None:
            return (match["one"] or "") if written == "1" else match["several"]
        value = values[match["name"]]
        written = f"{value:,}" if isinstance(value, int) else str(value)
        return written

    return _PIECE.sub(piece, text)


def read(language: str) -> dict[str, Any]:
    """Returns the contents of a language's catalogue file."""
    return own_json("nbtf.notebook", f"static/words/{language}.json")


def leaves(tree: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yields the texts of a catalogue in order, with the keys that lead to them."""
    for name, branch in tree.items():
        if isinstance(branch, dict):
            yield from leaves(branch, (*path, name))
        else:
            yield (*path, name), branch
