"""Which ops of two recordings belong together? Those of the same line, in the order in which the line runs them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple, TypeAlias

from nbtf._devices.names import short_name
from nbtf._record.events import Copied, Event, OpPlaced, Reason

Line: TypeAlias = "tuple[str, int]"
"""The last part of a file's name and the line; an empty name and 0 if the line is unknown."""

_MOST_ALIGNED = 4000
"""Ops of a line that are aligned one by one, in either recording; a longer line is compared by counts."""


class PlacedOp(NamedTuple):
    """An op of a recording: its type, its device (short name) and the reason."""

    op: str
    device: str
    reason: Reason


class OpChange(NamedTuple):
    """A difference between the ops of a line. `old` is None for a new op, `new` for a missing one.

    `times` is the number of ops that changed in the same way.
    """

    line: Line
    old: PlacedOp | None
    new: PlacedOp | None
    times: int


def line_of(site: Any) -> Line:
    """Returns the line of an event; the folders of its file may differ between machines."""
    return ("", 0) if site is None else (site[0].replace("\\", "/").rpartition("/")[2], site[1])


def ops_by_line(events: Iterable[Event]) -> dict[Line, list[PlacedOp]]:
    """Returns the ops that were placed, in order, by line."""
    lines: dict[Line, list[PlacedOp]] = {}
    for event in events:
        if isinstance(event, OpPlaced):
            op = PlacedOp(event.op, short_name(event.device), event.reason)
            lines.setdefault(line_of(event.site), []).append(op)
    return lines


def copies_by_line(events: Iterable[Event]) -> dict[tuple[Line, str, str, str], tuple[int, int]]:
    """Returns count and bytes of copies by line, kind, source and target."""
    sums: dict[tuple[Line, str, str, str], tuple[int, int]] = {}
    for event in events:
        if isinstance(event, Copied):
            key = line_of(event.site), event.kind, short_name(event.source), short_name(event.target)
            count, nbytes = sums.get(key, (0, 0))
            sums[key] = count + 1, nbytes + event.nbytes
    return sums


def changes_of_ops(first: Iterable[Event], second: Iterable[Event]) -> list[OpChange]:
    """Returns the ops that moved, are new, or are missing, by line."""
    old, new = ops_by_line(first), ops_by_line(second)
    changes: list[OpChange] = []
    for line in sorted({*old, *new}):
        counts: dict[tuple[PlacedOp | None, PlacedOp | None], int] = {}
        for pair in _pairs(old.get(line, []), new.get(line, [])):
            if pair[0] is None or pair[1] is None or pair[0].device != pair[1].device:
                counts[pair] = counts.get(pair, 0) + 1
        changes += [OpChange(line, *pair, times) for pair, times in counts.items()]
    return changes


def _pairs(old: Sequence[PlacedOp], new: Sequence[PlacedOp]) -> list[tuple[PlacedOp | None, PlacedOp | None]]:
    """Returns the ops of one line in pairs: first those with equal types and devices, then those that moved."""
    if len(old) == len(new) and all(x.op == y.op for x, y in zip(old, new, strict=True)):
        return [*zip(old, new, strict=True)]
    if max(len(old), len(new)) > _MOST_ALIGNED:
        return _by_count(old, new)
    matcher = SequenceMatcher(None, [op.op for op in old], [op.op for op in new], autojunk=False)
    pairs: list[tuple[PlacedOp | None, PlacedOp | None]] = []
    for tag, low, high, begin, end in matcher.get_opcodes():
        if tag == "equal":
            pairs += zip(old[low:high], new[begin:end], strict=True)
        else:
            pairs += [(op, None) for op in old[low:high]] + [(None, op) for op in new[begin:end]]
    return pairs


def _by_count(old: Sequence[PlacedOp], new: Sequence[PlacedOp]) -> list[tuple[PlacedOp | None, PlacedOp | None]]:
    """Returns pairs of ops of one type in order, first those on the same device, whatever is between them."""
    waiting: dict[tuple[str, str], list[PlacedOp]] = {}
    for op in reversed(old):
        waiting.setdefault((op.op, op.device), []).append(op)
    pairs: list[tuple[PlacedOp | None, PlacedOp | None]] = []
    unmatched: list[PlacedOp] = []
    for op in new:
        same_device = waiting.get((op.op, op.device))
        if same_device:
            pairs.append((same_device.pop(), op))
        else:
            unmatched.append(op)
    by_type: dict[str, list[PlacedOp]] = {}
    for (name, _), ops in waiting.items():
        by_type.setdefault(name, []).extend(ops)
    for op in unmatched:
        candidates = by_type.get(op.op)
        pairs.append((candidates.pop() if candidates else None, op))
    return pairs + [(op, None) for ops in by_type.values() for op in ops]
