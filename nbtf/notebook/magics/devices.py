"""`%devices`: which devices are there, as a table or live?"""

from __future__ import annotations

import argparse
from typing import Any

from nbtf.notebook.device_table import logical, physical
from nbtf.notebook.magics.cell_magics import add_line_magic
from nbtf.notebook.magics.options import Options
from nbtf.notebook.session import Session
from nbtf.notebook.views.live import live


def add_devices_magic(session: Session) -> None:
    """Adds the magic."""
    options = Options("%devices", "Returns a table of the devices. A look: it starts nothing and fixes nothing.")
    shown = options.add_mutually_exclusive_group()
    shown.add_argument("--physical", action="store_true", help="one row for each card, hidden ones too")
    shown.add_argument("--live", action="store_true", help="a map that shows ops and copies while cells run")
    options.add_argument("--here", action="store_true", help="with --live: the whole view in this cell, not in a panel")
    add_line_magic(session, "devices", options, lambda chosen: _answer(session, chosen))


def _answer(session: Session, chosen: argparse.Namespace) -> Any:
    if chosen.live:
        return live(session, "DeviceMap", lambda: logical(session), here=chosen.here)
    return physical(session) if chosen.physical else logical(session)
