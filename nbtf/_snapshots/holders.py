"""Which lines hold the memory of a device at a state of its history? Bytes by line, by module or by phase."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from nbtf._snapshots.account import DeviceAccount
from nbtf._snapshots.lines import Origin, Origins
from nbtf._snapshots.snapshot import Frame

BEFORE, NO_STACK, UNKNOWN = "allocated before the history", "no stack recorded", "unknown"
"""Names of rows without a line: older memory, memory without a stack, and stacks that show no module or phase."""


class MemoryHolder(NamedTuple):
    """Memory that one line, module or phase allocated and that is still held.

    Attributes:
      name: the line such as `model.py:57 in forward`, the module, or the phase; or why it is unknown.
      nbytes: bytes that the allocator charges.
      requested: bytes that the program requested.
      pieces: number of allocations.
      line: file, line and function if all of the memory belongs to one line; None otherwise.
      is_own: whether that line belongs to the user's program, not to a library.
    """

    name: str
    nbytes: int
    requested: int
    pieces: int
    line: Frame | None = None
    is_own: bool = False


def holders_at(account: DeviceAccount, origins: Origins, state: int, by: str = "line") -> list[MemoryHolder]:
    """Returns what holds memory, the largest first; the bytes add up to `account.allocated[state]` exactly.

    Args:
      account: the account of a device.
      origins: the lines of its snapshot's stacks.
      state: number of the state.
      by: `line`, `module` or `phase`.

    Raises:
      ValueError: if `by` is something else.
    """
    if by not in _NAMES:
        raise ValueError(f"Memory can be listed by line, module or phase. Got by={by!r}.")
    pieces = account.pieces.at(account.rows_at(state))
    is_before = (pieces.stack < 0) & (pieces.event < 0)
    stacks, group = np.unique(np.where(is_before, -2, pieces.stack), return_inverse=True)
    charged_bytes, requested_bytes = np.zeros(len(stacks), np.int64), np.zeros(len(stacks), np.int64)
    np.add.at(charged_bytes, group, pieces.size)
    np.add.at(requested_bytes, group, pieces.requested)
    counts = np.bincount(group, minlength=len(stacks))
    rows: dict[tuple[str, Frame | None, bool], list[int]] = {}
    columns = stacks.tolist(), charged_bytes.tolist(), requested_bytes.tolist(), counts.tolist()
    for stack, *figures in zip(*columns, strict=True):
        key = _key(stack, origins, by)
        totals = rows.setdefault(key, [0, 0, 0])
        for column, figure in enumerate(figures):
            totals[column] += figure
    holders = [
        MemoryHolder(name, nbytes, requested, pieces, line, is_own)
        for (name, line, is_own), (nbytes, requested, pieces) in rows.items()
    ]
    return sorted(holders, key=lambda holder: (-holder.nbytes, holder.name))


def _key(stack: int, origins: Origins, by: str) -> tuple[str, Frame | None, bool]:
    if stack < 0:
        return BEFORE if stack == -2 else NO_STACK, None, False
    origin = origins[stack]
    if origin.line is None:
        return NO_STACK, None, False
    if by == "line":
        return origin.words, origin.line, origin.is_own
    return _NAMES[by](origin) or UNKNOWN, None, False


_NAMES: dict[str, Callable[[Origin], str]] = {
    "line": lambda origin: origin.words,
    "module": lambda origin: origin.module,
    "phase": lambda origin: origin.phase,
}
