"""How does an object show itself in any front end? As a bundle of text with HTML or a picture, without an extension."""

from __future__ import annotations

import sys
from typing import Any

Bundle = dict[str, Any]
"""The forms of an object by MIME type; there is always `text/plain`."""

_METHODS = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_"}


def is_in_ipython() -> bool:
    """Returns whether a shell of IPython runs this program, as in Jupyter; marimo, Panel and Solara have none."""
    module = sys.modules.get("IPython.core.interactiveshell")
    return module is not None and module.InteractiveShell._instance is not None  # Solara replaces `get_ipython`


class Displayed:
    """An object with `_repr_html_` or `_repr_svg_`, which front ends find in one bundle."""

    __slots__ = ()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Bundle:
        """Returns the object as text, as HTML and as a picture, as far as it has these forms."""
        forms = {mime: getattr(self, method)() for mime, method in _METHODS.items() if hasattr(self, method)}
        return {mime: form for mime, form in forms.items() if form is not None} | {"text/plain": repr(self)}


def preformatted(text: str) -> str:
    """Returns lines of text as HTML."""
    import html  # imported late: it loads a table of two thousand names

    return f"<pre>{html.escape(text)}</pre>"


class Drawn:
    """An object that the notebook's folder draws; it is loaded when a front end asks, because few programs draw."""

    __slots__ = ()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Any:
        """Returns the object as text, as HTML and as a picture; only as text if there is nothing to draw."""
        return sys.modules["nbtf"]._bundle_of(self)  # an indirect call: this layer must not import the views

    def _repr_html_(self) -> str | None:
        """Returns the picture as an image, which has the page's theme; None in IPython, which would store it twice."""
        return None if is_in_ipython() else sys.modules["nbtf"]._image_of(self)

    def _repr_svg_(self) -> str | None:
        """Returns the object as a picture, for front ends without bundles; None if there is nothing to draw."""
        return sys.modules["nbtf"]._picture_of(self)
