"""How does a notebook show a recording? As a picture, which comes alive where it is seen and the kernel answers."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote
from uuid import uuid4
from weakref import WeakKeyDictionary
from zlib import crc32

from nbtf import runtime
from nbtf._counts import counted
from nbtf.notebook import catalogue, code_lines
from nbtf.notebook.session import SESSIONS, Session
from nbtf.notebook.stills.marks import Picture
from nbtf.notebook.stills.memory_pictures import memory_scenes
from nbtf.notebook.stills.schedule import snapshot_of
from nbtf.notebook.stills.svg import to_html, to_svg
from nbtf.notebook.stills.timeline import timeline
from nbtf.notebook.views import esm, widgets
from nbtf.notebook.views.audience import outputs_stand_alone
from nbtf.notebook.views.cell_recording import CellRecording, Span, cell_recording
from nbtf.notebook.views.page import CodeLine, nothing_ran
from nbtf.notebook.views.recording_answers import Memory, RecordingAnswers, program_data

MOST_VIEWS = 32
"""Recordings of a session that are answered about; older ones stay as their pages have them."""

LOADER = "recording_loader"

Record = runtime.Recording | runtime.Snapshot | CellRecording
"""What has ops and copies, and knows of memory."""


class RecordingView(widgets.Widget):
    """Shows a recording as the views of its page: a timeline, and of simulated GPUs the memory step by step.

    A cell that ends with a recording shows the same once `%load_ext nbtf` has run. Brush, wheel and keys choose the
    part that is shown; the page draws by itself, also while a cell runs. A stored notebook has the still picture, and
    neither program nor data of the view: they come from the kernel when a reader sees the picture.

    Args:
      record: a recording, or what it had at some moment; then without memory.

    Raises:
      TypeError: it is no recording.
      ValueError: nothing ran.

    >>> with tf.runtime.recording() as record:
    ...     c = tf.matmul([[1.0]], [[2.0]])
    >>> tf.notebook.RecordingView(record)
    Recording: 3 ops, 0 copies
    """

    ident: Any = widgets.traitlets.Unicode().tag(sync=True)
    """The name of the model, by which the page finds its picture."""
    program: Any = widgets.traitlets.Unicode().tag(sync=True)
    """The name of the program that draws it, which a page loads once."""
    still: Any = widgets.traitlets.Unicode().tag(sync=True)
    """The address of the picture, where a page has no other."""
    about: Any = widgets.traitlets.Unicode().tag(sync=True)
    """What the picture says, in words."""

    def __init__(self, record: Record) -> None:
        """Shows what was recorded until now."""
        self.record = record
        code_line = _code_line()
        self._answers = RecordingAnswers(*_facts(record, code_line), code_line)
        if not self._answers.schedule.lanes:
            raise ValueError(nothing_ran(record, "view"))
        self._picture = timeline(self._answers.schedule, code_line=code_line)
        loader = esm.joined(esm.in_order(LOADER, LOADER))
        self._esm = f"{loader}\nexport default {{ initialize: awaken, render: renderStill }};\n"
        script = program_data(catalogue.ENGLISH)["script"]
        name = uuid4().hex
        program = f"{crc32(script.encode()):08x}"
        super().__init__(model_id=name, ident=name, program=program, about=self._picture.title, still=self._address())
        getattr(self, "on_msg")(self._answer_page)  # noqa: B009  # ipywidgets does not type it

    def __repr__(self) -> str:
        """Returns how much was taken down."""
        return in_words(self._answers.snapshot)

    def shows(self, record: Record) -> bool:
        """Tells whether this is the view of a recording, all of it, and answers.

        Args:
          record: that a view is wanted of.

        >>> with tf.runtime.recording() as record:
        ...     c = tf.matmul([[1.0]], [[2.0]])
        >>> view = tf.notebook.RecordingView(record)
        >>> view.shows(record)
        True
        """
        is_same = record is self.record or (isinstance(record, CellRecording) and record == self.record)
        return is_same and self.comm is not None and _event_count(record) == self._answers.snapshot.heard

    def _address(self) -> str:
        """Returns the picture as an address, where an output is a document of its own and has no other."""
        return f"data:image/svg+xml,{quote(to_svg(self._picture))}" if outputs_stand_alone() else ""

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Returns the picture, with the name by which a page finds it; the widget itself where the page cannot."""
        picture = bundle_of(self._picture, self.ident) | {"text/plain": repr(self)}
        if not outputs_stand_alone():
            return picture, {}
        inherited: Any = super()
        data, metadata = inherited._repr_mimebundle_(**kwargs)
        return data | picture, metadata

    def _answer_page(self, _: Any, content: Any, __: Any) -> None:
        """Answers a question of a page; it comes late, or on another thread."""
        match content:
            case {"kind": "ask", "number": int(number)}:
                widgets.send_answer(self, number, lambda: self._answers.answer(content))
            case _:
                pass


_VIEWS: WeakKeyDictionary[Session, list[RecordingView]] = WeakKeyDictionary()
"""What each session has shown of late, the newest last."""


def view_of(record: Record, session: Session) -> RecordingView:
    """Returns the view of a recording, the same one while its session has not shown many others since.

    Raises:
      ValueError: nothing ran.
    """
    views = _VIEWS.setdefault(session, [])
    newest = next((view for view in views if view.shows(record)), None) or RecordingView(record)
    views[:] = [*(view for view in views if view is not newest), newest]
    while len(views) > MOST_VIEWS:
        views.pop(0).close()
    return newest


def open_cell(session: Session, device: str = "", times: Span | None = None) -> dict[str, Any] | None:
    """Makes the view of a run of a cell, for a page that opens it.

    Args:
      session: that heard it.
      device: that the reader has chosen, a short name; empty for none.
      times: of which the reader wants to see more, in seconds since the epoch.

    Returns:
      What a live view tells its page (see `View._take_message`); None where nothing ran.
    """
    record = cell_recording(session, times)
    if record is None:
        return None
    view = view_of(record, session)
    span = record.span(device, times) if times is not None else None
    return {"kind": "opened", "ident": view.ident, "cell": record.run.cell, "device": device, "span": span}


def bundle_of(picture: Picture, name: str) -> dict[str, str]:
    """Returns a still picture for front ends; as HTML it has a name, by which the page's program finds it."""
    named = to_html(picture).replace("<img ", f"<img data-nbtf-recording='{name}' ", 1)
    return {"image/svg+xml": to_svg(picture), "text/html": named}


def _facts(record: Record, code_line: CodeLine) -> tuple[runtime.Snapshot, Memory]:
    """Returns the events of a recording, and what tells the memory of its devices."""
    if isinstance(record, runtime.Snapshot):
        return record, lambda _: ()
    if isinstance(record, CellRecording):
        return record.snapshot(), record.memory
    snapshot = snapshot_of(record)
    return snapshot, lambda limit: memory_scenes(record, code_line, snapshot, limit)


def _event_count(record: Record) -> int:
    """Returns how many events a recording has by now."""
    if isinstance(record, runtime.Recording):
        return record.snapshot(0).heard
    return (record if isinstance(record, runtime.Snapshot) else record.snapshot()).heard


def in_words(snapshot: runtime.Snapshot) -> str:
    """Returns how much was taken down, as a recording prints it."""
    ops, copies = snapshot.executed, sum(snapshot.copies.values())
    return f"Recording: {counted(ops, 'op')}, {counted(copies, 'copy', 'copies')}"


def _code_line() -> CodeLine:
    """How lines are told: in a notebook by the number of the cell."""
    return next((session.code_line for session in SESSIONS.values()), code_lines.in_file)
