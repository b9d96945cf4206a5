"""The colour of each token, for light and dark paper.

Each op and the memory it leaves behind share one hue. Fills of ops and of memory differ by at least 9 in OKLab x 100
for every kind of colour vision. Their contrast with the paper is at least 3:1, and that of texts on them at least
4.5:1. Copies never differ by hue alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from nbtf._own_files import own_json


class Colour(NamedTuple):
    """A colour for light and for dark paper."""

    light: str
    dark: str


_COLOURS = own_json("nbtf.notebook", "static/palette.json")
FILLS = {token: Colour(*colours) for token, colours in _COLOURS["fills"].items()}
"""The fills of areas."""

FILL_NAMES = tuple(FILLS)

TOKENS = FILLS | {token: Colour(*colours) for token, colours in _COLOURS["others"].items()}
"""All tokens; `on-fwd` is the colour of text on `fwd`. The fill `hatch` is lines of `line` without a background."""

OF_PHASE: Mapping[str, str] = _COLOURS["phases"]
"""The fill of ops, by phase."""

CODE_FONT = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
"""The fonts of code in pictures, as CSS."""


def text_on(fill: str) -> str:
    """Returns the token of text on a fill.

    >>> text_on("fwd"), text_on("paper")
    ('on-fwd', 'ink')
    """
    return f"on-{fill}" if f"on-{fill}" in TOKENS else "ink"


def style_sheet() -> str:
    """Returns the colours as CSS properties of a page's pictures, which follow the page's theme or the reader's."""
    colours = "".join(f"--nbtf-{token}:light-dark({colour.light},{colour.dark});" for token, colour in TOKENS.items())
    return (
        f".nbtf-picture,.nbtf-page .nbtf-view{{color-scheme:light dark;{colours}}}\n"
        '[data-jp-theme-light="true"] .nbtf-picture,.vscode-light .nbtf-picture,[data-theme="light"] .nbtf-picture'
        "{color-scheme:light}\n"
        '[data-jp-theme-light="false"] .nbtf-picture,.vscode-dark .nbtf-picture,[data-theme="dark"] .nbtf-picture'
        "{color-scheme:dark}\n"
        ".nbtf-picture text{white-space:pre;font-variant-numeric:tabular-nums}\n"
        f".nbtf-picture [font-family=monospace]{{font-family:{CODE_FONT}}}\n"  # beats a rule for all elements
    )
