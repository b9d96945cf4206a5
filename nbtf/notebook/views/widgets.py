"""The live views as widgets: what a notebook shows where it can, and what stands there where it cannot."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4
from zlib import crc32

from nbtf._install import pip_install

try:
    import anywidget
    import traitlets
    from IPython import display, get_ipython
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"The live views need {error.name}, which is not installed: {pip_install('lab')}", name=error.name
    ) from error

from nbtf import runtime
from nbtf.notebook import catalogue, device_table, memory_table
from nbtf.notebook.device_names import full_name, require, short
from nbtf.notebook.session import SESSIONS, Session, say
from nbtf.notebook.stills.device_map import map_of_session
from nbtf.notebook.stills.marks import Picture
from nbtf.notebook.stills.memory_overview import memory_overview
from nbtf.notebook.stills.memory_pictures import picture_of_session, steps_by_device
from nbtf.notebook.stills.svg import to_html, to_svg
from nbtf.notebook.tables import Table
from nbtf.notebook.views import esm, scopes
from nbtf.notebook.views.audience import Audience
from nbtf.notebook.views.difference import difference
from nbtf.notebook.views.pump import Pump, pump_of

STILL = "A still picture of the moment this was shown: the live view stands here in a notebook that runs."
STRIP = "A strip of the live view: it stands in the cell that runs."
FOLLOWS = {"nbtf": {"follows": True}}  # the metadata of an output that goes from cell to cell: none of them made it
MOST_EVENTS = 10_000
"""Of a session whose events are looked at for the picture of a GPU's memory; each cell's end may draw it."""

MOST_STEPS = 1000
"""Of a GPU's memory, in a picture of all of them."""

WHOLE_AFTER = 4
"""So many times as long as a state may its differences be; then it is sent whole, for pages that missed one unasked."""

STILL_TYPES = ("text/html", "text/plain")
"""What a page is sent of a picture, which may be large: the HTML has the SVG in it."""

LARGEST_PART = 96_000
"""Bytes of an answer that go into one message."""

MISSING = "the live view did not load: anywidget is needed where JupyterLab runs, not only in this kernel"


class Widget(anywidget.AnyWidget):
    """What a notebook shows by its bundle, with a picture for those who cannot show the widget."""

    _ipython_display_ = None  # ipywidgets 7 has a method here, which shows the widget alone


class View(Widget):
    """A live view of a session."""

    state: Any = traitlets.Dict().tag(sync=True)
    texts: Any = traitlets.Dict().tag(sync=True)
    """What it says in other languages than English, by the name under which it was asked for."""
    docked: Any = traitlets.Bool(default_value=False).tag(sync=True)
    """Whether it goes into a panel of the page, where the page has panels."""
    ident: Any = traitlets.Unicode().tag(sync=True)
    """The name of the model, by which the page finds it."""
    maps = False
    module = ""
    """The file in `static/` that draws it."""
    drawn_by = ""
    """The view that this file exports."""
    shrinks = False
    """Whether it is a strip where the page has no panels."""

    def __init__(self, only: tuple[str, ...] = ()) -> None:
        """Shows what there is, and is fed from now on.

        Args:
          only: the devices that it shows; all when empty.

        Raises:
          RuntimeError: the extension is not loaded.
        """
        session = _session(type(self).__name__)
        self.session = session
        self.audience: Audience = Audience()
        self.only = only
        self.scope = scopes.ALL
        self.shown_in: runtime.Scene | None = None
        self._output = self._strip = ""
        self._count = 0
        self._renewed: dict[str, str] = {}
        self._drawn_at: object = None
        self._pump: Pump = pump_of(session)
        self._esm, self._css = esm.script(self.module, self.drawn_by), esm.style(self.module)
        self._sent = state = self._pump.add(self.maps, only)
        self._whole, self._differences = len(json.dumps(state)), 0  # bytes of the last whole state, and sent since
        # A page has one style for each name: an older one, saved in a notebook, must not take this one's place.
        style = f"{type(self).__module__}.{type(self).__name__}-{crc32(self._css.encode()):08x}"
        super().__init__(state=state, texts=self._texts(state["lang"]), _anywidget_id=style)
        self.ident = self.model_id
        getattr(self, "on_msg")(self._take_message)  # noqa: B009  # ipywidgets does not type it
        self._pump.feeds(self)

    @property
    def gone(self) -> bool:
        """Whether it was closed."""
        return self.comm is None

    def table(self) -> Table:
        """Returns the same as a table, as it is now."""
        raise NotImplementedError

    def still(self) -> Picture | None:
        """Returns a picture of what it shows now; None where its table says as much."""
        return None

    def renew_still(self) -> None:
        """Draws its picture in the notebook anew: by a page that shows the view, else where the result is kept.

        A page stores the picture and goes on showing the view, which it would draw again if the result were renewed;
        nbclient, which writes files without a page, renews it. One that may still come hears of it both ways. A
        picture stays as it is once the runtime was restarted, or once the view was shown elsewhere.
        """
        is_read_only = self.audience.views and self.audience.without_panels  # such a page cannot change the file
        if is_read_only or not self._output or self._drawn_at == self._moment():
            return
        if self.shown_in is not None and self.session.recorder.scenes[-1].machine != self.shown_in.machine:
            return
        data, metadata = self._bundle()
        self._renewed = {mime: data[mime] for mime in STILL_TYPES if mime in data}
        if self.audience.looking:
            self._send_renewed()
        if not self.audience.views:
            _publish(data, metadata, transient={"display_id": self._output}, update=True)

    def _send_renewed(self) -> None:
        """Has pages store the picture, if it is newer than that with which the view was shown."""
        if self._renewed:
            content = {"kind": "drawn", "count": self._count, "data": self._renewed}
            getattr(self, "send")(content)  # noqa: B009  # ipywidgets does not type it

    def follow(self) -> None:
        """Shows its strip in the cell that begins, and nowhere else, where the page has no panel for the view."""
        if not (self.shrinks and self.docked and self.audience.without_panels) or self.gone:
            return
        self._remove_strip()
        self._pump.tick(wait=True)  # it begins with what there is now
        inherited: Any = super()
        data, metadata = inherited._repr_mimebundle_()
        self._strip = uuid4().hex
        _publish(data | {"text/plain": STRIP}, metadata | FOLLOWS, transient={"display_id": self._strip})

    def _remove_strip(self) -> None:
        """Leaves nothing of the strip in the cell that it was shown in last."""
        name, self._strip = self._strip, ""
        if name:
            _publish({"text/html": "", "text/plain": ""}, FOLLOWS, transient={"display_id": name}, update=True)

    def did_not_load(self) -> None:
        """Shows the table, and why it is no live view."""
        _show(self.table())
        say(MISSING)

    def _take_message(self, _: Any, content: Any, __: Any) -> None:
        """Takes a message of a front end; it comes late, or on another thread.

        `{kind: "open", device, times}` asks for the recording of a cell: of the last that ran something, or of the one
        that ran at `times`, two moments of the kernel's clock in seconds (as `wall` of a state), with what `device` did
        then. Both may be left out. The answer is `{kind: "opened", ident, cell, device, span}`: the page shows the
        model `ident` (see `static/opened.js`).
        """
        match content:
            case {"kind": "view", "n": 1 | -1 as more, **page}:
                panels = page.get("panels")
                self._pump.report(self, more, panels if isinstance(panels, bool) else None)
                if more > 0:
                    getattr(self, "send")({"kind": "fed"})  # noqa: B009  # a view that is only saved hears nothing, and stays where it is
                    self._send_renewed()  # cells may have ended before the page had loaded it
            case {"kind": "ask", "number": int(number), "what": "steps", "step": int(step), **rest}:
                send_answer(self, number, lambda: self._pump.steps_about(self, step, rest.get("until")))
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
        """Sends what has changed of a new state, and anything else as it is."""
        if key == "state":
            self._send_news()
        else:
            self._send_key(key)

    def send_whole(self) -> None:
        """Sends all of the state."""
        self._send_key("state")
        self._sent, self._differences = self.state, 0
        self._whole = self.audience.nbytes = len(json.dumps(self.state))

    def _send_key(self, key: Any) -> None:
        """Sends the values of some traits."""
        inherited: Any = super()
        inherited.send_state(key)

    def _send_news(self) -> None:
        """Sends what has changed; all now and then, and to those who save it without a page, as nbclient does."""
        previous, now = self._sent, self.state
        news = {"from": previous["message"], "to": now["message"], "difference": difference(previous, now)}
        nbytes = len(json.dumps(news))
        self._differences += nbytes
        if self._differences > WHOLE_AFTER * self._whole or not (self.audience.views or now["busy"]):
            self.send_whole()
            return
        self._sent, self.audience.nbytes = now, nbytes
        getattr(self, "send")({"kind": "difference", **news})  # noqa: B009  # ipywidgets does not type it

    def _open(self, request: dict[str, Any]) -> None:
        """Has the page show the recording of a cell."""
        from nbtf.notebook.views.recording_view import open_cell  # late: it is a view itself

        match request:
            case {"times": [int() | float() as begin, int() | float() as end]}:
                times = float(begin), float(end)
            case _:
                times = None
        opened = open_cell(self.session, str(request.get("device") or ""), times)
        if opened is not None:
            getattr(self, "send")(opened)  # noqa: B009  # ipywidgets does not type it

    def _speak(self, name: str) -> None:
        """Takes along the words of a language that a front end has asked for."""
        if name not in self.texts:
            self.texts = self.texts | self._texts(name)

    def _texts(self, name: str) -> dict[str, Any]:
        translation = catalogue.translation(name, catalogue.sections_in(self._esm))
        return {} if translation is None else {name: translation}

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Returns the widget, and for those who cannot show it a picture and a text."""
        self._remove_strip()  # it has followed into this cell, which now shows the view itself
        self._pump.shown(self)
        self._output, self._count = _name_output(self.session.shell)
        self._renewed = {}
        return self._bundle(**kwargs)

    def _bundle(self, **kwargs: Any) -> Any:
        self._drawn_at = self._moment()
        inherited: Any = super()
        data, metadata = inherited._repr_mimebundle_(**kwargs)
        table, picture = self.table(), self.still()
        table.notes.append(STILL)
        drawn = {"text/html": table._repr_html_()}
        if picture is not None:  # a page takes HTML before SVG, and SVG only where it trusts the notebook
            drawn = {"text/html": to_html(picture), "image/svg+xml": to_svg(picture)}
        return data | drawn | {"text/plain": repr(table)}, metadata

    def _moment(self) -> object:
        """Returns what is another thing as soon as the picture would be."""
        return self.session.recorder.snapshot(0).heard, runtime.devices()


class DeviceMap(View):
    """Shows devices as rooms, live: the ops that ran in them and why, and what was copied between them.

    Needs `%load_ext nbtf`, which records; `%devices --live` shows the same. Looking starts no device.

    Raises:
      RuntimeError: the extension is not loaded.

    >>> tf.runtime.restart()
    >>> _ = tf.runtime.simulate_gpus(2)
    2 simulated GPUs (Tesla V100-SXM2-16GB, 16 GiB each): NumPy on this computer's CPU. No GPU is used.
    >>> get_ipython().run_line_magic("load_ext", "nbtf")  # as `%load_ext nbtf` does
    >>> with tf.device("GPU:1"):
    ...     x = tf.zeros([1024, 1024])
    >>> view = tf.notebook.DeviceMap()  # the last line of a cell shows it
    >>> view.still().title
    'Device map. GPU:1: Fill × 1 (asked for by tf.device)'
    """

    module: str = "device_map"
    drawn_by: str = "deviceMap"
    shrinks = True

    def __init__(self) -> None:
        """Shows all devices."""
        super().__init__()

    def still(self) -> Picture | None:
        """Returns a room for each device, with what went between them; None before the first op.

        >>> get_ipython().run_line_magic("load_ext", "nbtf")  # as `%load_ext nbtf` does
        >>> x = tf.zeros([2])
        >>> tf.notebook.DeviceMap().still().title
        'Device map. CPU:0: Fill × 1 (no GPU)'
        """
        return map_of_session(self.session).picture if self.state["ops"] else None

    def table(self) -> Table:
        """Returns the devices as `%devices` does.

        >>> get_ipython().run_line_magic("load_ext", "nbtf")  # as `%load_ext nbtf` does
        >>> tf.notebook.DeviceMap().table()
        device  kind  ops
        CPU:0   host    0
        No GPU here: ops run on CPU:0.
        """
        return device_table.logical(self.session)


class MemoryView(View):
    """Shows the memory of devices, live: how full they are, how full they were, and what is where on a simulated GPU.

    Needs `%load_ext nbtf`, which records; `%gpu_memory --live` shows the same. Looking starts no device.

    Args:
      *devices: only these, such as `"GPU:1"`; all when none is given.

    Raises:
      RuntimeError: the extension is not loaded.
      ValueError: not the name of a device.
      MissingDeviceError: a device that is not here.

    >>> tf.runtime.restart()
    >>> _ = tf.runtime.simulate_gpus(2)
    2 simulated GPUs (Tesla V100-SXM2-16GB, 16 GiB each): NumPy on this computer's CPU. No GPU is used.
    >>> get_ipython().run_line_magic("load_ext", "nbtf")  # as `%load_ext nbtf` does
    >>> with tf.device("GPU:1"):
    ...     x = tf.zeros([1024, 1024])
    >>> view = tf.notebook.MemoryView("GPU:1")  # the last line of a cell shows it
    >>> view.still().title
    'Memory of GPU:1: 4 MiB of 15 GiB in use.'
    """

    maps = True
    module: str = "memory_view"
    drawn_by: str = "memoryView"

    def __init__(self, *devices: str) -> None:
        """Shows some devices, or all."""
        names = [full_name(device) for device in devices]
        for name in names:
            require(name, False, "tf.runtime.devices() lists them.")
        super().__init__(tuple(short(name) for name in names if name is not None))

    def still(self) -> Picture | None:
        """Returns what was where in the GPU to which anything happened; of several, what is where, all to one scale.

        >>> tf.runtime.restart()
        >>> _ = tf.runtime.simulate_gpus(2)
        2 simulated GPUs (Tesla V100-SXM2-16GB, 16 GiB each): NumPy on this computer's CPU. No GPU is used.
        >>> get_ipython().run_line_magic("load_ext", "nbtf")  # as `%load_ext nbtf` does
        >>> x = tf.zeros([1024, 1024])
        >>> tf.notebook.MemoryView().still().title
        'Memory in use: GPU:0 4 MiB, GPU:1 1,280 B.'
        """
        overview = memory_overview(self.state)
        accounted = [device["name"] for device in self.state["devices"] if device["memory"] is not None]
        is_short = self.session.recorder.snapshot(0).heard <= MOST_EVENTS
        if len(accounted) == 1 and is_short and 0 < steps_by_device(self.session)[accounted[0]] <= MOST_STEPS:
            try:
                return picture_of_session(self.session, accounted[0], "plane").picture
            except ValueError:  # its first events are no longer kept
                return overview
        return overview

    def table(self) -> Table:
        """Returns the memory as `%gpu_memory` does.

        >>> tf.runtime.restart()
        >>> _ = tf.runtime.simulate_gpus(2)
        2 simulated GPUs (Tesla V100-SXM2-16GB, 16 GiB each): NumPy on this computer's CPU. No GPU is used.
        >>> get_ipython().run_line_magic("load_ext", "nbtf")  # as `%load_ext nbtf` does
        >>> x = tf.zeros([1024, 1024])
        >>> tf.notebook.MemoryView().table()
        device  kind        in use  of limit                 peak    pool   limit
        GPU:0   simulated    4 MiB  █░░░░░░░░░ under 1 %    4 MiB  15 GiB  15 GiB
        GPU:1   simulated  1,280 B  █░░░░░░░░░ under 1 %  1,280 B  15 GiB  15 GiB
        """
        return memory_table.table(self.session, set(self.only))


def parts_of(answer: dict[str, Any]) -> Iterator[bytes]:
    """Yields an answer in pieces that are small enough for a message each."""
    text = json.dumps(answer, separators=(",", ":"), ensure_ascii=False).encode()
    for begin in range(0, len(text), LARGEST_PART):
        yield text[begin : begin + LARGEST_PART]


def send_answer(widget: anywidget.AnyWidget, number: int, answer: Callable[[], dict[str, Any]]) -> None:
    """Sends a page what it has asked for, or why there is no answer; see `static/asker.js`.

    Args:
      widget: that was asked.
      number: of the question.
      answer: makes what is sent.
    """
    send: Any = getattr(widget, "send")  # noqa: B009  # ipywidgets does not type it
    try:
        pieces = list(parts_of(answer()))
    except Exception as error:  # the page keeps what it has
        send({"kind": "answer", "number": number, "failed": f"{type(error).__name__}: {error}"})
        return
    for piece in pieces:
        send({"kind": "answer", "number": number, "parts": len(pieces)}, buffers=[piece])


def _session(name: str) -> Session:
    shell = get_ipython()
    session = None if shell is None else SESSIONS.get(shell)
    if session is None:
        raise RuntimeError(f"tf.notebook.{name} shows what the extension records: %load_ext nbtf first.")
    return session


def _name_output(shell: Any) -> tuple[str, int]:
    """Gives the result that is being shown a name, by which it can be renewed, and returns it with the result's number.

    The name is empty where it is no result. JupyterLab renews no results, so that it never draws a view twice;
    nbclient does.
    """
    message: Any = getattr(shell.displayhook, "msg", None)
    if not message:
        return "", 0
    name = uuid4().hex
    message["content"]["transient"] = {"display_id": name}
    return name, message["content"]["execution_count"]


_publish: Any = getattr(display, "publish_display_data")  # noqa: B009  # IPython does not type it
_show: Any = getattr(display, "display")  # noqa: B009  # IPython does not type it
