"""The facts of a device map: what ran on each device and why, what was copied, and how full the devices were."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtf import runtime
from nbtf._runtime.inventory import account_of
from nbtf._runtime.placement import is_view
from nbtf.notebook.device_names import in_order
from nbtf.notebook.stills.reasons import is_as_asked
from nbtf.notebook.stills.schedule import CONSTANT, is_host

BOOKKEEPING = re.compile("ReadVariableOp$|VarHandleOp$|Assign")
"""Ops that label a device only if it ran nothing else, because every program runs them."""

_POINTS = 60
"""Number of moments kept of a device's memory, each the highest of its stretch of time."""


class OpCount(NamedTuple):
    """An op that ran on a device for some reason, and how often."""

    op: str
    times: int
    reason: runtime.Reason
    seconds: float


class Flow(NamedTuple):
    """The copies of 4 KiB or more from one device to another."""

    source: str
    target: str
    copies: int
    nbytes: int


@dataclass
class DeviceFacts:
    """A device: its ops without constants, those with the most time first, and its memory in bytes."""

    name: str
    model: str = ""
    is_simulated: bool = False
    ops: list[OpCount] = field(default_factory=list[OpCount])
    in_use: int | None = None
    limit: int | None = None
    levels: list[int] = field(default_factory=list[int])
    is_lost: bool = False

    @property
    def executed(self) -> int:
        """The number of ops that ran, without constants."""
        return sum(op.times for op in self.ops)

    @property
    def refused(self) -> OpCount | None:
        """The most frequent op that requested another device but ran here; None if there is none."""
        return next((op for op in self.ops if not is_as_asked(op.reason, self.name)), None)


@dataclass(frozen=True)
class MapFacts:
    """All devices, hosts first, and the copies between them."""

    hosts: tuple[DeviceFacts, ...]
    cards: tuple[DeviceFacts, ...]
    flows: tuple[Flow, ...]
    ops: int
    constants: int
    small_copies: int

    @property
    def surprise(self) -> tuple[DeviceFacts, OpCount] | None:
        """The op that most often ran elsewhere than requested, with its device; None if there is none."""
        refused = [(card, card.refused) for card in (*self.cards, *self.hosts)]
        return max(((card, op) for card, op in refused if op), key=lambda pair: pair[1].times, default=None)


def map_facts(snapshot: runtime.Snapshot, devices: Iterable[runtime.DeviceInfo] = ()) -> MapFacts:
    """Returns the facts of a recording.

    Args:
      snapshot: its totals are exact; memory over time is derived from its events.
      devices: the available devices, including those on which nothing ran.
    """
    facts = {info.name: _device(info) for info in devices}

    def of(name: str) -> DeviceFacts:
        return facts.setdefault(runtime.short_name(name), DeviceFacts(runtime.short_name(name)))

    constants = 0
    for (op, device, reason), count in snapshot.ops.items():
        if op == CONSTANT:
            constants += count
            continue
        of(device).ops.append(OpCount(op, count, reason, snapshot.modelled.get((op, device, reason), 0.0)))
    for device in facts.values():
        device.ops.sort(key=_rank)
    flows = _flows(snapshot)
    for flow in flows:
        for name in (flow.source, flow.target):
            of(name)
    for name, levels in _levels(snapshot).items():
        if not of(name).is_lost:  # a lost device has no memory
            of(name).levels, of(name).in_use = levels, levels[-1]
    ordered = sorted(facts.values(), key=lambda device: in_order(device.name))
    return MapFacts(
        tuple(device for device in ordered if is_host(device.name)),
        tuple(device for device in ordered if not is_host(device.name)),
        flows,
        sum(device.executed for device in ordered),
        constants,
        sum(snapshot.small_copies.values()),
    )


def _device(info: runtime.DeviceInfo) -> DeviceFacts:
    account = account_of(info) or {"in_use": info.in_use, "limit": info.memory_limit}  # for devices that report it
    facts = DeviceFacts(info.name, info.model or "", info.simulated, [], account["in_use"], account["limit"])
    facts.is_lost = info.lost is not None
    return facts


def _rank(op: OpCount) -> tuple[bool, float, int, str]:
    return bool(BOOKKEEPING.match(op.op)) or is_view(op.reason), -op.seconds, -op.times, op.op


def _flows(snapshot: runtime.Snapshot) -> tuple[Flow, ...]:
    flows: Counter[tuple[str, str]] = Counter()
    copies: Counter[tuple[str, str]] = Counter()
    for route, count in snapshot.copies.items():
        ends = runtime.short_name(route[0]), runtime.short_name(route[1])
        copies[ends] += count - snapshot.small_copies.get(route, 0)
        flows[ends] += snapshot.copied_bytes[route] - snapshot.small_copied_bytes.get(route, 0)
    routes = sorted(
        (route for route in flows if copies[route]), key=lambda route: (in_order(route[0]), in_order(route[1]))
    )
    return tuple(Flow(*route, copies[route], flows[route]) for route in routes)


def _levels(snapshot: runtime.Snapshot) -> Mapping[str, list[int]]:
    """Returns each device's memory in use over time, in at most `_POINTS` steps."""
    first, last = snapshot.span
    in_span = {
        runtime.short_name(name): in_use[slice(*numbers.searchsorted([first, last + 1]))]
        for name, (numbers, in_use, _) in snapshot.levels.items()
    }
    return {name: _thinned(values) for name, values in in_span.items() if len(values)}


def _thinned(values: NDArray[np.int64]) -> list[int]:
    begins = range(0, len(values), -(-len(values) // _POINTS))
    highest: list[int] = np.maximum.reduceat(values, begins).tolist()
    return [*highest[:-1], int(values[-1])]


def host_of(name: str) -> str:
    """Returns the host in the short name of a device: `worker/1`; empty for this computer.

    Args:
      name: a short name, as from `runtime.short_name`.
    """
    return re.sub(r"^/job:([^/]+)/task:(\d+)$", r"\1/\2", name.rpartition("/")[0])


def short_in_cluster(name: str) -> str:
    """Returns the short name of a device as pictures show it: `worker/1 GPU:0`."""
    host = host_of(name)
    return f"{host} {name.rpartition('/')[2]}" if host else name
