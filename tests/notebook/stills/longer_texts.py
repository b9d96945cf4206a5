"""Pictures with longer texts than those of any language: is there space for other translations?"""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager

from nbtf.notebook import catalogue
from nbtf.notebook.stills import drawing


def lengthened(text: str) -> str:
    """A text with 40 % more letters."""
    return text + "x" * round(0.4 * len(text))


@contextmanager
def longer_texts(*sections: str) -> Generator[None]:
    """Draws with longer texts of some sections in the environment's language inside the block."""
    language = catalogue.asked_for() or catalogue.ENGLISH
    used = catalogue.sections_in(drawing._source())
    leaves = [(path, text) for path, text in catalogue.leaves(catalogue.read(language)) if path[0] in used]
    texts = [
        lengthened(words) if path[0] in sections else words
        for path, text in leaves
        for words in [text if language == catalogue.ENGLISH else text[1]]
    ]
    program = drawing._program()
    program.speak(json.dumps({"lang": language, "texts": texts}))
    drawing._LOADED.language = language
    try:
        yield
    finally:
        program.speak(json.dumps(catalogue.translation(language, used)))
