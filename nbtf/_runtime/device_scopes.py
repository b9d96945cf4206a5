"""The device that a thread requests: by `tf.device`, by the enclosing scopes, or for its whole cell."""

from __future__ import annotations

import threading
from typing import Any

from nbtf._devices.base import Device
from nbtf._record.events import Reason
from nbtf._runtime.blocks import current_scope
from nbtf._runtime.lanes import lane_of
from nbtf._runtime.scopes import ANYWHERE, EMPTY, EXPLICIT, SCOPE, Request, Scope, merged

_REMEMBERED = 4096
"""Maximum number of kept requests, so that a loop over made-up device names cannot fill the memory."""

CellDevice = tuple[int, Request]
"""A thread and the device that its cell requests."""


class DeviceScopes:
    """The devices of open cells, and the latest decisions about what `tf.device` requests.

    `requested` holds what a block requests, and which device's lane it may leave open. Its key is the block's text if
    neither an outer block nor the cell requests a device; otherwise both names, and the reason.
    """

    def __init__(self) -> None:
        """Starts without a cell."""
        self.cells: dict[int, Request] = {}  # by thread
        self.opened: list[CellDevice] = []
        self.requested: dict[Any, tuple[Request, Device | None]] = {}

    def forget(self) -> None:
        """Clears the decisions, because lanes, cells or devices have changed."""
        self.requested = {}

    def open_cells(self, opened: list[CellDevice]) -> None:
        """Sets the open cell devices, of which the last one on a thread applies."""
        self.opened, self.cells = opened, dict(opened)

    def of_cell(self) -> Request | None:
        """Returns what the cell running in this thread requests."""
        return self.cells.get(threading.get_ident()) if self.cells else None

    def scope_of(self, name: str | None, reason: Reason = EXPLICIT) -> Scope:
        """Returns the scope of `tf.device(name)` inside the current scope, with the reason for its ops."""
        outer = (SCOPE() and current_scope()) or EMPTY
        request, lane = self.request_of(name, outer.request or self.of_cell(), reason)
        return outer.with_request(request, lane if outer.plain else None)

    def request_of(
        self, name: str | None, outer: Request | None, reason: Reason = EXPLICIT
    ) -> tuple[Request, Device | None]:
        """Returns what `tf.device(name)` requests inside an outer request, and whose lane it may leave open."""
        requested = self.requested
        within = None if outer is None else outer.name
        key = name if within is None and reason is EXPLICIT else (name, within, reason)
        decision = requested.get(key)
        if decision is None:
            request = ANYWHERE if name is None else merged(name, outer, reason)
            decision = request, lane_of(request)
            if len(requested) > _REMEMBERED:
                requested.clear()
            if not (self.cells and within is None):  # another thread may have a cell device where this one has none
                requested[key] = decision
        return decision
