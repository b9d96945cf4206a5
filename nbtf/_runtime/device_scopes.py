"""Which device does a thread ask for: by `tf.device`, inside what is open there, or for its whole cell?"""

from __future__ import annotations

import threading
from collections.abc import Callable

from nbtf._runtime.blocks import current_scope
from nbtf._runtime.lanes import lane_of
from nbtf._runtime.placement import Machine
from nbtf._runtime.scopes import ANYWHERE, EMPTY, HERE, SCOPE, Request, Scope, merged

_new_scope = Scope.__new__

_REMEMBERED = 4096
"""Scopes kept at most; a loop over made-up device names must not fill the memory."""

CellDevice = tuple[int, Request]
"""A thread, and the device that its cell asks for."""


class DeviceScopes:
    """The devices of cells that are open, and the scopes of `tf.device` as they were last made."""

    def __init__(self, machine: Callable[[], Machine]) -> None:
        """Starts without a cell.

        Args:
          machine: returns the devices that there are.
        """
        self.cells: dict[int, Request] = {}  # by thread
        self.opened: list[CellDevice] = []
        self._machine = machine
        self._scopes: dict[str | None, Scope] = {}

    def forget(self) -> None:
        """Makes scopes anew from now on: lanes, cells or the devices have changed."""
        self._scopes = {}

    def open_cells(self, opened: list[CellDevice]) -> None:
        """Takes the cell devices that are open; the last one of a thread counts."""
        self.opened, self.cells = opened, dict(opened)

    def of_cell(self) -> Request | None:
        """Returns what the cell that runs in this thread asks for."""
        return self.cells.get(threading.get_ident()) if self.cells else None

    def scope_of(self, name: str | None) -> Scope:
        """Returns the scope of `tf.device(name)` inside what is open now."""
        outer = SCOPE()
        if outer is not None or self.cells:
            return self._inner_scope(name, current_scope() or EMPTY)
        scopes = self._scopes
        remembered = scopes.get(name)
        if remembered is None:
            if len(scopes) > _REMEMBERED:
                scopes.clear()
            remembered = scopes[name] = self._inner_scope(name, EMPTY)
        scope = _new_scope(Scope)  # each block has its own; written out, since calls would take longer
        scope.request, scope.lane = remembered.request, remembered.lane
        scope.tape = scope.strategy = scope.replica = scope.graph = scope.outer = scope.owner = None
        scope.tapes = scope.creators = ()
        scope.names = ""
        return scope

    def _inner_scope(self, name: str | None, outer: Scope) -> Scope:
        if name is None:
            request = ANYWHERE
        else:
            request = merged(name, outer.request or self.of_cell())
        scope = outer.with_(request=request) if outer is not EMPTY else Scope(request)
        if HERE.first is not None and scope.plain:
            scope.lane = lane_of(request, self._machine())
        return scope
