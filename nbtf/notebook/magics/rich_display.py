"""How does a front end show a recording, a snapshot, a memory map, and the explanation of a placement?

As pictures, which a saved notebook keeps. After `%load_ext nbtf`, the picture of a recording becomes a live view if a
kernel answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nbtf import runtime
from nbtf._displayed import is_in_ipython
from nbtf._snapshots.snapshot import MemorySnapshot
from nbtf.notebook import code_lines
from nbtf.notebook.session import Session, session_of_shell

if TYPE_CHECKING:
    from nbtf.notebook.opened_files import OpenedFile

_SVG, _HTML, _TEXT = "image/svg+xml", "text/html", "text/plain"


def bundle_of(displayed: Any) -> Any:
    """Returns the data by which front ends show an object: at least `text/plain`, possibly with metadata."""
    session = session_of_shell()
    if not is_in_ipython():
        forms = {_HTML: displayed._repr_html_(), _SVG: displayed._repr_svg_(), _TEXT: _text(displayed)}
        return {mime: form for mime, form in forms.items() if form is not None}
    if isinstance(displayed, runtime.Recording | runtime.Snapshot):
        return _recording(displayed, session) or {_TEXT: _text(displayed)}
    if isinstance(displayed, runtime.Explanation):
        forms = {_SVG: displayed._repr_svg_(), _HTML: displayed._repr_html_(), _TEXT: repr(displayed)}
        return {mime: form for mime, form in forms.items() if form is not None}
    view = _view(displayed, session)
    if view is None:
        return {_TEXT: repr(displayed)}
    if isinstance(displayed, runtime.MemoryMap | runtime.ClusterLook):  # as HTML, the picture would be stored twice
        return {_SVG: view._repr_svg_(), _TEXT: repr(displayed)}
    return view._repr_mimebundle_()


def picture_of(displayed: Any) -> str | None:
    """Returns an object's picture as SVG, which needs no kernel; None if there is nothing to draw."""
    picture = _still(displayed)
    return None if picture is None else picture._repr_svg_()


def image_of(displayed: Any) -> str | None:
    """Returns an object's picture as an HTML image; None if there is nothing to draw."""
    picture = _still(displayed)
    return None if picture is None else picture._repr_html_()


def _still(displayed: Any) -> Any:
    """Returns a picture of an object; None if there is nothing to draw."""
    session = session_of_shell()
    if isinstance(displayed, runtime.Recording | runtime.Snapshot):
        return _timeline(displayed, session)
    return _decision(displayed, session) if isinstance(displayed, runtime.Explanation) else _view(displayed, None)


def _view(displayed: Any, session: Session | None) -> Any:
    """Returns the view or the picture of an object; None if there is nothing to draw."""
    if isinstance(displayed, runtime.OpenedRecording):
        from nbtf.notebook.opened_files import RECORDING, RecordingFile  # imported late, as few cells draw

        return view_of_file(RecordingFile(displayed, RECORDING), session)
    if isinstance(displayed, MemorySnapshot):
        from nbtf.notebook.opened_files import Options, SnapshotFile  # imported late, as few cells draw

        return view_of_file(SnapshotFile(displayed, Options()), session)
    return _hosts(displayed) if isinstance(displayed, runtime.ClusterLook) else _chunks(displayed, session)


def view_of_file(opened: OpenedFile, session: Session | None) -> Any:
    """Returns a file's views if a kernel and widgets make them possible, otherwise its picture.

    None if there is nothing to draw.
    """
    from nbtf.notebook.stills.memory_pictures import Still  # imported late, as few cells draw

    try:
        picture = opened.picture()
    except ValueError:
        return None
    if session is None or _views(session) is None:
        return Still(picture)
    from nbtf.notebook.views.scene_view import view_of_scene

    return view_of_scene(session, opened.scene, picture, "\n".join(opened.summary()))


def _recording(record: runtime.Recording | runtime.Snapshot, session: Session | None) -> Any:
    """Returns the timeline of a recording, with a live view if possible; None if nothing ran."""
    if session is None or (view_of := _views(session)) is None:
        picture = _timeline(record, session)
        return None if picture is None else {_SVG: picture._repr_svg_(), _TEXT: _text(record)}
    if _ran_nothing(record):
        return None
    bundle, metadata = view_of(record, session)._repr_mimebundle_()
    return bundle | {_TEXT: _text(record)}, metadata


def _ran_nothing(record: runtime.Recording | runtime.Snapshot) -> bool:
    totals = record if isinstance(record, runtime.Snapshot) else record.snapshot(0)
    return not totals.executed and not totals.copies


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


def _timeline(record: runtime.Recording | runtime.Snapshot, session: Session | None) -> Any:
    """Returns the timeline of a recording; None if nothing ran."""
    from nbtf.notebook.stills.memory_pictures import Still  # imported late, as few cells draw
    from nbtf.notebook.stills.schedule import timed
    from nbtf.notebook.stills.timeline import timeline

    if _ran_nothing(record):
        return None
    snapshot = record if isinstance(record, runtime.Snapshot) else record.snapshot()
    return Still(timeline(timed(snapshot), code_line=_code_line(session)))


def _code_line(session: Session | None) -> Callable[[runtime.Site], str]:
    """Returns the function that describes code lines: in a notebook with the extension, by the number of the cell."""
    return code_lines.in_file if session is None else session.code_line


def _text(displayed: Any) -> str:
    return displayed._totals() if isinstance(displayed, runtime.Snapshot) else repr(displayed)


def _decision(explanation: runtime.Explanation, session: Session | None) -> Any:
    """Returns a placement's decision path; None if it was not recorded, or a session's placer decided."""
    if not explanation.path:
        return None
    from nbtf.notebook.stills.decision import decision  # imported late, as few cells draw
    from nbtf.notebook.stills.memory_pictures import Still

    return Still(decision(explanation, code_line=_code_line(session)))


def _chunks(regions: runtime.MemoryMap, session: Session | None) -> Any:
    """Returns a picture of a device's chunks; None if it has allocated nothing."""
    from nbtf.notebook.stills.memory_pictures import picture_of_map  # imported late, as few cells draw

    return picture_of_map(regions, session) if regions else None


def _hosts(look: runtime.ClusterLook) -> Any:
    """Returns a picture of the cards by host; None if there are none."""
    from nbtf.notebook.stills.cluster_map import cluster_map  # imported late, as few cells draw
    from nbtf.notebook.stills.memory_pictures import Still

    drawn = cluster_map(look)
    return None if drawn is None else Still(drawn)
