"""A process's report about its host: cards, memory in use, pools, processes, and what holds the memory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from nbtf._cluster.roots import Owned, search
from nbtf._devices.base import Buffer
from nbtf._devices.nvml import CardMonitor, CardReading
from nbtf._devices.processes import process_owner
from nbtf._frameworks import frameworks
from nbtf._frameworks.base import Arrays, Framework
from nbtf._runtime.holding import holding
from nbtf._runtime.inventory import DeviceInfo, devices


def report(roots: Mapping[str, Any], seconds: float, is_used: bool, task: Any = None) -> dict[str, Any]:
    """Returns the report as plain data, without starting a card or importing a library.

    Args:
      roots: objects that the process keeps, by description.
      seconds: longest search for holders, in seconds.
      is_used: whether the process may be using nbtf.
      task: task of a cluster that the process is, if any: a program elsewhere has tensors on its devices.
    """
    monitor = CardMonitor()
    try:
        cards = [_card(reading) for reading in monitor.cards()]
        missing = monitor.missing
    finally:
        monitor.close()
    libraries = frameworks()
    cards = cards or [_card(reading) for reading in _of_libraries(libraries, missing or "")]
    own_devices = [device for device in devices() if device.device_type == "GPU"] if is_used else []
    own_devices = _devices_of(task) or own_devices
    uuids = {f"cuda:{card.number}": card.uuid for library in libraries for card in library.cards()}
    arrays = [each for library in libraries if (each := library.arrays()) is not None]
    has_memory = any(library.pools() for library in libraries) or any(device.in_use for device in own_devices)
    owned, is_complete = search(roots, [*arrays, *_of_nbtf(own_devices)], seconds) if has_memory else ([], True)
    holders = [_holder(each, uuids) for each in owned]
    return {
        "cards": cards,
        "missing": missing,
        "pools": [_pool(library, pool, uuids) for library in libraries for pool in library.pools()],
        "devices": [device._asdict() for device in own_devices],
        "holders": holders + _unnamed(libraries, own_devices, holders, uuids, task is not None),
        "complete": is_complete,
    }


def _card(reading: CardReading) -> dict[str, Any]:
    """Returns a card, with the known owner of each process on it."""
    processes = None if reading.processes is None else [(each.pid, each.nbytes) for each in reading.processes]
    owners = [process_owner(each.pid) for each in reading.processes or ()]
    texts = [f"process {owner.pid}" if owner.pid == os.getpid() else owner.text for owner in owners]
    return reading._asdict() | {"missing": dict(reading.missing), "processes": processes, "owners": texts}


def _of_libraries(libraries: list[Framework], problem: str) -> list[CardReading]:
    """Returns the cards that libraries of this process use, for a machine whose driver reports none."""
    missing: dict[str, str] = {"used": problem, "processes": problem}
    cards = {card.uuid or card.number: card for library in libraries for card in library.cards()}
    return [
        CardReading(number=card.number, name=card.model, uuid=card.uuid, total=card.total, missing=missing)
        for card in cards.values()
    ]


def _devices_of(task: Any) -> list[DeviceInfo]:
    """Returns the GPUs that a task has started to use."""
    infos: list[DeviceInfo] = []
    for device in () if task is None else task._devices:
        if device.type == "GPU" and device.memory is not None:
            stats, card = device.memory.stats(), device.card
            facts: dict[str, Any] = {} if card is None else {"simulated": card.simulated, "model": card.card.name}
            facts |= {"memory_limit": stats.limit, "in_use": stats.in_use, "peak": stats.peak, "pool": stats.pool}
            infos.append(DeviceInfo(f"GPU:{device.index}", "GPU", **facts))
    return infos


def _of_nbtf(own_devices: list[DeviceInfo]) -> list[Arrays]:
    """Returns the readers of nbtf's own tensors; none if these use no GPU memory."""
    if not any(device.in_use for device in own_devices):
        return []
    return [Arrays("nbtf", Buffer, holding, _describe)]


def _describe(buffer: Any) -> str:
    """Returns the shape and dtype of a tensor or a variable, if it has them."""
    shape, dtype = getattr(buffer, "shape", ""), getattr(buffer, "dtype", "")
    return f"{list(shape)} {getattr(dtype, 'name', dtype)}"


def _pool(library: Framework, pool: Any, uuids: Mapping[str, str | None]) -> dict[str, Any]:
    return {"library": library.name, "device": pool.device, "uuid": uuids.get(pool.device)} | {
        "reserved": pool.reserved,
        "in_use": pool.in_use,
    }


def _holder(owned: Owned, uuids: Mapping[str, str | None]) -> dict[str, Any]:
    return owned._asdict() | {"uuid": uuids.get(owned.device)}


def _unnamed(
    libraries: list[Framework],
    own_devices: list[DeviceInfo],
    holders: list[dict[str, Any]],
    uuids: Mapping[str, str | None],
    is_task: bool,
) -> list[dict[str, Any]]:
    """Returns the memory in use or reserved that the roots do not hold."""
    nobody = "tensors of a connected program" if is_task else "not reachable from a key"
    accounts = [
        (library.name, pool.device, pool.in_use, pool.reserved) for library in libraries for pool in library.pools()
    ]
    accounts += [("nbtf", device.name, device.in_use or 0, device.in_use or 0) for device in own_devices]
    rows: list[dict[str, Any]] = []
    for library, device, in_use, reserved in accounts:
        base = {"library": library, "device": device, "uuid": uuids.get(device), "tensor": ""}
        held_bytes = sum([row["nbytes"] for row in holders if (row["library"], row["device"]) == (library, device)])
        if in_use > held_bytes:
            text = f"{library}: {nobody if library == 'nbtf' else 'not reachable from a key'}"
            rows.append(base | {"holder": text, "nbytes": in_use - held_bytes})
        if reserved > in_use:
            rows.append(base | {"holder": f"{library}: kept for later arrays", "nbytes": reserved - in_use})
    return rows
