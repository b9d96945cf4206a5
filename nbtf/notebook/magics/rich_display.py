"""How does a notebook show a recording, a memory map, and the explanation of a placement?

As pictures, which a saved notebook keeps. The picture of a recording becomes a live view if a kernel answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nbtf import runtime
from nbtf._counts import counted
from nbtf._snapshots.snapshot import MemorySnapshot
from nbtf.notebook.session import Session

if TYPE_CHECKING:
    from nbtf.notebook.opened_files import OpenedFile

_SVG, _HTML, _TEXT = "image/svg+xml", "text/html", "text/plain"


def add_rich_display(session: Session) -> None:
    """Makes the shell draw such results until the session stops; the previous formatters are then restored."""
    for subject in (runtime.Recording, runtime.Snapshot):
        _draw(session, "", subject, lambda record: _recording(record, session))
    _draw(session, "", MemorySnapshot, lambda snapshot: _bundle(_snapshot(snapshot, session)))
    _draw(session, "", runtime.OpenedRecording, lambda record: _bundle(_opened_recording(record, session)))
    printer: Any = _print_counts
    _draw(session, _TEXT, runtime.Snapshot, printer)
    _draw(session, _SVG, runtime.Explanation, lambda explanation: _decision(explanation, session))
    _draw(session, _SVG, runtime.MemoryMap, lambda regions: _chunks(regions, session))
    _draw(session, _SVG, runtime.ClusterLook, _hosts)
    # Front ends prefer HTML if there are both.
    _draw(session, _HTML, runtime.Explanation, lambda explanation: None if explanation.path else _table(explanation))


def _draw(session: Session, mime: str, subject: type[Any], draw: Callable[[Any], Any]) -> None:
    """Registers a drawing function for a class; without a MIME type, it returns the data of several types."""
    display = session.shell.display_formatter
    formatter = display.formatters[mime] if mime else display.mimebundle_formatter
    previous = formatter.for_type(subject, draw)

    def undo() -> None:
        if previous is None:
            formatter.pop(subject, None)
        else:
            formatter.for_type(subject, previous)

    session.on_stop(undo)


def _recording(record: runtime.Recording | runtime.Snapshot, session: Session) -> Any:
    """Returns the timeline of a recording, with a live view if possible; None if nothing ran."""
    snapshot = record if isinstance(record, runtime.Snapshot) else record.snapshot(0)
    if not snapshot.executed and not snapshot.copies:
        return None
    view_of = _views(session)
    return _timeline(record, session) if view_of is None else view_of(record, session)._repr_mimebundle_()


def _snapshot(snapshot: MemorySnapshot, session: Session) -> Any:
    from nbtf.notebook.opened_files import Options, SnapshotFile  # imported late, as few cells draw

    return view_of_file(SnapshotFile(snapshot, Options()), session)


def _opened_recording(record: runtime.OpenedRecording, session: Session) -> Any:
    from nbtf.notebook.opened_files import RECORDING, RecordingFile  # imported late, as few cells draw

    return view_of_file(RecordingFile(record, RECORDING), session)


def view_of_file(opened: OpenedFile, session: Session) -> Any:
    """Returns a file's views if a kernel and widgets make them possible, otherwise its picture.

    None if there is nothing to draw.
    """
    from nbtf.notebook.stills.memory_pictures import Still  # imported late, as few cells draw

    try:
        picture = opened.picture()
    except ValueError:
        return None
    if _views(session) is None:
        return Still(picture)
    from nbtf.notebook.views.scene_view import view_of_scene

    return view_of_scene(session, opened.scene, picture, "\n".join(opened.summary()))


def _bundle(view: Any) -> Any:
    """Returns the data by which a front end shows an object."""
    if view is None:
        return None
    if hasattr(view, "_repr_mimebundle_"):
        return view._repr_mimebundle_()
    return {_SVG: view._repr_svg_(), _HTML: view._repr_html_(), _TEXT: repr(view)}


def _views(session: Session) -> Callable[..., Any] | None:
    """Returns the function that makes views of recordings; None without a kernel or widgets."""
    from nbtf.notebook.views.pump import pump_of  # imported late, as few cells draw

    if pump_of(session).mode == "off":
        return None
    try:
        from nbtf.notebook.views.recording_view import view_of
    except ImportError:
        return None
    return view_of


def _timeline(record: runtime.Recording | runtime.Snapshot, session: Session) -> dict[str, str]:
    from nbtf.notebook.stills.schedule import timed  # imported late, as few cells draw
    from nbtf.notebook.stills.svg import to_svg
    from nbtf.notebook.stills.timeline import timeline

    snapshot = record if isinstance(record, runtime.Snapshot) else record.snapshot()
    return {_SVG: to_svg(timeline(timed(snapshot), code_line=session.code_line))}


def _print_counts(snapshot: runtime.Snapshot, page: Any, _: bool) -> None:
    """Prints totals only, because all events would be a long text."""
    ops, copies = snapshot.executed, sum(snapshot.copies.values())
    page.text(f"Snapshot: {counted(ops, 'op')}, {counted(copies, 'copy', 'copies')}")


def _decision(explanation: runtime.Explanation, session: Session) -> str | None:
    """Returns a placement's decision path; None if it was not recorded, or a session's placer decided."""
    from nbtf.notebook.stills.decision import decision  # imported late, as few cells draw
    from nbtf.notebook.stills.svg import to_svg

    return to_svg(decision(explanation, code_line=session.code_line)) if explanation.path else None


def _chunks(regions: runtime.MemoryMap, session: Session) -> str | None:
    """Returns a picture of a device's chunks; None if it has allocated nothing."""
    from nbtf.notebook.stills.memory_pictures import picture_of_map  # imported late, as few cells draw

    return picture_of_map(regions, session)._repr_svg_() if regions else None


def _hosts(look: runtime.ClusterLook) -> str | None:
    """Returns a picture of the cards by host; None if there are none."""
    from nbtf.notebook.stills.cluster_map import cluster_map  # imported late, as few cells draw
    from nbtf.notebook.stills.svg import to_svg

    drawn = cluster_map(look)
    return None if drawn is None else to_svg(drawn)


def _table(explanation: runtime.Explanation) -> str:
    return explanation._repr_html_()
