"""Which figures of a device in a memory snapshot fit on one screen?"""

from __future__ import annotations

from collections.abc import Sequence

from nbtf._counts import counted
from nbtf._devices.sizes import gib
from nbtf._snapshots.account import DeviceAccount
from nbtf._snapshots.beginning import unknowns_of
from nbtf._snapshots.holders import MemoryHolder

_MOST_ROWS = 8
"""The number of holders that a summary lists."""


def summary_of(account: DeviceAccount, holders: Sequence[MemoryHolder]) -> list[str]:
    """Returns lines of text about a device: its peaks, holes and failures, and facts that the file lacks.

    Args:
      account: the account of the device.
      holders: what holds its memory at the peak, the largest first.
    """
    peak, reserved = account.peak, account.peak_reserved
    holes = account.holes(peak.state)
    moment = f"after event {peak.state - 1}" if peak.state else "at the beginning"
    lines = [
        f"GPU:{account.device}: {counted(len(account.trace), 'event')}, {counted(account.allocations, 'allocation')}",
        f"  peak allocated {gib(peak.allocated)} {moment}",
        f"  peak reserved  {gib(reserved.reserved)}; at the peak {gib(int(holes.size.sum()))} of "
        f"{gib(peak.reserved)} free in {counted(len(holes.size), 'hole')}, the largest {gib(holes.largest)}",
    ]
    if holders:
        lines.append("  held at the peak:")
    for holder in holders[:_MOST_ROWS]:
        lines.append(f"  {gib(holder.nbytes):>12}  {holder.name} ({counted(holder.pieces, 'allocation')})")
    if len(holders) > _MOST_ROWS:
        unlisted_bytes = sum([holder.nbytes for holder in holders[_MOST_ROWS:]])
        lines.append(f"  {gib(unlisted_bytes):>12}  {counted(len(holders) - _MOST_ROWS, 'other row')}")
    for failure in account.failures[-1:]:
        fits = "would fit" if failure.fits_if_contiguous else "would not fit"
        lines.append(
            f"  out of memory at event {failure.event}: {gib(failure.requested)} requested, "
            f"{gib(failure.free_on_card)} free on the card, {gib(failure.free_in_segments)} in holes, "
            f"the largest {gib(failure.largest_hole)}; it {fits} if free memory was contiguous"
        )
    return lines + [f"  note: {sentence}" for sentence in unknowns_of(account)]
