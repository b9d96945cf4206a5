"""Which devices are available, as a table: simulated or real, on which card, and how full are they?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from nbtf import runtime
from nbtf._counts import counted
from nbtf.notebook.device_names import device_kind, host_of, label, losses, short, state_of
from nbtf.notebook.session import Session
from nbtf.notebook.tables import MOST_ROWS, Column, Table, facts_of, sizes, texts

LISTER = "`%devices --all`"
"""The command that shows all rows of a table that was cut."""

LOGICAL = (
    *texts("device", "kind", "model"),
    Column("card", "card", number=True),
    Column("bus_id", "bus id"),
    *sizes(memory_limit="limit", in_use="in use", peak="peak"),
    Column("ops", "ops", number=True),
)


def _used_as(names: list[str]) -> str:
    return ", ".join(names) or "hidden"


PHYSICAL = (
    Column("physical", "physical device"),
    *texts("kind", "model"),
    Column("card", "card", number=True),
    Column("bus_id", "bus id"),
    *sizes(memory="memory"),
    Column("devices", "used as", _used_as),
)


def logical(session: Session, is_whole: bool = False) -> Table:
    """Returns a row for each device; if there are many, only the first are shown unless `is_whole`."""
    ops: Counter[str] = Counter()
    for (_, device, _), count in session.recorder.snapshot(0).ops.items():
        ops[short(device)] += count
    devices = [session.cards.numbered(device) for device in runtime.devices()]
    rows: list[dict[str, Any]] = [
        {"device": device.name, "kind": state_of(device)}
        | facts_of(device, "model", "card", "bus_id", "memory_limit", "in_use", "peak")
        | {"ops": ops[device.name]}
        | ({} if device.cuda is None else {"cuda": device.cuda})
        for device in devices
    ]
    return Table(LOGICAL, rows, _notes(devices), len(rows) if is_whole else MOST_ROWS, LISTER)


def _notes(devices: Sequence[runtime.DeviceInfo]) -> list[str]:
    gpus = [device for device in devices if device.device_type == "GPU"]
    default = runtime.get_default_device()
    if default is not None:
        goes = f"Default device of this session: {label(default)}."
    else:
        local = [gpu.name for gpu in gpus if not host_of(gpu.name)]
        goes = f"Automatic placement prefers {local[0]}." if local else "No GPU is available: ops run on CPU:0."
    simulated = sum(device.simulated for device in gpus)
    note = (
        f"{simulated} of {counted(len(gpus), 'GPU')} {'is' if simulated == 1 else 'are'} simulated by NumPy on the CPU."
    )
    namings = [device.naming for device in gpus if device.naming is not None]
    return [goes, *([note] if simulated else []), *losses(devices), *namings]


def physical(session: Session, is_whole: bool = False) -> Table:
    """Returns a row for each card, including hidden ones; if there are many, only the first unless `is_whole`."""
    used: dict[tuple[str, int | None], list[str]] = {}
    for device in map(session.cards.numbered, runtime.devices()):
        used.setdefault((device.device_type, device.card), []).append(device.name)
    rows: list[dict[str, Any]] = [
        {"physical": device.name, "kind": device_kind(device)}
        | facts_of(device, "model", "card", "bus_id", "memory")
        | {"devices": used.get((device.device_type, device.card), []) if device.visible else []}
        for device in map(session.cards.numbered, runtime.physical_devices())
    ]
    listed = {row["bus_id"] for row in rows}
    unused_cards = [card for card in session.cards.all() if card.bus_id not in listed]  # hidden, or CuPy is missing
    rows += [
        {"physical": f"card {card.number}", "kind": "real", "model": card.name, "card": card.number}
        | {"bus_id": card.bus_id, "memory": card.total, "devices": []}
        for card in unused_cards
    ]
    notes = ["nbtf does not use hidden cards. Run `nbtf doctor` for the reason."] if unused_cards else []
    return Table(PHYSICAL, rows, notes, len(rows) if is_whole else MOST_ROWS, "`%devices --physical --all`")
