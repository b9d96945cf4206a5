"""Rows for a card's memory besides nbtf's tensors: other libraries of this process, and other processes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from nbtf import runtime
from nbtf.notebook.holders.containers import Gather, Row
from nbtf.notebook.holders.graph_rows import GraphRows
from nbtf.notebook.holders.holders import Holders
from nbtf.notebook.holders.library_rows import ForeignArrays
from nbtf.notebook.holders.pool_rows import addresses, pool_rows
from nbtf.notebook.session import Session

Cards = list[list[runtime.DeviceInfo]]
"""Each card with its devices, or with a substitute if nbtf does not use the card."""

SHUT_DOWN = "To shut down a kernel, use the Running panel of its JupyterLab. nbtf does not end processes."


def real_cards(session: Session, gpus: Sequence[runtime.DeviceInfo]) -> Cards:
    """Returns the cards of the given GPUs that other libraries can use as well.

    Without such GPUs, returns the cards of the driver and of other libraries. With simulated GPUs, returns only cards
    that a library of this process already uses.
    """
    cards: dict[int, list[runtime.DeviceInfo]] = {}
    for gpu in gpus:
        if gpu.cuda is not None:
            cards.setdefault(gpu.cuda, []).append(gpu)
    devices = runtime.devices()
    if cards or any(device.cuda is not None for device in devices):
        return list(cards.values())
    in_use = {card.number: card for library in runtime.frameworks() for card in library.cards()}
    numbers = {card.uuid: card.number for card in in_use.values() if card.uuid is not None}
    stand_ins = [_of_reading(card, numbers.get(card.uuid or "")) for card in session.cards.all()]
    if any(device.device_type == "GPU" for device in devices):
        stand_ins = [device for device in stand_ins if device.cuda is not None]
    return [[device] for device in stand_ins or [_of_library(card) for _, card in sorted(in_use.items())]]


def _of_reading(card: runtime.CardReading, ordinal: int | None) -> runtime.DeviceInfo:
    facts: dict[str, Any] = {"bus_id": card.bus_id, "uuid": card.uuid, "memory": card.total, "cuda": ordinal}
    return runtime.DeviceInfo(f"card {card.number}", "GPU", model=card.name, card=card.number, **facts)


def _of_library(card: runtime.Card) -> runtime.DeviceInfo:
    """Returns a substitute for a card that a library uses but the driver does not report."""
    facts: dict[str, Any] = {"uuid": card.uuid, "memory": card.total, "cuda": card.number}
    return runtime.DeviceInfo(f"cuda:{card.number}", "GPU", model=card.model or None, **facts)


def foreign_rows(holders: Holders, arrays: Sequence[runtime.Arrays], cards: Cards, gather: Gather) -> list[Row]:
    """Returns rows for the memory of this process's other libraries on the cards."""
    numbers = [card[0].cuda for card in cards if card[0].cuda is not None]
    own_ranges = [span for card in cards for gpu in card for span in addresses(gpu.name)]
    foreign = ForeignArrays(holders, arrays, numbers, own_ranges)
    rows = foreign.rows(gather) + GraphRows(foreign).rows(gather)
    return rows + pool_rows(numbers, rows, foreign.listed, holders.finished)


def on_cards(session: Session, cards: Cards, rows: Sequence[Row]) -> tuple[list[Row], list[str]]:
    """Returns rows for the rest of each card's memory, in order of cards, and notes.

    Args:
      session: the session whose driver readings are used.
      cards: the cards. Simulated cards that are not in use share one note.
      rows: the rows that already exist for arrays.
    """
    card_rows, notes, empty = list[Row](), list[str](), list[str]()
    for card in cards:
        use = session.cards.use(card)
        if use.simulated and not use.used:
            empty.append(f"cuda:{card[0].cuda}")
            continue
        noun = "simulated card" if use.simulated else "card"
        device = f"{noun} {use.number}" if use.number is not None else use.name
        unused = use.pool - use.in_use
        if unused > 0:
            card_rows.append(_row(device, "nbtf: kept in its pool for later tensors", unused))
        if use.context:
            card_rows.append(_row(device, "this process: CUDA's context, and libraries without a pool", use.context))
        card_rows += [_process(device, each) for each in session.cards.processes(card[0]) if each.pid != os.getpid()]
        notes.append(use.sum())
        notes += [gpu.naming for gpu in map(session.cards.numbered, card) if gpu.naming and gpu.name.startswith("GPU")]
    if empty:
        notes.append(f"Nothing is in use on {', '.join(empty)} (simulated).")
    if any(row.get("kernel") for row in card_rows):
        notes.append(SHUT_DOWN)
    return card_rows, notes


def _process(device: str, process: runtime.CardProcess) -> Row:
    owner = runtime.process_owner(process.pid)
    return _row(device, owner.text, process.nbytes) | owner._asdict()


def _row(device: str, holder: str, nbytes: int | None) -> Row:
    return {"device": device, "holder": holder, "nbytes": nbytes, "frees": None}
