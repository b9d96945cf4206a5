"""Search for languages without spaces: the index and the query are split into pairs of letters."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from sphinx.application import Sphinx
from sphinx.search import SearchLanguage

_LETTERS = "\u3040-\u30ff\u3400-\u9fff々ー"
_RUN = re.compile(rf"[{_LETTERS}]+|\w+", re.ASCII)


class PairsOfLetters(SearchLanguage):
    """A language without spaces between words: `ソフト配置` is indexed as ソフ, フト, ト配 and 配置."""

    stopwords: ClassVar[set[str]] = set()
    js_splitter_code = rf"""
var splitQuery = (query) => (query.toLowerCase().match(/[{_LETTERS}]+|[a-z0-9_]+/g) || []).flatMap((run) =>
  /[{_LETTERS}]/.test(run) && run.length > 2
    ? Array.from({{ length: run.length - 1 }}, (_, start) => run.slice(start, start + 2))
    : [run]);
"""

    def split(self, text: str) -> list[str]:
        """Returns the words of a text; each run without spaces is split into pairs of letters."""
        words: list[str] = []
        for run in _RUN.findall(text.lower()):
            is_dense = re.match(f"[{_LETTERS}]", run) and len(run) > 2
            words += [run[start : start + 2] for start in range(len(run) - 1)] if is_dense else [run]
        return words

    def word_filter(self, word: str) -> bool:
        """Keeps all words."""
        return bool(word)


def setup(app: Sphinx) -> dict[str, Any]:
    """Adds both languages to Sphinx's search."""
    app.add_search_language(type("Japanese", (PairsOfLetters,), {"lang": "ja", "language_name": "Japanese"}))
    app.add_search_language(type("Chinese", (PairsOfLetters,), {"lang": "zh", "language_name": "Chinese"}))
    return {"parallel_read_safe": True}
