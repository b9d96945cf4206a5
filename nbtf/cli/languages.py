r"""Which parts of a notebook are translated, and where are the translations? Paths, marks, and the pieces of text.

The Japanese catalogue of `notebooks/01.ipynb` is `notebooks/locale/ja/LC_MESSAGES/01.po`, and the translated notebook
is `notebooks/ja/01.ipynb`. A message is a paragraph, a list, a table or a heading: the text between blank lines.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbtf.notebook.checks.wording import in_language

_BLANK = re.compile(r"(\n[ \t]*\n\s*)")
_FENCE = "```"
_WORD = re.compile(r"[^\W\d_]{2,}")
_TAG = re.compile(r"<[^<>]*>")


def catalogue_of(notebook: Path, language: str) -> Path:
    """Returns the path of a notebook's catalogue in a language such as `ja` or `zh_CN`."""
    return notebook.parent / "locale" / language / "LC_MESSAGES" / f"{notebook.stem}.po"


def translation_of(notebook: Path, language: str) -> Path:
    """Returns the path of the notebook in a language."""
    return notebook.parent / language / notebook.name


def original_of(path: Path, notebook: Any) -> Path | None:
    """Returns the notebook from which this one was translated; None if it is not a translation."""
    return path.parent.parent / path.name if language_of(notebook) else None


def language_of(notebook: Any) -> str:
    """Returns the language recorded in a translated notebook; empty for an original."""
    return str(notebook.metadata.get("nbtf", {}).get("language", ""))


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    r"""Yields the pieces of a text cell, blank lines included, each with whether it is to be translated.

    >>> [piece for piece, is_text in pieces("# Title\n\n```python\nx = 1\n\ny = 2\n```\n\nWords.") if is_text]
    ['# Title', 'Words.']
    """
    code = ""
    for piece in _BLANK.split(text):
        code += piece
        if code.count(_FENCE) % 2:
            continue  # the blank line is inside a code block
        block, code = code, ""
        yield block, _FENCE not in block and _WORD.search(_TAG.sub("", block)) is not None
    if code:
        yield code, False


def answers_translated(notebook: Any, language: str) -> None:
    """Translates the stored answers of a notebook's `%check` cells, in place.

    A check prints its answer in the language of the lesson, so a translation stores what it would print there.

    Args:
      notebook: a copy of the original.
      language: such as `ja`.
    """
    for cell in notebook.cells:
        if {"check", "choice"} & set(cell.metadata.get("nbtf", {})):
            for output in cell.get("outputs", ()):
                if output.get("output_type") == "stream":
                    output["text"] = in_language(output["text"], language)


def differs(original: Any, translation: Any) -> bool:
    """Returns whether a translation's code, outputs or marks differ from its original's, apart from checks' answers."""
    original = copy.deepcopy(original)
    answers_translated(original, language_of(translation))

    def shared(notebook: Any) -> list[Any]:
        return [
            {name: value for name, value in cell.items() if name != "source" or cell.cell_type == "code"}
            for cell in notebook.cells
        ]

    return shared(original) != shared(translation)
