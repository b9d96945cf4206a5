"""`%gpu_memory` and `%%gpu_memory`: how full are the GPUs, and how much memory did a cell use and keep?"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nbtf import config, runtime
from nbtf.notebook.device_names import full_name, require, short
from nbtf.notebook.holders.table import build_table, forget
from nbtf.notebook.magics.cell_magics import CellMagics, add_line_magic, has_option
from nbtf.notebook.magics.cluster_look import cards, holders, look_of
from nbtf.notebook.magics.compiled import plan_of
from nbtf.notebook.magics.options import options_of
from nbtf.notebook.magics.predict import PREDICTION, predicted
from nbtf.notebook.memory_table import gpus_named, table
from nbtf.notebook.session import Session, say
from nbtf.notebook.usage_error import UsageError
from nbtf.notebook.views.live import live


def add_memory_magics(session: Session, cells: CellMagics) -> None:
    """Adds both magics."""
    now = options_of("%gpu_memory", spec=full_name)
    add_line_magic(session, "gpu_memory", now, lambda chosen: _of_cluster_or_here(session, chosen))

    sizes = {"at_most": runtime.size_in_bytes, "kept": runtime.size_in_bytes}
    of_cell = options_of("%%gpu_memory", **sizes, **PREDICTION)

    def begin(chosen: Any) -> None:
        if chosen.compare is not None:
            raise UsageError("%%gpu_memory: --compare needs --predict.")
        session.record_cell(lambda record, failed: _report(record, failed, chosen))

    def is_predicted(line: str) -> bool:
        return has_option(line, "--predict")

    cells.add("gpu_memory", of_cell, begin, (is_predicted, lambda chosen, body: predicted(session, chosen, body)))


def _of_cluster_or_here(session: Session, chosen: argparse.Namespace) -> Any:
    if chosen.cluster is not None:
        return _of_cluster(session, chosen)
    if chosen.file is not None:
        return _file(session, chosen.file, chosen.spec)
    return _answer(session, chosen) if chosen.compiled is None else plan_of(session, chosen.compiled)


def _answer(session: Session, chosen: argparse.Namespace) -> Any:
    if chosen.all and (chosen.live or chosen.picture):
        raise UsageError("%gpu_memory: --all needs a table, alone or with --who. Run %gpu_memory -h for help.")
    names = _names(chosen)
    if chosen.picture:
        return _picture(session, chosen.picture, [gpu.name for gpu in gpus_named(names)])
    if chosen.forget_last_error:
        forget(session)
    if chosen.reset_peak:
        for gpu in gpus_named(names):
            if gpu.in_use is not None:  # a device that has not started has no peak, and need not be started for this
                config.experimental.reset_memory_stats(gpu.name)
    if chosen.who:
        return build_table(session, [gpu.name for gpu in gpus_named(names)], each=chosen.all)
    if chosen.forget_last_error and not (chosen.live or chosen.reset_peak):
        return None  # the freed memory has been reported; no table was requested
    if chosen.live:
        return live(session, "MemoryView", lambda: table(session, names), names, chosen.here)
    return table(session, names, chosen.all)


def _of_cluster(session: Session, chosen: argparse.Namespace) -> Any:
    if (
        chosen.live
        or chosen.all
        or chosen.compiled
        or chosen.picture
        or chosen.spec
        or chosen.reset_peak
        or chosen.forget_last_error
    ):
        raise UsageError("%gpu_memory: combine --cluster only with --who. Run %gpu_memory -h for help.")
    look = look_of("%gpu_memory", session, chosen.cluster)
    return holders(look) if chosen.who else cards(look)


def _names(chosen: argparse.Namespace) -> tuple[str, ...]:
    """Returns the short names of the requested GPUs, which must be available."""
    for name in chosen.spec:
        require(name, False, "%devices lists them.")
    return tuple(short(name) for name in chosen.spec if name is not None)


def _picture(session: Session, view: str, names: list[str]) -> Any:
    """Returns a picture of a GPU's memory; of several GPUs, the one with the most events."""
    from nbtf.notebook.stills.memory_pictures import picture_of_session, steps_by_device  # imported late: few draw

    busy = steps_by_device(session)
    if any(busy[name] for name in names):
        return picture_of_session(session, max(names, key=lambda name: busy[name]), view)
    say("Nothing to draw: no memory of a simulated GPU was allocated since the extension was loaded.")
    return None


def _file(session: Session, path: Path, names: Sequence[str]) -> Any:
    """Returns the views of a file; of a snapshot, those of the named GPU, which this machine need not have."""
    from nbtf.notebook.magics.rich_display import view_of_file
    from nbtf.notebook.opened_files import Options, open_file  # imported late: few read files

    try:
        options = Options(int(names[0].rpartition(":")[2])) if names else Options()
        return view_of_file(open_file(path, options), session)
    except OSError as error:
        raise UsageError(f"%gpu_memory: cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"%gpu_memory: {error}") from error


# Of a cell


def _report(record: runtime.Recording, failed: bool, chosen: Any) -> None:
    uses, unmeasured = record.memory, record.watch.unmeasured(chosen.without)
    for use in uses:
        note = f" ({use.note})" if use.note else ""
        say(f"{use.label}: peak {runtime.exact(use.peak)}{note}, {use.kept:+,} B kept after the cell")
    if not uses and not unmeasured:
        say("No GPU was used.")
    if chosen.at_most is None and chosen.kept is None:
        for sentence in unmeasured:
            say(sentence)
    if not failed:  # a cell that failed already shows its error
        record.expect_memory(chosen.at_most, chosen.kept, chosen.without)
