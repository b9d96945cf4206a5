"""Warns about pages that are not fully translated, which fails the build."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util import logging

ENGLISH = ("reference/", "lessons/0", "lessons/1")
"""The reference is in English; `nbtf notebooks translate` translates the lessons."""


FOLDED = {
    "en": ("Show", "Hide"),
    "ja": ("表示する", "隠す"),
    "zh_CN": ("显示", "隐藏"),
}


def tell_untranslated(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Warns about a page with an untranslated text; without a catalogue, the texts of a page have no mark at all."""
    if app.config.language == "en" or page.startswith(ENGLISH):
        return
    texts = [node for node in doctree.findall(nodes.Element) if "translated" in node]
    missing = [node for node in texts if is_english(node)]
    if missing or not texts:
        logging.getLogger(__name__).warning(
            "%d of %d texts are not translated", len(missing), len(texts), location=page
        )


def is_english(node: nodes.Element) -> bool:
    """Tells whether a text is not translated; for a picture, Sphinx marks only its file, so its alt text decides."""
    return node.get("alt", "").isascii() if isinstance(node, nodes.image) else not node["translated"]


def name_folded(app: Sphinx, config: Config) -> None:
    """Labels, in the page's language, the bar that opens code or outputs that a lesson has folded."""
    config["nb_code_prompt_show"], config["nb_code_prompt_hide"] = FOLDED[config.language]


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers both with Sphinx."""
    app.connect("config-inited", name_folded)
    app.connect("doctree-resolved", tell_untranslated)
    return {"parallel_read_safe": True}
