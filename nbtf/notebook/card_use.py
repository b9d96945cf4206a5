"""How does the memory that `nvidia-smi` shows for a card add up: tensors, nbtf's pool, this and other processes?"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from nbtf import runtime
from nbtf._counts import counted

SECOND = 1.0
"""Seconds between reads of the cards while a view is open."""

_MIB = 1 << 20

_NOT_TOLD = "memory per process is not reported"


class CardUse(NamedTuple):
    """The memory in use on one card, real or simulated, in bytes; None if the driver does not report it, see `why`.

    `in_use` is the part of the `pool` that nbtf's tensors use, both for all logical GPUs on the card. `libraries` lists
    the pools of other libraries in this process, `context` the rest of this process: CUDA's context, and libraries
    without a pool. `rest` belongs to no process. `used` is the total, as `nvidia-smi` shows it. `external` is memory of
    other libraries that nbtf's tensors share.
    """

    name: str
    in_use: int
    pool: int
    libraries: tuple[tuple[str, int], ...]
    process: int | None
    context: int | None
    others: int | None
    other_processes: int
    rest: int | None
    used: int | None
    total: int | None
    utilization: int | None = None
    temperature: int | None = None
    watts: int | None = None
    why: str = ""
    number: int | None = None
    external: int = 0
    simulated: bool = False

    def sum(self) -> str:
        """Returns a sentence whose terms add up to the total, in MiB as `nvidia-smi` shows them."""
        if self.used is None:
            return f"{self.name}: the figure of nvidia-smi is unknown: {self.why}."
        used, terms = _mib(self.used), [(_mib(self.pool), "pool of nbtf")]
        terms += [(_mib(nbytes), f"pool of {library}") for library, nbytes in self.libraries]
        total = sum([mib for mib, _ in terms])
        if self.process is None or self.others is None:
            terms.append((used - total, "context of this process, and other processes"))
            remark = f" These cannot be separated: {self.why}."
        else:
            process, other_mib = _mib(self.process), _mib(self.others)
            terms.append((process - total, "context and libraries of this process"))
            processes = counted(self.other_processes, "other process", "other processes")
            terms.append((other_mib, processes))
            terms.append((used - process - other_mib, "not assigned to any process"))
            remark = ""
        equation = " + ".join(f"{mib:,} MiB {owner}" for mib, owner in terms if mib > 0) or "nothing"
        of = "" if self.total is None else f" of {_mib(self.total):,}"
        sign = "≈" if any(mib < 0 for mib, _ in terms) else "="  # the driver's figures are from different moments
        size = f"{used:,}{of} MiB"
        figure = f"{size} in use" if self.simulated else f"nvidia-smi shows {size}"
        return f"{self.name}: {figure} {sign} {equation}.{remark}{self._lent()}"

    def _lent(self) -> str:
        """Returns a sentence about memory of other libraries that tensors share; it is part of their pools."""
        if not self.external:
            return ""
        size = f"{_mib(self.external):,} MiB" if self.external >= _MIB else f"{self.external:,} bytes"
        return f" Tensors share {size} with other libraries (external)."

    def to_dict(self) -> dict[str, Any]:
        """Returns the figures as plain values."""
        return self._asdict() | {"libraries": [list(library) for library in self.libraries]}


class CardUses:
    """Reads the cards of devices, at most once per second for a view."""

    def __init__(self, monitor: runtime.CardMonitor) -> None:
        """Reads nothing yet."""
        self._monitor = monitor
        self._last: tuple[float, object, dict[str, CardUse]] = (0.0, None, {})

    def of(self, devices: Sequence[runtime.DeviceInfo], age: float = SECOND) -> dict[str, CardUse]:
        """Returns the use of the cards that other libraries can use as well, by short names of the devices on them.

        Args:
          devices: all devices, as `tf.runtime.devices()` returns them.
          age: age in seconds up to which an earlier reading is returned.
        """
        real = [device for device in devices if device.cuda is not None]
        if not real:
            return {}
        names = [device.name for device in real]
        at, earlier, uses = self._last
        if earlier != names or time.monotonic() - at >= age:
            cards: dict[int | None, list[runtime.DeviceInfo]] = {}
            for device in real:
                cards.setdefault(device.cuda, []).append(device)
            uses = {device.name: use for group in cards.values() for use in [self.use(group, age)] for device in group}
            self._last = time.monotonic(), names, uses
        return uses

    def processes(self, device: runtime.DeviceInfo) -> Sequence[runtime.CardProcess]:
        """Returns the processes on a card at its last reading; empty if they are not reported."""
        if device.simulated:
            return ()
        return self._monitor.card(device.uuid, device.bus_id).processes or ()

    def all(self) -> list[runtime.CardReading]:
        """Returns all cards of this machine, whether nbtf can use them or not."""
        return self._monitor.cards()

    def numbered(self, device: runtime.DeviceInfo) -> runtime.DeviceInfo:
        """Returns a real device with its number in `nvidia-smi`, if the driver reports it."""
        if device.cuda is None or device.simulated:
            return device
        number = self._monitor.card(device.uuid, device.bus_id).number
        return device if number is None else device._replace(card=number)

    def use(self, group: Sequence[runtime.DeviceInfo], age: float = 0) -> CardUse:
        """Returns the use of the card shared by some devices.

        Args:
          group: all devices on the card, or one that represents a card that nbtf does not use.
          age: age in seconds up to which an earlier reading is returned.
        """
        first = group[0]
        if first.simulated:
            return _simulated(group)
        card = self._monitor.card(first.uuid, first.bus_id, age)
        in_use, pool = (sum([value or 0 for value in values]) for values in zip(*map(_account, group), strict=True))
        libraries = () if first.cuda is None else _pools(f"cuda:{first.cuda}")
        process, other_bytes, reason = _shares(card, bool(pool))
        known_bytes = pool + sum([nbytes for _, nbytes in libraries])
        charged = None if process is None or other_bytes is None or card.used is None else process + other_bytes
        number = first.card if card.number is None else card.number
        return CardUse(
            name=f"card {number} ({first.bus_id})"
            if number is not None
            else f"card {first.bus_id}"
            if first.bus_id
            else first.name,
            in_use=in_use,
            pool=pool,
            libraries=libraries,
            process=process,
            context=None if process is None else max(0, process - known_bytes),
            others=other_bytes,
            other_processes=len([process for process in card.processes or () if process.pid != os.getpid()]),
            rest=None if charged is None or card.used is None else max(0, card.used - charged),
            used=card.used,
            total=card.total if card.total is not None else first.memory,
            utilization=card.utilization,
            temperature=card.temperature,
            number=number,
            external=sum([device.external for device in group]),
            watts=None if card.power is None else round(card.power),
            why=reason
            if card.used is not None
            else f"the card's memory is not reported ({card.missing.get('used', '')})",
        )


def _simulated(group: Sequence[runtime.DeviceInfo]) -> CardUse:
    """Returns the use of a simulated card, according to the allocators of this process."""
    first = group[0]
    in_use, pool = (sum([value or 0 for value in values]) for values in zip(*map(_account, group), strict=True))
    libraries = () if first.cuda is None else _pools(f"cuda:{first.cuda}")
    used = pool + sum([nbytes for _, nbytes in libraries])
    name = f"simulated card {first.card} ({first.bus_id})"
    return CardUse(
        name, in_use, pool, libraries, used, 0, 0, 0, 0, used, first.memory, number=first.card, simulated=True
    )


def _pools(device: str) -> tuple[tuple[str, int], ...]:
    """Returns the memory that the pools of other libraries reserve on a card."""
    pools = [(library.name, pool) for library in runtime.frameworks() for pool in library.pools()]
    return tuple((name, pool.reserved) for name, pool in pools if pool.device == device and pool.reserved)


def _account(device: runtime.DeviceInfo) -> tuple[int | None, int | None]:
    return device.in_use, device.pool


def _shares(card: runtime.CardReading, started: bool) -> tuple[int | None, int | None, str]:
    """Returns this process's share of a card, the share of all others, and the reason if they are unknown."""
    if card.processes is None:
        return None, None, f"{_NOT_TOLD} ({card.missing.get('processes', '')})"
    own_bytes = [process.nbytes for process in card.processes if process.pid == os.getpid()]
    other_bytes = [process.nbytes for process in card.processes if process.pid != os.getpid()]
    if None in own_bytes or None in other_bytes:
        return None, None, _NOT_TOLD
    if started and not own_bytes:
        return None, None, "the driver does not list this process"
    return _sum(own_bytes), _sum(other_bytes), ""


def _sum(sizes: Collection[int | None]) -> int:
    return sum([size or 0 for size in sizes])


def _mib(nbytes: int) -> int:
    return round(nbytes / _MIB)
