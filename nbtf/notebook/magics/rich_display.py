"""How does a notebook show a recording, a map of memory, and why a tensor is where it is?

As pictures, which a saved notebook keeps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf import runtime
from nbtf.notebook.session import Session

_SVG, _HTML = "image/svg+xml", "text/html"


def add_rich_display(session: Session) -> None:
    """Has the shell draw such results until the session stops; what drew them before does so then."""
    _draw(session, _SVG, runtime.Recording, lambda record: _timeline(record, session))
    _draw(session, _SVG, runtime.Explanation, lambda explanation: _decision(explanation, session))
    _draw(session, _SVG, runtime.MemoryMap, lambda regions: _chunks(regions, session))
    # Front ends take HTML where there are both.
    _draw(session, _HTML, runtime.Explanation, lambda explanation: None if explanation.path else _table(explanation))


def _draw(session: Session, mime: str, subject: type[Any], draw: Callable[[Any], str | None]) -> None:
    formatter = session.shell.display_formatter.formatters[mime]
    before = formatter.for_type(subject, draw)

    def undo() -> None:
        if before is None:
            formatter.pop(subject, None)
        else:
            formatter.for_type(subject, before)

    session.on_stop(undo)


def _timeline(record: runtime.Recording, session: Session) -> str | None:
    """Returns the timeline of a recording; None where nothing ran, which its text says."""
    from nbtf.notebook.stills.schedule import schedule_of  # late: few cells draw
    from nbtf.notebook.stills.svg import to_svg
    from nbtf.notebook.stills.timeline import timeline

    snapshot = record.snapshot()
    schedule = schedule_of(snapshot.events, snapshot.cut)
    return to_svg(timeline(schedule, code_line=session.code_line)) if schedule.lanes else None


def _decision(explanation: runtime.Explanation, session: Session) -> str | None:
    """Returns the way to a decision; None where nobody recorded it, or a session's placer decided."""
    from nbtf.notebook.stills.decision import decision  # late: few cells draw
    from nbtf.notebook.stills.svg import to_svg

    return to_svg(decision(explanation, code_line=session.code_line)) if explanation.path else None


def _chunks(regions: runtime.MemoryMap, session: Session) -> str | None:
    """Returns the chunks of a device; None where it has taken nothing."""
    from nbtf.notebook.stills.memory_pictures import picture_of_map  # late: few cells draw

    return picture_of_map(regions, session)._repr_svg_() if regions else None


def _table(explanation: runtime.Explanation) -> str:
    return explanation._repr_html_()
