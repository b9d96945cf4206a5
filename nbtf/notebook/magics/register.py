"""Which magics does the extension add?"""

from __future__ import annotations

from nbtf.notebook.magics.cell_magics import CellMagics
from nbtf.notebook.magics.check import add_check_magic
from nbtf.notebook.magics.cluster import add_cluster_magic
from nbtf.notebook.magics.completion import add_completion
from nbtf.notebook.magics.device import add_device_magics
from nbtf.notebook.magics.devices import add_devices_magic
from nbtf.notebook.magics.explain import add_explain_magics
from nbtf.notebook.magics.gpu_memory import add_memory_magics
from nbtf.notebook.magics.needs import add_needs_magic
from nbtf.notebook.magics.placement import add_placement_magic
from nbtf.notebook.magics.placement_log import Printer, add_log_magic
from nbtf.notebook.magics.rich_display import add_rich_display
from nbtf.notebook.session import Session


def add_magics(session: Session) -> None:
    """Adds all magics and their completion to a session's shell, until the session stops."""
    cells = CellMagics(session)
    printer = Printer(session)
    add_device_magics(session, cells, printer)
    add_devices_magic(session)
    add_log_magic(session, printer)
    add_placement_magic(session, cells)
    add_memory_magics(session, cells)
    add_needs_magic(cells)
    add_explain_magics(session, cells)
    add_check_magic(session)
    add_cluster_magic(session)
    add_rich_display(session)
    add_completion(session)
