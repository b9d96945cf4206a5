"""Which words do the live views and the stills have, in which language?

`static/words/en.json` has every visible text of the views, one section for each part of them, and `terms`, the words
that mean one thing each. A file for another language has the same keys, each with the English text that was translated
and the translation, so that a translation whose original has changed is found; its `terms` say how the terms are
called in it. Texts with {names} are whole sentences, completed in the browser: each language has its own order. What
English says of one and of several stands in brackets after the number: "{n} cop[y|ies]", "{n} op[s]".

Python tells reasons, places and cards in English, as it prints them. The browser knows them again by the English text
(`reasons`, `places`, `cards`), so messages are the same in every language.

A view speaks the language that `NBTF_LANG` says, else that of the translated lesson in which it stands, however that
was opened, else that of the page (`lang` of its root element, which JupyterLab sets to that of its menus); not the
browser's own, since a view is to speak as what surrounds it. It has the English words with it and asks for others,
which the kernel sends and a notebook saves: nobody else carries them. A still, which no page can ask, has the words of
`NBTF_LANG` or of the lesson, else English ones.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Set
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from nbtf._storage.reading import read_bytes

ENGLISH = "en"
LANGUAGES = ("ja", "zh_CN")
"""Others than English; a language is added by its file and its name here."""
VARIABLE = "NBTF_LANG"
NOTEBOOK_VARIABLE = "JPY_SESSION_NAME"
"""Jupyter's server tells a kernel with it the path of its notebook."""

_LARGEST_LESSON = 2**20
"""Bytes; what is larger is no lesson of ours, and is not read."""

_USED = re.compile(r'\bWORDS\.(\w+)|\b(?:translated|parsed)\("(\w+)"')
"""How a module of the views names a section."""
_PIECE = re.compile(r"\{(?P<name>\w+)\}|\[(?:(?P<one>[^|\[\]]*)\|)?(?P<several>[^\[\]]*)\]")
"""What stands in a text for a value, and for a word in the singular or plural."""
_TRADITIONAL = re.compile(r"zh-(?!hans).*\b(?:hant|tw|hk|mo)\b")
"""Chinese whose readers get English: nobody has translated for them."""


def asked_for() -> str:
    """Returns the language that the environment or the notebook asks for; English for an unknown one.

    Empty where the page decides.
    """
    requested = os.environ.get(VARIABLE, "") or _language_in(os.environ.get(NOTEBOOK_VARIABLE, ""))
    return language_of(requested) if requested else ""


@cache
def _language_in(path: str) -> str:
    """Returns the language that a translated lesson says it is in; empty for any other file."""
    try:
        if not path or Path(path).stat().st_size > _LARGEST_LESSON:
            return ""
        language: Any = json.loads(read_bytes(path))["metadata"]["nbtf"]["language"]
    except (OSError, ValueError, RecursionError, LookupError, TypeError):
        return ""
    return language if isinstance(language, str) else ""


def language_of(name: str) -> str:
    """Returns the language that a page or an environment names; English where there is no translation.

    >>> [language_of(name) for name in ("ja", "ja-JP", "zh", "zh_CN.UTF-8", "zh-TW", "en-US", "fr", "")]
    ['ja', 'ja', 'zh_CN', 'zh_CN', 'en', 'en', 'en', 'en']
    """
    text = name.lower().replace("_", "-")
    if _TRADITIONAL.match(text):
        return ENGLISH
    first = re.split("[-.]", text)[0]
    return next((language for language in LANGUAGES if language.partition("_")[0] == first), ENGLISH)


def sections_in(script: str) -> frozenset[str]:
    """Returns the sections that a program of the views uses."""
    return frozenset(section or quoted for section, quoted in _USED.findall(script))


def module(sections: Set[str]) -> str:
    """Returns the English texts of some sections, as a module of the views."""
    english = {name: words for name, words in read(ENGLISH).items() if name in sections}
    return f"export const ENGLISH = {json.dumps(english, ensure_ascii=False, separators=(',', ':'))};\n"


def translation(name: str, sections: Set[str]) -> dict[str, Any] | None:
    """Returns the texts of some sections in the language that is named, in the order of the English ones.

    Returns:
      The language as a page names it and the texts; None where the words in English will do.
    """
    language = language_of(name)
    if language == ENGLISH:
        return None
    texts = [both[1] for path, both in leaves(read(language)) if path[0] in sections]
    return {"lang": language.replace("_", "-"), "texts": texts}


def words(section: str) -> dict[str, str]:
    """Returns the texts of a section in the language that the environment asks for, else in English."""
    language = asked_for() or ENGLISH
    texts = read(language)[section]
    return texts if language == ENGLISH else {name: both[1] for name, both in texts.items()}


def filled(text: str, /, **values: object) -> str:
    """Returns a text with its values in place of their {names}, as `fill` in `words.js` writes them.

    Numbers have separators. Between the words of `[one|several]`, or nothing and those of `[s]`, the value before them
    chooses.

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


@cache
def read(language: str) -> dict[str, Any]:
    """Returns the catalogue of a language as its file has it."""
    file = files("nbtf.notebook") / "static" / "words" / f"{language}.json"
    return json.loads(file.read_text(encoding="utf-8"))


def leaves(tree: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yields what a catalogue says, in order, with the keys that lead there."""
    for name, branch in tree.items():
        if isinstance(branch, dict):
            yield from leaves(branch, (*path, name))
        else:
            yield (*path, name), branch
