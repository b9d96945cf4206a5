"""The complete state that a view receives as plain data: devices, counts, memory and the last steps."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from heapq import nsmallest
from typing import Any

from nbtf import runtime
from nbtf._runtime.inventory import account_of
from nbtf._runtime.placement import is_view
from nbtf.notebook import catalogue
from nbtf.notebook.card_use import CardUse
from nbtf.notebook.device_names import device_kind, short
from nbtf.notebook.holders.holders import holder_names
from nbtf.notebook.session import Session
from nbtf.notebook.stills.device_facts import BOOKKEEPING
from nbtf.notebook.stills.op_colours import WORK_COLUMNS, family_of
from nbtf.notebook.stills.reasons import is_as_asked, phrases_of
from nbtf.notebook.stills.schedule import CONSTANT
from nbtf.notebook.tables import one_line
from nbtf.notebook.views import chunks, history, scopes, steps
from nbtf.notebook.views.refusals import Refusals
from nbtf.notebook.views.step_windows import StepWindows

SCHEMA = "nbtf-view/1"
HEARTBEAT = 2.0
"""Seconds between messages while nothing changes; a view that misses three reports that it is not live."""

KINDS_OF_OPS = 12
"""Pairs of op and reason that are sent for each device."""

MAP_PART = 20
"""A memory map of many chunks takes long to read: the next read waits this many times as long as the last took."""

PATIENCE = 5
"""A search for holders that took this many times its limit is not repeated at once."""

FOLDED = re.compile(f"{CONSTANT}$|{BOOKKEEPING.pattern}")
"""Ops that never label a device, because every program runs them."""

State = dict[str, Any]
"""The data that a view receives."""

Count = tuple[str, int, runtime.Reason]
"""An op, how often a device ran it, and why there."""


def _is_folded(count: Count) -> bool:
    """Returns whether an op never labels a device: every program runs it, or it is only a view of its input."""
    return bool(FOLDED.match(count[0])) or is_view(count[2])


class Feed:
    """Makes states from a session's recorder and from the devices. Making a state changes neither."""

    def __init__(self, session: Session) -> None:
        """Starts without having made a state."""
        self._session = session
        self._language = catalogue.asked_for()
        self._rev = 0
        self._seen: object = None
        self._heard_until = 0
        self._histories: dict[str, history.History] = {}
        self._phases: dict[str, list[int]] = {}
        self._words: dict[str, steps.Words] = {}
        """Texts of each scope's newest steps and of each device's map: messages do not repeat texts still in use."""
        self._code_line = lru_cache(steps.REMEMBERED)(session.code_line)
        self._moment: tuple[runtime.Snapshot, list[runtime.DeviceInfo]] | None = None
        self._busy = False
        self._replayed: dict[tuple[int, str, int], StepWindows] = {}
        self._maps: dict[str, tuple[Sequence[Any], float]] = {}
        self._holders: dict[tuple[str, int, int], tuple[object, str | None]] = {}
        self._holders_again = 0.0
        self.refusals: Refusals = Refusals(session)

    def cell_begins(self) -> None:
        """Forgets the labels of code lines, because a cell that runs again has a new number."""
        self._code_line.cache_clear()

    def changed(self, busy: bool) -> bool:
        """Returns whether a state made now would differ from the last one."""
        return self._seen != self._look(self._session.recorder.snapshot(0, busy).heard, runtime.devices(), busy)

    def _look(self, event_count: int, devices: list[runtime.DeviceInfo], busy: bool) -> object:
        return event_count, devices, busy, self._session.cards.of(devices), _compiling(), self.refusals.devices

    def state(self, busy: bool, is_last: bool = False) -> State:
        """Returns the current state.

        Args:
          busy: whether a cell is running.
          is_last: whether no further state follows.
        """
        now = time.time()
        snapshot = self._session.recorder.snapshot(steps.NEWEST_EVENTS if busy else steps.EVENTS, busy)
        snapshot = snapshot._replace(events=tuple(snapshot.events))  # read several times: each event is created once
        devices = runtime.devices()
        self._seen = self._look(snapshot.heard, devices, busy)
        self._rev += 1
        self._note(snapshot.events, devices, now)
        self._moment, self._busy = (snapshot, devices), busy
        state: State = {
            "schema": SCHEMA,
            "message": 0,
            "rev": self._rev,
            "wall": now,
            "hb": HEARTBEAT,
            "lang": self._language,
            "busy": busy,
            "ended": is_last,
            "since": self._session.began,
            "columns": steps.COLUMNS,
            "refused": self.refusals.devices,
        }
        state |= self._of_scope(scopes.ALL, None)
        compiling = _compiling()
        return state | {"compiling": compiling} if compiling else state

    def steps_about(self, step: int, until: int | None, scope: str, shown_in: runtime.Scene | None) -> State:
        """Returns steps of a scope around a given step, for a page that replays them (see `StepWindows.window`).

        Args:
          step: its number.
          until: number of events recorded when the replay began; the replay continues with them. None starts a new one.
          scope: see `scopes.beginning`.
          shown_in: see `scopes.beginning`.
        """
        recorder = self._session.recorder
        begin, snapshot = scopes.beginning(recorder, scope, shown_in), recorder.snapshot()
        key = snapshot.heard if until is None else until, scope, begin.first
        if key not in self._replayed:
            key, cells = (snapshot.heard, *key[1:]), list(self._session.cells)
            windows = StepWindows(begin.part_of(snapshot), begin.first, cells, self._code_line, self._session.began)
            self._replayed = {key: windows}  # keeps only the last one: a million ops use 40 MB
        return {"until": key[0], **self._replayed[key].window(step)}

    def of_scope(self, state: State, scope: str, shown_in: runtime.Scene | None) -> State:
        """Returns the newest state, limited to a scope; see `scopes.beginning`."""
        return state if scope == scopes.ALL else state | self._of_scope(scope, shown_in)

    def _of_scope(self, scope: str, shown_in: runtime.Scene | None) -> State:
        if self._moment is None:
            return {}
        begin, (newest, devices) = scopes.beginning(self._session.recorder, scope, shown_in), self._moment
        snapshot = begin.part_of(newest)
        words = self._words[scope] = steps.Words(self._words.get(scope))
        rows, cut = steps.steps(
            snapshot.events, words, self._code_line, self._session.began, steps.NEWEST if self._busy else steps.MOST
        )
        counts, uses = _counts(snapshot), self._session.cards.of(devices)
        seconds, last_ops = _seconds(snapshot), _last_ops(snapshot.events)
        return {
            "scope": scope,
            "from": begin.cell,
            "heard": snapshot.heard,
            "ops": snapshot.placed,
            "devices": [
                self._device(device, counts.get(device.name, []), uses.get(device.name))
                | _work(counts.get(device.name, []), seconds.get(device.name, {}), last_ops.get(device.name))
                for device in devices
            ],
            "copies": [
                [short(source), short(target), count, snapshot.copied_bytes[source, target]]
                for (source, target), count in sorted(snapshot.copies.items())
            ],
            "small": [
                [short(source), short(target), count, snapshot.small_copied_bytes[source, target]]
                for (source, target), count in sorted(snapshot.small_copies.items())
            ],
            "path": _path_elsewhere(counts),
            "words": list(words.all),
            "steps": rows,
            "cut": cut or len(snapshot.events) < snapshot.heard,
            "cells": self._cells(rows),
        }

    def _device(self, device: runtime.DeviceInfo, counts: list[Count], use: CardUse | None) -> State:
        shown_counts = [row for row in counts if row[0] != CONSTANT]
        largest = nsmallest(KINDS_OF_OPS, shown_counts, key=lambda row: (_is_folded(row), -row[1], row[0]))
        past = self._histories.get(device.name)
        return {
            "name": device.name,
            "label": device.label,
            "kind": device_kind(device),
            "lost": device.lost,
            "model": device.model,
            "card": self._session.cards.numbered(device).card,
            "bus_id": device.bus_id,
            "card_memory": device.memory,
            "memory": account_of(device),
            "ops": sum([count for _, count, _ in counts]),
            "phases": self._phases.get(device.name, []),
            "constants": sum([count for op, count, _ in counts if op == CONSTANT]),
            "counts": [
                [one_line(op), count, one_line(steps.reason_in_words(op, device.name, reason))]
                for op, count, reason in largest
            ],
            "elsewhere": [row for row, (_, _, reason) in enumerate(largest) if not is_as_asked(reason, device.name)],
            "more": len(shown_counts) - len(largest),
            "history": [] if past is None else list(past.points),
            "real": None if use is None else use.to_dict(),
        }

    def _cells(self, rows: list[list[Any]]) -> list[list[Any]]:
        """Returns where the cells of these rows began, including the cell of the first row."""
        if not rows:
            return []
        first, last = rows[0][1], rows[-1][1]
        cells = [(seq, name) for seq, name in list(self._session.cells) if seq <= last]
        earlier = sum([seq <= first for seq, _ in cells])
        return [[seq, name] for seq, name in cells[max(0, earlier - 1) :]]

    # Memory over time

    def _note(self, events: Sequence[runtime.Event], devices: list[runtime.DeviceInfo], now: float) -> None:
        """Records how full the devices are, and how full they were since the last read."""
        changes: dict[str, list[runtime.Allocated | runtime.Freed]] = {}
        for event in events:
            if event.seq > self._heard_until and isinstance(event, runtime.Allocated | runtime.Freed):
                changes.setdefault(short(event.device), []).append(event)
        self._phases = _phases(event for event in events if event.seq > self._heard_until)
        self.refusals.take(event for event in events if event.seq > self._heard_until)
        self._heard_until = max(self._heard_until, events[-1].seq if events else 0)
        accounts = {device: account for device in devices if (account := account_of(device)) is not None}
        for device, account in accounts.items():
            past = self._histories.setdefault(device.name, history.History())
            if account["pool"] == device.pool or device.in_use is None:  # otherwise events of two allocators alternate
                past.take(changes.get(device.name, []), self._session.began)
            past.look(now - self._session.began, account["in_use"], account["pool"], account["peak"])
            past.thin(history.share(len(accounts)))

    # Memory by place

    def with_maps(self, state: State, only: Sequence[str] = (), fresh: bool = False) -> State:
        """Returns the newest state with the memory maps of all devices that provide one.

        Args:
          state: the result of the last call of `state`.
          only: devices to include; all if empty.
          fresh: whether to wait for an up-to-date map even if it has many chunks.
        """
        shown_devices = [device for device in state["devices"] if not only or device["name"] in only]
        maps = self._look_at_maps([device["name"] for device in shown_devices if device["memory"] is not None], fresh)
        limit = chunks.share(len(maps))
        refusals = {name: scene for name in maps if (scene := self.refusals.scene(name, self._holders)) is not None}
        devices = [device | self._map(device["name"], maps.get(device["name"]), limit) for device in shown_devices]
        devices = [
            device | {"refusal": refusals[device["name"]]} if device["name"] in refusals else device
            for device in devices
        ]
        return state | {"devices": devices, "only": list(only)}

    def _map(self, name: str, regions: Sequence[Any] | None, limit: int) -> State:
        if regions is None:
            return {}

        def holder(region: int, chunk: Any) -> str | None:
            label, names = self._holders.get((name, region, chunk.offset), (None, ""))
            return names if label == chunk.label else ""  # a different tensor is stored there now: not searched yet

        words = self._words[name] = steps.Words(self._words.get(name))
        return chunks.told(regions, limit, words, self._code_line, holder)

    def _look_at_maps(self, names: list[str], fresh: bool) -> dict[str, Sequence[Any]]:
        """Returns the devices' maps. A map that takes long to read may be outdated unless `fresh` is true."""
        maps: dict[str, Sequence[Any]] = {}
        for name in names:
            regions, due = self._maps.get(name, ((), 0.0))
            start = time.monotonic()
            if fresh or start >= due:
                try:
                    regions = runtime.memory_map(name)
                except ValueError:  # the allocator has no map, or the device was removed
                    continue
                now = time.monotonic()
                self._maps[name] = (regions, now + MAP_PART * (now - start))
            maps[name] = regions
        return maps

    def name_holders(self, seconds: float) -> None:
        """Searches for what holds the chunks in use, for about `seconds` seconds.

        With very many chunks, reading the maps alone takes longer. The next searches are then skipped.
        """
        start = time.monotonic()
        if start < self._holders_again:
            return
        names, complete = holder_names(self._session, seconds)
        missing = None if complete else ""  # no holder searched yet, for lack of time, differs from no holder found
        maps = self._look_at_maps(
            [device.name for device in runtime.devices() if account_of(device) is not None], fresh=True
        )
        holders = {
            (device, region.region, chunk.offset): (
                chunk.label,
                names.get((device, region.region, chunk.offset), missing),
            )
            for device, regions in maps.items()
            for region in regions
            for chunk in region.chunks
            if chunk.in_use
        }
        if holders != self._holders:
            self._holders, self._seen = holders, None
        took = time.monotonic() - start
        if took > PATIENCE * seconds:
            self._holders_again = start + took + MAP_PART * took


def _phases(events: Iterable[runtime.Event]) -> dict[str, list[int]]:
    """Returns the number of ops of each phase or family that each device ran, not counting folded ones."""
    phases: dict[str, list[int]] = {}
    for event in events:
        if isinstance(event, runtime.OpExecuted) and not FOLDED.match(event.op):
            counts = phases.setdefault(short(event.device), [0] * len(WORK_COLUMNS))
            column = event.phase or family_of(event.op)
            counts[WORK_COLUMNS.index(column if column in WORK_COLUMNS else "other")] += 1
    return phases


def _compiling() -> str:
    """Returns the GPUs that are compiling kernels now, which delays the cell; usually none."""
    return ", ".join(dict.fromkeys(short(kernel.device) for kernel in runtime.compiling()))


def _path_elsewhere(counts: Mapping[str, list[Count]]) -> list[Any]:
    """Returns the rules that moved the largest number of ops away from the device they requested."""
    elsewhere = (row for name, rows in counts.items() for row in rows if not is_as_asked(row[2], name))
    _, _, reason = max(elsewhere, key=lambda row: row[1], default=("", 0, runtime.Reason("")))
    return [[question, answer, colour] for question, answer, colour in phrases_of(reason.path)]


def _work(counts: list[Count], seconds: Mapping[tuple[str, runtime.Reason], float], last: str | None) -> State:
    """Returns a device's number of ops, those that took most of its time, and the last one; none of them folded."""
    named_counts = [row for row in counts if not FOLDED.match(row[0])]
    main_op = max(named_counts, key=lambda row: (seconds.get((row[0], row[2]), 0.0), row[1]), default=("", 0, None))[0]
    return {
        "work": sum([count for _, count, _ in named_counts]),
        "op": one_line(main_op),
        "last": one_line(last or main_op),
    }


def _seconds(snapshot: runtime.Snapshot) -> dict[str, dict[tuple[str, runtime.Reason], float]]:
    """Returns the modelled seconds of each device by op and reason."""
    seconds: dict[str, dict[tuple[str, runtime.Reason], float]] = {}
    for (op, device, reason), modelled in snapshot.modelled.items():
        seconds.setdefault(short(device), {})[op, reason] = modelled
    return seconds


def _last_ops(events: Sequence[runtime.Event]) -> dict[str, str]:
    """Returns the last op on each device that is not folded."""
    return {
        short(event.device): event.op
        for event in events
        if isinstance(event, runtime.OpPlaced) and not FOLDED.match(event.op) and not is_view(event.reason)
    }


def _counts(snapshot: runtime.Snapshot) -> dict[str, list[Count]]:
    """Returns the ops that each device ran, by op and reason."""
    counts: dict[str, list[Count]] = {}
    for (op, device, reason), count in snapshot.ops.items():
        counts.setdefault(short(device), []).append((op, count, reason))
    return counts
