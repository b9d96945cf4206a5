"""What was in the memory of a device before the first event of its history, and what does the file lack?

The events are undone from the end: `pieces.py` does so for allocations, `ranges.py` for segments.
"""

from __future__ import annotations

from bisect import bisect_left

from nbtf._counts import counted
from nbtf._devices.sizes import gib
from nbtf._snapshots.account import MOST_FAILURES, DeviceAccount
from nbtf._snapshots.snapshot import FREE_COMPLETED, FREE_REQUESTED, OOM, Block, Segment

_SMALL_SEGMENT = 2 << 20
_MOST_BYTES = 1 << 48
_ALLOCATED, _PENDING, _FREE = "active_allocated", "active_pending_free", "inactive"


def beginning_of(account: DeviceAccount) -> tuple[Segment, ...]:
    """Returns the segments of a device before its first event, with their blocks by address."""
    return state_of(account, 0)


def state_of(account: DeviceAccount, state: int) -> tuple[Segment, ...]:
    """Returns the segments of a device in a state, with their blocks by address.

    Args:
      account: the account of the device.
      state: number of the state; 0 is before the first event, `i + 1` after event `i`.
    """
    rows = account.rows_at(state, is_active=True)
    pieces = account.pieces.at(rows)
    address, size, requested = pieces.address.tolist(), pieces.size.tolist(), pieces.requested.tolist()
    freed, stack = (pieces.freed <= state).tolist(), pieces.stack.tolist()
    small = {each.address for each in account.segments if each.is_small}
    large = {each.address for each in account.segments if not each.is_small}
    segments: list[Segment] = []
    for base, length, stream, is_expandable in account.ranges(state):
        blocks: list[Block] = []
        at = base
        for row in range(bisect_left(address, base), bisect_left(address, base + length)):
            if address[row] < at:  # contradicts the piece before it
                continue
            if address[row] > at:
                blocks.append(Block(at, address[row] - at, 0, _FREE))
            at = min(address[row] + size[row], base + length)
            state_name = _PENDING if freed[row] else _ALLOCATED
            blocks.append(Block(address[row], at - address[row], requested[row], state_name, stack[row]))
        if at < base + length:
            blocks.append(Block(at, base + length - at, 0, _FREE))
        is_small = base in small or (base not in large and length == _SMALL_SEGMENT)
        segments.append(Segment(account.device, base, length, stream, is_small, is_expandable, tuple(blocks)))
    return tuple(segments)


def unknowns_of(account: DeviceAccount) -> list[str]:
    """Returns sentences about facts that a file lacks about a device, and about events that contradict each other."""
    trace, pieces = account.trace, account.pieces
    if not len(trace):
        return ["The file has no history of this device, only its memory at one moment."]
    sentences: list[str] = []
    older = pieces.at(pieces.birth == 0)
    if len(older.size):
        sentences.append(
            f"The history begins after {counted(len(older.size), 'allocation')} "
            f"({gib(int(account.allocated[0]))}). Where they were made is known only for those with a stack."
        )
    inexact = int(pieces.is_inexact.sum())
    if inexact:
        sentences.append(
            f"The exact size of {counted(inexact, 'older allocation')} is unknown. "
            f"Each may be up to 1 MiB larger than shown until it was freed."
        )
    if bool((trace.action == FREE_COMPLETED).any()) and not bool((trace.action == FREE_REQUESTED).any()):
        sentences.append("The file does not contain when the program freed memory, only when it became free.")
    sentences += _contradictions(account)
    if trace.left_out:
        names = ", ".join(f"{name} ({number:,})" for name, number in sorted(trace.left_out.items()))
        sentences.append(f"The history contains events that nbtf does not know and leaves out: {names}.")
    failures = int((trace.action == OOM).sum())
    if failures > MOST_FAILURES:
        sentences.append(f"The history has {failures:,} failed requests. Only the last {MOST_FAILURES:,} are listed.")
    if not bool((trace.stack >= 0).any()):
        sentences.append("The events have no stacks, so memory cannot be listed by line.")
    if not trace.microseconds.any():
        sentences.append("The events have no times.")
    return sentences


def _contradictions(account: DeviceAccount) -> list[str]:
    unfreed, unallocated, vanished, appeared, rounded = account.contradictions
    texts = (
        (unfreed, "address was allocated again before it was freed", "addresses were allocated again before a free"),
        (unallocated, "free has no matching allocation", "frees have no matching allocation"),
        (
            vanished,
            "allocation was not freed, but is not in use at the end",
            "allocations were not freed, but are gone",
        ),
        (appeared, "block in use at the end was not allocated", "blocks in use at the end were not allocated"),
    )
    sentences = [
        f"Events contradict each other: {counted(number, *words)}. Levels between may be wrong; the end is exact."
        for number, *words in texts
        if number
    ]
    if rounded:
        sentences.append(
            "The history contains rounded sizes. The bytes requested are exact only for memory in use at the end."
        )
    largest = int(account.trace.size[account.trace.action != OOM].max(initial=0))
    if largest > _MOST_BYTES:
        sentences.append(f"The history contains a size of {gib(largest)}, more than any card has. Levels may be wrong.")
    lowest = int(account.reserved.min())
    if lowest < 0:
        sentences.append(f"The events of segments contradict the end: {gib(-lowest)} too much was released.")
    gap = int((account.reserved - account.active).min())
    if gap < 0 <= lowest:
        sentences.append(f"In some states, {gib(-gap)} more is active than reserved, so events are missing.")
    if account.unexplained_sizes:
        number = counted(account.unexplained_sizes, "block")
        sentences.append(f"The sizes of {number} do not follow the settings in the file. Other settings were active.")
    return sentences
