"""`%gpu_memory` and `%%gpu_memory`: how full are the GPUs, and what did a cell take and keep?"""

from __future__ import annotations

import argparse
import math
from collections.abc import Collection
from typing import Any

from nbtf import config, runtime
from nbtf.notebook.cell_magics import CellMagics, add_line_magic
from nbtf.notebook.device_names import full_name, kind, require, short
from nbtf.notebook.live import live
from nbtf.notebook.on_cards import real_cards
from nbtf.notebook.options import Options, add_without, typed
from nbtf.notebook.session import Session, say
from nbtf.notebook.tables import NOTHING, Column, Table, size
from nbtf.notebook.who import add_hint, forget, who

BAR = 10
"""Characters of a full bar."""


def _percent(percent: float | None) -> str:
    """Returns a bar of ten characters and a number; whatever is in use shows."""
    if percent is None:
        return NOTHING
    full = min(BAR, math.ceil(percent * BAR / 100))
    return f"{'█' * full}{'░' * (BAR - full)} {'under 1' if 0 < percent < 1 else int(percent)} %"


COLUMNS = (
    Column("device", "device"),
    Column("kind", "kind"),
    Column("in_use", "in use", size, number=True),
    Column("percent", "of limit", _percent),
    Column("peak", "peak", size, number=True),
    Column("pool", "pool", size, number=True),
    Column("memory_limit", "limit", size, number=True),
    Column("process", "this process", size, number=True),
    Column("whole", "whole device", size, number=True),
)
"""The last two are of real cards: what this process took in all, and what `nvidia-smi` shows."""


def add_memory_magics(session: Session, cells: CellMagics) -> None:
    """Adds both magics."""
    add_hint(session)
    now = Options("%gpu_memory", "Returns what is in use on each GPU, in bytes of its allocator.")
    now.add_argument("spec", metavar="SPEC", type=typed(full_name), nargs="*", help="only these GPUs")
    now.add_argument("--reset-peak", action="store_true", help="from now on the peak is counted anew")
    shown = now.add_mutually_exclusive_group()
    shown.add_argument("--live", action="store_true", help="a view that follows the memory while cells run")
    shown.add_argument("--who", action="store_true", help="who holds it, and the line that frees it")
    now.add_argument("--forget-last-error", action="store_true", help="free what the last error keeps alive")
    add_line_magic(session, "gpu_memory", now, lambda chosen: _answer(session, chosen))

    of_cell = Options("%%gpu_memory", "Prints what this cell took on each GPU, and checks it.")
    sized = typed(runtime.size_in_bytes)
    of_cell.add_argument("--at-most", metavar="SIZE", type=sized, help="fail when a peak is higher, as in 512MiB")
    of_cell.add_argument("--kept", metavar="SIZE", type=sized, help="fail when more stays in use than before, as in 0")

    add_without(of_cell)

    def begin(chosen: Any) -> None:
        session.record_cell(lambda record, failed: _told(record, failed, chosen))

    cells.add("gpu_memory", of_cell, begin)


def _answer(session: Session, chosen: argparse.Namespace) -> Any:
    for name in chosen.spec:
        require(name, False, "%devices lists them.")
    names = tuple(short(name) for name in chosen.spec if name is not None)
    if chosen.forget_last_error:
        forget(session)
    if chosen.reset_peak:
        for gpu in _gpus(names):
            if gpu.in_use is not None:  # a device that nobody has started has no peak, and is not started for this
                config.experimental.reset_memory_stats(gpu.name)
    if chosen.who:
        return who(session, [gpu.name for gpu in _gpus(names)])
    if chosen.forget_last_error and not (chosen.live or chosen.reset_peak):
        return None  # what it has freed is said; nothing else was asked
    if chosen.live:
        return live(session, "MemoryView", lambda: table(session, names), names)
    return table(session, names)


def _gpus(names: Collection[str]) -> list[runtime.DeviceInfo]:
    return [one for one in runtime.devices() if one.device_type == "GPU" and (not names or one.name in names)]


def table(session: Session, names: Collection[str]) -> Table:
    """Returns a row for each GPU, or only for some by their short names; below it how each real card's use adds up."""
    gpus = _gpus(names)
    uses = session.cards.of(runtime.devices(), age=0)
    rows: list[dict[str, Any]] = [
        {
            "device": gpu.name,
            "kind": kind(gpu),
            "in_use": gpu.in_use,
            "percent": 100 * gpu.in_use / gpu.memory_limit if gpu.in_use is not None and gpu.memory_limit else None,
            "peak": gpu.peak,
            "pool": gpu.pool,
            "memory_limit": gpu.memory_limit,
            **({"process": uses[gpu.name].process, "whole": uses[gpu.name].used} if gpu.name in uses else {}),
        }
        for gpu in gpus
    ]
    notes: list[str] = []
    if not gpus:  # nbtf cannot use the cards, as without CuPy, but the driver tells of them
        rows, notes = _cards(session)
    if any(gpu.in_use is None for gpu in gpus):
        notes = ["Nothing is in use yet: the first op starts the devices."]
    notes += dict.fromkeys(uses[gpu.name].sum() for gpu in gpus if gpu.name in uses)
    return Table(COLUMNS, rows, notes)


def _cards(session: Session) -> tuple[list[dict[str, Any]], list[str]]:
    """Returns a row for each real card of this machine, and notes: which are free, and how each adds up."""
    cards = [card[0] for card in real_cards(session, ())]
    if not cards:
        return [], ["Only GPUs keep an account of their memory; none to show here."]
    uses = [session.cards.use([card]) for card in cards]
    rows = [
        {"device": card.name, "kind": "real", "memory_limit": use.total, "process": use.process, "whole": use.used}
        for card, use in zip(cards, uses, strict=True)
    ]
    free = [card.name for card, use in zip(cards, uses, strict=True) if use.process == use.others == 0]
    notes = [f"No process is on {', '.join(free)}."] if free else []
    return rows, notes + [use.sum() for use in uses]


# Of a cell


def _told(record: runtime.Recording, failed: bool, chosen: Any) -> None:
    uses, unmeasured = record.memory, record.watch.unmeasured(chosen.without)
    for use in uses:
        note = f" ({use.note})" if use.note else ""
        say(f"{use.label}: peak {runtime.exact(use.peak)}{note}, {use.kept:+,} B kept after the cell")
    if not uses and not unmeasured:
        say("No GPU was used.")
    if chosen.at_most is None and chosen.kept is None:
        for sentence in unmeasured:
            say(sentence)
    if not failed:  # a cell that failed says so itself
        record.expect_memory(chosen.at_most, chosen.kept, chosen.without)
