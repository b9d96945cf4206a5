"""How full are the GPUs, as a table, and how does each real card's use add up?"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from nbtf import runtime
from nbtf.notebook.device_names import losses, state_of
from nbtf.notebook.holders.card_rows import real_cards
from nbtf.notebook.session import Session
from nbtf.notebook.tables import MOST_ROWS, NOTHING, Column, Table, facts_of, sizes, texts

BAR = 10
"""Width of a full bar in characters."""


def percent(share: float | None) -> str:
    """Returns a bar of ten characters and a number; a nonzero share is always visible."""
    if share is None:
        return NOTHING
    full = min(BAR, math.ceil(share * BAR / 100))
    return f"{'█' * full}{'░' * (BAR - full)} {'under 1' if 0 < share < 1 else int(share)} %"


def share_of(used: int | None, total: int | None) -> float | None:
    """Returns the percentage of some memory that is in use; None if it is unknown."""
    return 100 * used / total if used is not None and total else None


COLUMNS = (
    *texts("device", "kind"),
    *sizes(in_use="in use"),
    Column("percent", "of limit", percent),
    *sizes(peak="peak", pool="pool", memory_limit="limit", process="this process", whole="whole device"),
)
"""The last two columns are for real cards: the total of this process, and the figure that `nvidia-smi` shows."""


def gpus_named(names: Collection[str]) -> list[runtime.DeviceInfo]:
    """Returns the GPUs with these short names; all if `names` is empty."""
    return [gpu for gpu in runtime.devices() if gpu.device_type == "GPU" and (not names or gpu.name in names)]


def table(session: Session, names: Collection[str], is_whole: bool = False) -> Table:
    """Returns a row for each GPU, followed by how each real card's use adds up.

    Args:
      session: the session that reads the driver.
      names: short names of the GPUs to include; all if empty.
      is_whole: shows all rows, even if there are many.
    """
    gpus = gpus_named(names)
    uses = session.cards.of(runtime.devices(), age=0)
    rows: list[dict[str, Any]] = [
        {"device": gpu.name, "kind": state_of(gpu), "in_use": gpu.in_use}
        | {"percent": share_of(gpu.in_use, gpu.memory_limit)}
        | facts_of(gpu, "peak", "pool", "memory_limit")
        | ({"process": uses[gpu.name].process, "whole": uses[gpu.name].used} if gpu.name in uses else {})
        for gpu in gpus
    ]
    notes: list[str] = []
    if not gpus:  # nbtf cannot use the cards, for example without CuPy, but the driver reports them
        rows, notes = _cards(session)
    if any(gpu.in_use is None and not gpu.lost for gpu in gpus) and not any(use.used for use in uses.values()):
        notes = ["Nothing is in use yet: the first op starts the devices."]
    notes += losses(gpus)
    notes += dict.fromkeys(uses[gpu.name].sum() for gpu in gpus if gpu.name in uses)
    return Table(COLUMNS, rows, notes, len(rows) if is_whole else MOST_ROWS, "`%gpu_memory --all`")


def _cards(session: Session) -> tuple[list[dict[str, Any]], list[str]]:
    """Returns a row for each real card of this machine, and notes: free cards, and how each card's use adds up."""
    cards = [card[0] for card in real_cards(session, ())]
    if not cards:
        return [], ["No GPU is available. Memory is tracked only for GPUs."]
    uses = [session.cards.use([card]) for card in cards]
    rows = [
        {"device": card.name, "kind": "real", "memory_limit": use.total, "process": use.process, "whole": use.used}
        for card, use in zip(cards, uses, strict=True)
    ]
    free = [card.name for card, use in zip(cards, uses, strict=True) if use.process == use.others == 0]
    notes = [f"No process uses {', '.join(free)}."] if free else []
    return rows, notes + [use.sum() for use in uses]
