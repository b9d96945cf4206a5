"""The base of our widgets: how they display themselves, and how they answer the questions of a page."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from nbtf._install import pip_install

try:
    import anywidget
    import traitlets
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"The live views need {error.name}, which is not installed. {pip_install('lab')}", name=error.name
    ) from error

LARGEST_PART = 96_000
"""Maximum size of an answer's part in one message, in bytes."""


class Widget(anywidget.AnyWidget):
    """A widget that displays itself by its bundle, with a picture for front ends that cannot show widgets."""

    _ipython_display_ = None  # ipywidgets 7 has a method here that shows only the widget
    ident: Any = traitlets.Unicode().tag(sync=True)
    """The name of the model, by which a page finds it."""

    def receive(self, take: Callable[[Any, Any, Any], None]) -> None:
        """Calls a function for each message of a page: with the widget, the content and the buffers."""
        getattr(self, "on_msg")(take)  # noqa: B009  # ipywidgets does not type it

    def post(self, content: dict[str, Any], buffers: list[bytes] | None = None) -> None:
        """Sends a message to the pages that show the widget."""
        getattr(self, "send")(content, buffers=buffers)  # noqa: B009  # ipywidgets does not type it

    def post_answer(self, number: int, answer: Callable[[], dict[str, Any]]) -> None:
        """Sends the answer to a page's question, or the reason why there is none; see `static/asker.js`.

        Args:
          number: number of the question.
          answer: returns the answer.
        """
        try:
            pieces = list(parts_of(answer()))
        except Exception as error:  # the page keeps its current data
            self.post({"kind": "answer", "number": number, "failed": f"{type(error).__name__}: {error}"})
            return
        for piece in pieces:
            self.post({"kind": "answer", "number": number, "parts": len(pieces)}, [piece])


def parts_of(answer: dict[str, Any]) -> Iterator[bytes]:
    """Yields an answer, compressed, in parts that are small enough for one message each."""
    text = zlib.compress(json.dumps(answer, separators=(",", ":"), ensure_ascii=False).encode(), 1)
    for begin in range(0, len(text), LARGEST_PART):
        yield text[begin : begin + LARGEST_PART]
