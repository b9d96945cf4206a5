"""The colour of each token, for light and dark paper.

Each op and the memory it leaves behind share one hue. Fills of ops and of memory differ by at least 9 in OKLab x 100
for every kind of colour vision. Their contrast with the paper is at least 3:1, and that of texts on them at least
4.5:1. Copies never differ by hue alone.
"""

from __future__ import annotations

from typing import NamedTuple


class Colour(NamedTuple):
    """A colour for light and for dark paper."""

    light: str
    dark: str


FILLS = {
    "fwd": Colour("#3b6fd9", "#5a9cff"),  # forward; activations
    "bwd": Colour("#c4520a", "#ff8a3c"),  # backward; gradients
    "upd": Colour("#6d1a86", "#f3b4f2"),  # update; optimizer slots
    "wgt": Colour("#00543f", "#58d6a0"),  # weights
    "py": Colour("#2799d0", "#2f7899"),  # input; held by a name of the program
    "tmp": Colour("#8d8f8d", "#8b929b"),  # temporary, other
    "cpyf": Colour("#f7c85a", "#d9a62e"),  # the inside a copy
}
"""The fills of areas."""

_ON_DARK, _ON_LIGHT = Colour("#ffffff", "#0b0e14"), Colour("#10131a", "#0b0e14")

TOKENS = FILLS | {
    **{f"on-{name}": _ON_DARK for name in ("fwd", "bwd", "upd", "wgt")},
    "on-py": Colour("#10131a", "#ffffff"),
    "on-tmp": _ON_LIGHT,
    "on-cpyf": Colour("#33240a", "#0b0e14"),
    "cpy": Colour("#8a6200", "#e3b341"),  # the outline of a copy
    "hot": Colour("#c5221f", "#ff7b72"),  # failed, or not as requested
    "ok": Colour("#137a3d", "#56d364"),
    "focus": Colour("#0b57d0", "#8ab4ff"),  # chosen
    "ink": Colour("#1b1f26", "#e9ecf1"),
    "soft": Colour("#59626e", "#a3acb9"),  # text beside the figures
    "line": Colour("#8b94a0", "#6f7885"),
    "hair": Colour("#e2e6ea", "#2a2f38"),
    "hair2": Colour("#d3dae1", "#363e4a"),
    "tint": Colour("#f4f6f8", "#1d2128"),
    "tint2": Colour("#dfe5ec", "#333b47"),
    "paper": Colour("#ffffff", "#16181d"),
}
"""All tokens; `on-fwd` is the colour of text on `fwd`. The fill `hatch` is lines of `line` without a background."""

OF_PHASE = {
    "forward": "fwd",
    "backward": "bwd",
    "update": "upd",
    "input": "py",
    "all-reduce": "tmp",
    "metrics": "tmp",
    "": "tmp",
}
"""The fill of ops, by phase."""

OF_HOLDER = {
    "weights": "wgt",
    "optimizer slots": "upd",
    "activations": "fwd",
    "gradients": "bwd",
    "input": "py",
    "temporary": "tmp",
}
"""The fill of memory, by purpose."""


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
        '[data-jp-theme-light="true"] .nbtf-picture,.vscode-light .nbtf-picture{color-scheme:light}\n'
        '[data-jp-theme-light="false"] .nbtf-picture,.vscode-dark .nbtf-picture{color-scheme:dark}\n'
        ".nbtf-picture text{white-space:pre;font-variant-numeric:tabular-nums}\n"
    )
