"""Shows a recording in a notebook: as a picture that becomes interactive when it is seen and the kernel answers."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from nbtf import runtime
from nbtf._counts import counted
from nbtf._garbage import collector_paused
from nbtf.notebook import code_lines
from nbtf.notebook.session import SESSIONS, Session
from nbtf.notebook.stills.memory_pictures import memory_scenes
from nbtf.notebook.stills.schedule import snapshot_of
from nbtf.notebook.views.cell_recording import CellRecording, Span, cell_recording
from nbtf.notebook.views.page import CodeLine, nothing_ran
from nbtf.notebook.views.recording_answers import Memory, RecordingAnswers
from nbtf.notebook.views.scene_view import SceneView

MOST_VIEWS = 32
"""Number of recordings per session that the kernel answers for; pages keep what they have of older ones."""

Record = runtime.Recording | runtime.Snapshot | CellRecording
"""Anything with ops, copies and memory."""


class RecordingView(SceneView):
    """Shows a recording interactively: a timeline and, for simulated GPUs, the memory step by step.

    After `%load_ext nbtf`, a cell that ends with a recording shows the same view. Zoom with the brush, the mouse wheel
    or the keyboard; this works even while a cell runs. A saved notebook stores only the still picture: the view's
    program and data come from the kernel when a reader sees the picture.

    Args:
      record: a recording, or a snapshot of one, which lacks the memory.

    Raises:
      TypeError: if `record` is not a recording.
      ValueError: if nothing ran.

    >>> with tf.runtime.recording() as record:
    ...     c = tf.matmul([[1.0]], [[2.0]])
    >>> tf.notebook.RecordingView(record)
    Recording: 3 ops, 0 copies
    """

    def __init__(self, record: Record) -> None:
        """Shows what has been recorded so far."""
        self.record = record
        code_line = _code_line()
        self._answers = RecordingAnswers(*_facts(record, code_line), code_line)
        with collector_paused():
            if not self._answers.schedule.lanes:
                raise ValueError(nothing_ran(record, "view"))
            super().__init__(self._answers.answer, self._answers.still())

    def __repr__(self) -> str:
        """Returns the number of recorded ops and copies."""
        return in_words(self._answers.snapshot)

    def shows(self, record: Record) -> bool:
        """Returns whether this view shows all of a recording and still answers for it.

        Args:
          record: the recording to be shown.

        >>> with tf.runtime.recording() as record:
        ...     c = tf.matmul([[1.0]], [[2.0]])
        >>> view = tf.notebook.RecordingView(record)
        >>> view.shows(record)
        True
        """
        is_same = record is self.record or (isinstance(record, CellRecording) and record == self.record)
        return is_same and self.comm is not None and _event_count(record) == self._answers.snapshot.heard


_VIEWS: WeakKeyDictionary[Session, list[RecordingView]] = WeakKeyDictionary()
"""The recordings that each session has shown recently, newest last."""


def view_of(record: Record, session: Session) -> RecordingView:
    """Returns the view of a recording; the same one, unless its session has shown many others since.

    Raises:
      ValueError: if nothing ran.
    """
    views = _VIEWS.setdefault(session, [])
    newest = next((view for view in views if view.shows(record)), None) or RecordingView(record)
    views[:] = [*(view for view in views if view is not newest), newest]
    while len(views) > MOST_VIEWS:
        views.pop(0).close()
    return newest


def open_cell(session: Session, device: str = "", times: Span | None = None) -> dict[str, Any] | None:
    """Creates the view of a cell's run, for a page that opens it.

    Args:
      session: the session that recorded it.
      device: the device that the reader has chosen, a short name; empty for none.
      times: start and end of what the reader wants to see, in seconds since the epoch.

    Returns:
      The message that a live view sends its page (see `View._take_message`); None if nothing ran.
    """
    record = cell_recording(session, times)
    if record is None:
        return None
    view = view_of(record, session)
    span = record.span(device, times) if times is not None else None
    return {"kind": "opened", "ident": view.ident, "cell": record.run.cell, "device": device, "span": span}


def _facts(record: Record, code_line: CodeLine) -> tuple[runtime.Snapshot, Memory]:
    """Returns the events of a recording, and a function that returns the memory of its devices."""
    if isinstance(record, runtime.Snapshot):
        return record, lambda _: ()
    if isinstance(record, CellRecording):
        return record.snapshot(), record.memory
    snapshot = snapshot_of(record)
    return snapshot, lambda limit: memory_scenes(record, code_line, snapshot, limit)


def _event_count(record: Record) -> int:
    """Returns how many events a recording has so far."""
    if isinstance(record, runtime.Recording):
        return record.snapshot(0).heard
    return (record if isinstance(record, runtime.Snapshot) else record.snapshot()).heard


def in_words(snapshot: runtime.Snapshot) -> str:
    """Returns the number of recorded ops and copies, as a recording prints it."""
    ops, copies = snapshot.executed, sum(snapshot.copies.values())
    return f"Recording: {counted(ops, 'op')}, {counted(copies, 'copy', 'copies')}"


def _code_line() -> CodeLine:
    """Returns the function that formats code lines: in a notebook, by the number of the cell."""
    return next((session.code_line for session in SESSIONS.values()), code_lines.in_file)
