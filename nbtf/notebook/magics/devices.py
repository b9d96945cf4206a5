"""`%devices`: which devices are there, as a table, live, or as a page that is saved?"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from IPython.core.error import UsageError

from nbtf._counts import counted
from nbtf.notebook.device_table import logical, physical
from nbtf.notebook.magics.cell_magics import add_line_magic
from nbtf.notebook.magics.cluster_look import CLUSTER_HELP, cards, look_of, picture
from nbtf.notebook.magics.options import Options
from nbtf.notebook.session import Session, say
from nbtf.notebook.views.live import live


def add_devices_magic(session: Session) -> None:
    """Adds the magic."""
    options = Options("%devices", "Returns a table of the devices. A look: it starts nothing and fixes nothing.")
    choices = options.add_mutually_exclusive_group()
    choices.add_argument("--physical", action="store_true", help="one row for each card, hidden ones too")
    choices.add_argument("--map", action="store_true", help="a picture: what ran where and why, and what was copied")
    choices.add_argument("--live", action="store_true", help="a map that shows ops and copies while cells run")
    choices.add_argument(
        "--save", metavar="FILE", help="what ran since %%load_ext nbtf as one HTML page: time and memory"
    )
    options.add_argument("--all", action="store_true", help="all rows of the table, also of a thousand devices")
    options.add_argument("--cluster", metavar="CLUSTER", help=CLUSTER_HELP)
    options.add_argument("--here", action="store_true", help="with --live: the whole view in this cell, not in a panel")
    add_line_magic(session, "devices", options, lambda chosen: _answer(session, chosen))


def _answer(session: Session, chosen: argparse.Namespace) -> Any:
    if chosen.all and (chosen.live or chosen.map or chosen.save is not None or chosen.cluster is not None):
        raise UsageError("%devices: --all goes with a table, alone or with --physical. %devices -h says what there is.")
    if chosen.cluster is not None:
        if chosen.live or chosen.physical or chosen.save is not None:
            raise UsageError("%devices: --cluster goes with --map, or alone. %devices -h says what there is.")
        look = look_of("%devices", session, chosen.cluster)
        return picture(look) if chosen.map else cards(look)
    if chosen.live:
        return live(session, "DeviceMap", lambda: logical(session), in_cell=chosen.here)
    if chosen.save is not None:
        return _save(session, chosen.save)
    if chosen.map:
        from nbtf.notebook.stills.device_map import map_of_session  # late: few cells draw

        return map_of_session(session)
    return (physical if chosen.physical else logical)(session, chosen.all)


def _save(session: Session, file: str) -> None:
    from nbtf.notebook.stills.memory_pictures import memory_scenes_of_session  # late: few cells draw
    from nbtf.notebook.views.page import save_page

    snapshot = session.recorder.snapshot()
    try:
        save_page(snapshot, Path(file).expanduser(), session.code_line, memory_scenes_of_session(session))
    except ValueError as error:
        raise UsageError(f"%devices --save: {error}") from None
    except OSError as error:
        raise UsageError(f"%devices --save: cannot write {file}: {error.strerror or error}") from None
    say(f"wrote {counted(len(snapshot.events), 'event')} to {file}")
