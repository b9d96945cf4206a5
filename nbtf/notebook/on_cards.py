"""Who is on a real card beside nbtf's tensors: other libraries of this process, and other processes?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from nbtf import runtime
from nbtf.notebook.foreign import addresses, array_rows, pool_rows
from nbtf.notebook.holders import Holders
from nbtf.notebook.libraries import Arrays, uuids
from nbtf.notebook.processes import owner
from nbtf.notebook.session import Session

Row = dict[str, Any]
Cards = list[list[runtime.DeviceInfo]]
"""For each card the devices on it, or one that stands for a card that nbtf does not use."""

SHUT_DOWN = (
    "A kernel is shut down where it was started: JupyterLab lists them under Running. Nothing here ends a process."
)


def real_cards(session: Session, gpus: Sequence[runtime.DeviceInfo]) -> Cards:
    """Returns the real cards that some GPUs are on; where nbtf has no GPU at all, those that the driver tells of."""
    cards: dict[int, list[runtime.DeviceInfo]] = {}
    for gpu in gpus:
        if gpu.cuda is not None:
            cards.setdefault(gpu.cuda, []).append(gpu)
    if cards or any(one.device_type == "GPU" for one in runtime.devices()):
        return list(cards.values())
    numbers = uuids()
    return [[_stand_in(card, numbers.get(card.uuid or ""))] for card in session.cards.all()]


def _stand_in(card: runtime.CardReading, ordinal: int | None) -> runtime.DeviceInfo:
    known: dict[str, Any] = {"bus_id": card.bus_id, "uuid": card.uuid, "memory": card.total, "cuda": ordinal}
    return runtime.DeviceInfo(f"card {card.number}", "GPU", model=card.name, card=card.number, **known)


def others(holders: Holders, kinds: Sequence[Arrays], cards: Cards) -> list[Row]:
    """Returns rows for what other libraries of this process have on cards."""
    numbers = [card[0].cuda for card in cards if card[0].cuda is not None]
    ours = [place for card in cards for gpu in card for place in addresses(gpu.name)]
    rows = array_rows(holders, kinds, numbers, ours)
    return rows + pool_rows(numbers, rows)


def on_cards(session: Session, cards: Cards, rows: Sequence[Row]) -> tuple[list[Row], list[str]]:
    """Returns rows for what is on cards beside arrays, one card after the other, and notes.

    Args:
      session: whose view of the cards it is.
      cards: the cards.
      rows: what was told of arrays.
    """
    told, notes = list[Row](), list[str]()
    for card in cards:
        use = session.cards.use(card)
        device = f"card {use.number}" if use.number is not None else use.name
        kept = use.pool - use.in_use
        if kept > 0:
            told.append(_row(device, "nbtf: kept in its pool for later tensors", kept))
        if use.context:
            told.append(_row(device, "this process: CUDA's context, and libraries without a pool", use.context))
        told += [_process(device, one) for one in session.cards.processes(card[0]) if one.pid != os.getpid()]
        notes.append(use.sum())
        notes += [gpu.naming for gpu in map(session.cards.numbered, card) if gpu.naming and gpu.name.startswith("GPU")]
    if any(row.get("kernel") for row in told):
        notes.append(SHUT_DOWN)
    return told, notes


def _process(device: str, process: runtime.CardProcess) -> Row:
    known = owner(process.pid)
    return _row(device, known.text, process.nbytes) | known._asdict()


def _row(device: str, holder: str, nbytes: int | None) -> Row:
    return {"device": device, "holder": holder, "nbytes": nbytes, "frees": None}
