"""The messages between a live view and the pages that show it: the state, its changes, and the answers to requests."""

from __future__ import annotations

import json
from typing import Any
from zlib import crc32

from nbtf import runtime
from nbtf.notebook import catalogue
from nbtf.notebook.session import current_session
from nbtf.notebook.stills import esm
from nbtf.notebook.views import scopes
from nbtf.notebook.views.audience import Audience
from nbtf.notebook.views.base_widget import Widget, traitlets
from nbtf.notebook.views.difference import difference
from nbtf.notebook.views.pump import Pump, pump_of
from nbtf.notebook.views.recording_view import open_cell

WHOLE_AFTER = 4
"""Once the differences sum up to this many times a state's size, the whole state is sent, for pages that missed one."""


class LiveWidget(Widget):
    """A widget whose state follows a session."""

    state: Any = traitlets.Dict().tag(sync=True)
    texts: Any = traitlets.Dict().tag(sync=True)
    """Its words in languages other than English, by the requested name of the language."""
    maps = False
    module = ""
    """The file in `static/` that draws it."""
    drawn_by = ""
    """The view that this file exports."""

    def __init__(self, only: tuple[str, ...] = ()) -> None:
        """Shows the current state, and is updated from now on.

        Args:
          only: devices to show; all if empty.
        """
        self.session = session = current_session()
        self.audience: Audience = Audience()
        self.only = only
        self.scope = scopes.ALL
        self.shown_in: runtime.Scene | None = None
        self._pump: Pump = pump_of(session)
        self._esm, self._css = esm.script(self.module, self.drawn_by), esm.style(self.module)
        self._sent = state = self._pump.add(self.maps, only)
        # Size of the last whole state, and of the differences sent since.
        self._whole, self._differences = len(json.dumps(state)), 0
        # A page has one style per name: the style of an older view, saved in a notebook, must not replace this one.
        style = f"{type(self).__module__}.{type(self).__name__}-{crc32(self._css.encode()):08x}"
        super().__init__(state=state, texts=self._texts(state["lang"]), _anywidget_id=style)
        self.ident = self.model_id
        self.receive(self._take_message)
        self._pump.feeds(self)

    @property
    def gone(self) -> bool:
        """Whether it was closed."""
        return self.comm is None

    def page_loaded(self) -> None:
        """Does what a page needs that has loaded the widget."""

    def did_not_load(self) -> None:
        """Shows what replaces the widget."""

    def renew_still(self) -> None:
        """Updates the picture that the notebook's file stores."""

    def follow(self) -> None:
        """Moves to the cell that begins."""

    def _take_message(self, _: Any, content: Any, __: Any) -> None:
        """Handles a message of a front end, which may arrive late or on another thread.

        `{kind: "open", device, times}` requests the recording of a cell: of the last one that ran something, or of the
        one that ran at `times`, two moments of the kernel's clock in seconds (as `wall` of a state), with the work of
        `device` at that time. Both are optional. The answer is `{kind: "opened", ident, cell, device, span}`: the page
        then shows the model `ident` (see `static/opened.js`).
        """
        match content:
            case {"kind": "view", "n": 1 | -1 as more, **page}:
                panels = page.get("panels")
                self._pump.report(self, more, panels if isinstance(panels, bool) else None)
                if more > 0:
                    self.post({"kind": "fed"})  # a saved view without a kernel gets no answer
                    self.page_loaded()
            case {"kind": "ask", "number": int(number), "what": "steps", "step": int(step), **rest}:
                self.post_answer(number, lambda: self._pump.steps_about(self, step, rest.get("until")))
            case {"kind": "whole"}:
                self._pump.repeat(self)
            case {"kind": "language", "name": str(name)}:
                self._speak(name)
            case {"kind": "scope", "name": str(name)} if name in scopes.SCOPES:
                self._pump.choose(self, name)
            case {"kind": "open", **request}:
                self._open(request)
            case _:
                pass

    def send_state(self, key: Any = None) -> None:
        """Sends the changes of a new state, and other values in full."""
        if key == "state":
            self._send_news()
        else:
            self._send_key(key)

    def send_whole(self) -> None:
        """Sends the complete state."""
        self._send_key("state")
        self._sent, self._differences = self.state, 0
        self._whole = self.audience.nbytes = len(json.dumps(self.state))

    def _send_key(self, key: Any) -> None:
        """Sends the values of given traits."""
        inherited: Any = super()
        inherited.send_state(key)

    def _send_news(self) -> None:
        """Sends the changes; sends everything now and then, and always to front ends without a page (nbclient)."""
        previous, now = self._sent, self.state
        news = {"from": previous["message"], "to": now["message"], "difference": difference(previous, now)}
        nbytes = len(json.dumps(news))
        self._differences += nbytes
        if self._differences > WHOLE_AFTER * self._whole or not (self.audience.views or now["busy"]):
            self.send_whole()
            return
        self._sent, self.audience.nbytes = now, nbytes
        self.post({"kind": "difference", **news})

    def _open(self, request: dict[str, Any]) -> None:
        """Makes the page show the recording of a cell."""
        match request:
            case {"times": [int() | float() as begin, int() | float() as end]}:
                times = float(begin), float(end)
            case _:
                times = None
        opened = open_cell(self.session, str(request.get("device") or ""), times)
        if opened is not None:
            self.post(opened)

    def _speak(self, name: str) -> None:
        """Adds the words of a language that a front end has requested."""
        if name not in self.texts:
            self.texts = self.texts | self._texts(name)

    def _texts(self, name: str) -> dict[str, Any]:
        translation = catalogue.translation(name, catalogue.sections_in(self._esm))
        return {} if translation is None else {name: translation}
