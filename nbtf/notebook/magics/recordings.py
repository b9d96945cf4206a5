"""How does a notebook show a recording? As a timeline, which a saved notebook keeps."""

from __future__ import annotations

from nbtf import runtime
from nbtf.notebook.session import Session

_SVG = "image/svg+xml"


def add_recording_display(session: Session) -> None:
    """Has the shell draw recordings until the session stops; what drew them before does so again then."""
    formatter = session.shell.display_formatter.formatters[_SVG]

    def draw(record: runtime.Recording) -> str | None:
        return _drawn(record, session)

    before = formatter.for_type(runtime.Recording, draw)

    def undo() -> None:
        if before is None:
            formatter.pop(runtime.Recording, None)
        else:
            formatter.for_type(runtime.Recording, before)

    session.on_stop(undo)


def _drawn(record: runtime.Recording, session: Session) -> str | None:
    """Returns the timeline of a recording; None where nothing ran, which its text says."""
    from nbtf.notebook.stills.schedule import schedule_of  # late: few cells draw
    from nbtf.notebook.stills.svg import to_svg
    from nbtf.notebook.stills.timeline import timeline

    snapshot = record.snapshot()
    schedule = schedule_of(snapshot.events, snapshot.cut)
    return to_svg(timeline(schedule, code_line=session.code_line)) if schedule.lanes else None
