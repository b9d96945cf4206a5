"""`%devices`: which devices are available, as a table, live, or as a saved page?"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from nbtf._counts import counted
from nbtf.notebook.device_table import logical, physical
from nbtf.notebook.magics.cell_magics import add_line_magic
from nbtf.notebook.magics.cluster_look import cards, look_of, picture
from nbtf.notebook.magics.options import options_of
from nbtf.notebook.session import Session, say
from nbtf.notebook.usage_error import UsageError
from nbtf.notebook.views.live import live


def add_devices_magic(session: Session) -> None:
    """Adds the magic."""
    options = options_of("%devices")
    add_line_magic(session, "devices", options, lambda chosen: _answer(session, chosen))


def _answer(session: Session, chosen: argparse.Namespace) -> Any:
    if chosen.all and (chosen.live or chosen.map or chosen.save is not None or chosen.cluster is not None):
        raise UsageError("%devices: --all needs a table, alone or with --physical. Run %devices -h for help.")
    if chosen.cluster is not None:
        if chosen.live or chosen.physical or chosen.save is not None:
            raise UsageError("%devices: combine --cluster only with --map. Run %devices -h for help.")
        look = look_of("%devices", session, chosen.cluster)
        return picture(look) if chosen.map else cards(look)
    if chosen.live:
        return live(session, "DeviceMap", lambda: logical(session), in_cell=chosen.here)
    if chosen.save is not None:
        return _save(session, chosen.save)
    if chosen.map:
        from nbtf.notebook.stills.device_map import map_of_session  # imported late, as few cells draw

        return map_of_session(session)
    return (physical if chosen.physical else logical)(session, chosen.all)


def _save(session: Session, file: str) -> None:
    from nbtf.notebook.stills.memory_pictures import memory_scenes_of_session  # imported late, as few cells draw
    from nbtf.notebook.views.page import save_page

    snapshot = session.recorder.snapshot()
    try:
        save_page(snapshot, Path(file).expanduser(), session.code_line, memory_scenes_of_session(session))
    except ValueError as error:
        raise UsageError(f"%devices --save: {error}") from None
    except OSError as error:
        raise UsageError(f"%devices --save: cannot write {file}: {error.strerror or error}") from None
    say(f"wrote {counted(len(snapshot.events), 'event')} to {file}")
