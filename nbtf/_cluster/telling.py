"""A task's reports about the memory of its devices: totals after each batch, and every piece on request."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from nbtf._cluster.tables import Table
from nbtf._devices.base import Device, Label
from nbtf._devices.journal import ENTRY, Entries, Journal

_GRANTED, _FREED, _REFUSED = range(3)


class MemoryReport:
    """The memory of a task's devices, as reported to one controller."""

    def __init__(self, devices: Sequence[Device]) -> None:
        """Reads the devices that track their memory."""
        self._devices = devices
        self._latest: dict[int, Any] = {}
        self._listening: set[int] = set()
        self._sites: dict[str, tuple[str, int]] = {}
        self._names: dict[int, str] = {}

    def site(self, text: str) -> tuple[str, int] | None:
        """Returns the file and line of a text such as `12 train.py`; the same object for the same text."""
        if not text:
            return None
        site = self._sites.get(text)
        if site is None:
            line, _, file = text.partition(" ")
            site = self._sites[text] = file, int(line)
            self._names[id(site)] = text
        return site

    def take(self) -> list[list[Any]]:
        """Returns the changes since the last call: number, totals and events of each device."""
        report: list[list[Any]] = []
        for number, device in enumerate(self._devices):
            if device.memory is None:
                continue
            entries = self._entries(device) if number in self._listening else []
            level = device.memory.level()
            if entries or self._latest.get(number) != level:
                self._latest[number] = level
                report.append([number, list(device.memory.stats()), entries])
        return report

    def listen(self, number: int, on: bool) -> None:
        """Starts or stops recording memory events of a device."""
        (self._listening.add if on else self._listening.discard)(number)
        journal = Journal(_GRANTED, _FREED, _REFUSED, itertools.count().__next__)
        self._devices[number].keep_journal(journal if on else None)

    def look(self, number: int, question: str, table: Table) -> dict[str, Any]:
        """Handles a `Look` record."""
        memory = self._devices[number].memory
        if memory is None:
            return {}
        if question == "trim":
            return {"trimmed": memory.trim()}
        if question == "peak":
            memory.reset_peak()
            self._latest.pop(number, None)
            return {}
        regions = memory.map()
        if regions is None:
            return {}
        tensors = [(handle, value) for handle, value in table.tensors() if value._device is self._devices[number]]
        pieces = [(handle, memory.piece(tensor._allocation)) for handle, tensor in tensors]
        return {
            "map": [self._region(region) for region in regions],
            "pieces": [[handle, *piece] for handle, piece in pieces if piece is not None],
        }

    def _region(self, region: Any) -> list[Any]:
        return [
            region.region,
            region.size,
            [[*chunk[:4], self._label(chunk.label), *chunk[5:]] for chunk in region.chunks],
        ]

    def _entries(self, device: Device) -> list[list[Any]]:
        box: Entries = []
        device.hand_over([box])
        lines: list[list[Any]] = []
        for flat in box:
            for at in range(0, len(flat), ENTRY):
                event, _, in_use, pool, region, address, size, requested, label = flat[at : at + ENTRY]
                piece = None if region is None else [region.number, region.address, region.size]
                lines.append([event, in_use, pool, piece, address, size, requested, self._label(label)])
        return lines

    def _label(self, label: Any) -> list[Any] | None:
        """Returns a label as plain data; lines are the texts that the controller sent."""
        if not isinstance(label, Label):
            return None
        return [label.op, label.dtype, list(label.shape), self._names.get(id(label.site), "")]
