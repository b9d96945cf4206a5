"""How do the events of one device become columns? One by one, or as whole blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nbtf._snapshots.damage import damaged, whole_number
from nbtf._snapshots.snapshot import ACTIONS, OOM, Trace
from nbtf._snapshots.stacks import StackTable

LAST = 255
"""The code of further unknown actions after 246 different ones."""

TYPES = (np.uint8, np.int64, np.int64, np.int64, np.int64, np.int32)
"""The types of the columns: action, address, size, stream, microseconds, stack."""

_LOWEST_STREAM = -(1 << 63)


class ActionCodes:
    """The numbers of actions; those that nbtf does not know have numbers from `len(ACTIONS)` on."""

    def __init__(self) -> None:
        """Begins with the known actions."""
        self.names: list[str] = [*ACTIONS]
        self._codes = {name: code for code, name in enumerate(ACTIONS)}

    def code(self, name: str) -> int:
        """Returns the number of an action."""
        code = self._codes.get(name)
        if code is None:
            code = min(len(self.names), LAST)
            if code < LAST:
                self.names.append(name[:80])
                self._codes[name] = code
        return code

    def name(self, code: int) -> str:
        """Returns the name of an action."""
        return self.names[code] if code < len(self.names) else "other actions"


class TraceRows:
    """The events of one device in columns, while a file is read."""

    def __init__(self, source: str, number: int, stacks: StackTable, codes: ActionCodes, is_shared: bool) -> None:
        """Begins without events.

        Args:
          source: the file that errors name.
          number: number of the device.
          stacks: the table for the stacks of all devices.
          codes: the numbers of actions of all devices.
          is_shared: whether events may share lists, as in a pickle.
        """
        self.number = number
        self._source = source
        self._stacks = stacks
        self._codes = codes
        self._is_shared = is_shared
        self._pieces: list[Sequence[Any]] = []
        self._rows: list[tuple[int, ...]] = []
        self._length = 0

    def __len__(self) -> int:
        """Returns the number of events, including those with unknown actions."""
        return self._length

    def add(self, event: Any) -> None:
        """Adds one event.

        Args:
          event: a dictionary as PyTorch writes it.

        Raises:
          RefusedFileError: if a field is missing or of another type.
        """
        location = f"device_traces[{self.number}][{self._length}]"
        if not isinstance(event, dict):
            raise damaged(self._source, location, event, "a dictionary")
        fields: dict[Any, Any] = event  # pyright: ignore[reportUnknownVariableType]
        action = fields.get("action")
        if type(action) is not str:
            raise damaged(self._source, f"{location}.action", action, "a string")
        code = self._codes.code(action)
        if code >= len(ACTIONS):
            self.append((code, 0, 0, 0, 0, -1))
            return
        name = "device_free" if code == OOM and "device_free" in fields else "addr"
        self.append(
            (
                code,
                whole_number(self._source, f"{location}.{name}", fields.get(name)),
                whole_number(self._source, f"{location}.size", fields.get("size")),
                whole_number(self._source, f"{location}.stream", fields.get("stream", 0), _LOWEST_STREAM),
                whole_number(self._source, f"{location}.time_us", fields.get("time_us", 0)),
                self._stacks.number(fields.get("frames"), f"{location}.frames", self._is_shared),
            )
        )

    def append(self, row: tuple[int, ...]) -> None:
        """Adds one checked row."""
        self._rows.append(row)
        self._length += 1

    def extend(self, columns: Sequence[Any]) -> None:
        """Adds many checked rows, as one array for each column."""
        self._flush()
        self._pieces.append(columns)
        self._length += len(columns[0])

    def _flush(self) -> None:
        """Turns single rows into arrays."""
        if self._rows:
            columns = zip(*self._rows, strict=True)
            self._pieces.append([np.array(values, dtype) for values, dtype in zip(columns, TYPES, strict=True)])
            self._rows = []

    def trace(self, device: int) -> Trace:
        """Returns the history, without the events whose actions are unknown."""
        self._flush()
        empty = [np.zeros(0, dtype) for dtype in TYPES]
        pieces, self._pieces = self._pieces or [empty], []
        arrays = [[piece[number] for piece in pieces] for number in range(len(TYPES))]
        del pieces
        action = np.concatenate(arrays[0])
        counts = np.bincount(action, minlength=LAST + 1)
        unknown = [code for code in np.flatnonzero(counts).tolist() if code >= len(ACTIONS)]
        keep = action < len(ACTIONS) if unknown else slice(None)
        columns: list[Any] = [action[keep]]
        for number in range(1, len(TYPES)):
            columns.append(np.concatenate(arrays[number])[keep])
            arrays[number] = []  # frees the pieces before the next column needs memory
        left_out = {self._codes.name(code): int(counts[code]) for code in unknown}
        return Trace(device, *columns, left_out=left_out)
