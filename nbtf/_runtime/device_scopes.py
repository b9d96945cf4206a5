"""Which device does a thread ask for: by `tf.device`, inside what is open there, or for its whole cell?"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from nbtf._devices.base import Device
from nbtf._runtime.blocks import current_scope
from nbtf._runtime.lanes import lane_of
from nbtf._runtime.placement import Machine
from nbtf._runtime.scopes import ANYWHERE, EMPTY, HERE, SCOPE, Request, Scope, merged

_REMEMBERED = 4096
"""Requests kept at most; a loop over made-up device names must not fill the memory."""

CellDevice = tuple[int, Request]
"""A thread, and the device that its cell asks for."""


class DeviceScopes:
    """The devices of cells that are open, and what `tf.device` asks for as it was last decided.

    `requested` says what a block asks for, and whose lane it may leave open: by its text where neither block nor cell
    asks for a device, by both names where a block does.
    """

    def __init__(self, machine: Callable[[], Machine]) -> None:
        """Starts without a cell.

        Args:
          machine: returns the devices that there are.
        """
        self.cells: dict[int, Request] = {}  # by thread
        self.opened: list[CellDevice] = []
        self._machine = machine
        self.requested: dict[Any, tuple[Request, Device | None]] = {}

    def forget(self) -> None:
        """Decides anew from now on: lanes, cells or the devices have changed."""
        self.requested = {}

    def open_cells(self, opened: list[CellDevice]) -> None:
        """Takes the cell devices that are open; the last one of a thread counts."""
        self.opened, self.cells = opened, dict(opened)

    def of_cell(self) -> Request | None:
        """Returns what the cell that runs in this thread asks for."""
        return self.cells.get(threading.get_ident()) if self.cells else None

    def scope_of(self, name: str | None) -> Scope:
        """Returns the scope of `tf.device(name)` inside what is open now."""
        outer = (SCOPE() and current_scope()) or EMPTY
        request, lane = self.request_of(name, outer.request or self.of_cell())
        return outer.with_request(request, lane if outer.plain else None)

    def request_of(self, name: str | None, outer: Request | None) -> tuple[Request, Device | None]:
        """Returns what `tf.device(name)` asks for inside an outer request, and whose lane it may leave open."""
        requested = self.requested
        key = name if outer is None or outer.name is None else (name, outer.name)
        decision = requested.get(key)
        if decision is None:
            request = ANYWHERE if name is None else merged(name, outer)
            decision = request, None if HERE.first is None else lane_of(request, self._machine())
            if len(requested) > _REMEMBERED:
                requested.clear()
            if not (self.cells and key is name):  # another thread may have a cell where this one has none
                requested[key] = decision
        return decision
