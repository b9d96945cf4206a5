"""Which magics does the extension add?"""

from __future__ import annotations

from nbtf.notebook.magics.cell_magics import CellMagics
from nbtf.notebook.magics.check import add_check_magic
from nbtf.notebook.magics.cluster import add_cluster_magic
from nbtf.notebook.magics.device import add_device_magics
from nbtf.notebook.magics.devices import add_devices_magic
from nbtf.notebook.magics.explain import add_explain_magics
from nbtf.notebook.magics.gpu_memory import add_memory_magics
from nbtf.notebook.magics.needs import add_needs_magic
from nbtf.notebook.magics.placement import add_placement_magic
from nbtf.notebook.magics.placement_log import Printer, add_log_magic
from nbtf.notebook.session import Session


def add_extension(session: Session) -> None:
    """Adds all magics, their completion and the reports of errors to a session's shell, until the session stops."""
    from nbtf.notebook.error_reports.out_of_memory import add_out_of_memory_reports
    from nbtf.notebook.magics.completion import add_completion  # imported late: the functions need no IPython

    add_out_of_memory_reports(session)
    add_magics(session)
    add_completion(session)


def add_magics(session: Session) -> None:
    """Adds all magics to a session, for its shell and for the functions that do the same."""
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
