"""What would a recorded program need with other settings? One question for the allocators of both libraries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from nbtf._devices.bfc.allocator import BFCAllocator
from nbtf._devices.bfc.report import RegionView
from nbtf._devices.caching.settings import AllocatorSettings
from nbtf._devices.lent import FIRST_LENT_REGION, LENT
from nbtf._devices.names import short_name
from nbtf._record.totals import Snapshot
from nbtf._runtime.fitting import what_if_in
from nbtf._runtime.what_ifs import WhatIf
from nbtf._snapshots.what_if import card_size
from nbtf._snapshots.what_if_events import MemoryEvent, what_if_of_events

UNKNOWN = AllocatorSettings(), None
"""Default settings and an unknown card, for recordings that do not contain them."""

_GROWTH = {"allow_growth:True": True, "allow_growth:False": False}
"""Settings as text, and whether an allocator then maps memory as it is needed."""


def pytorch_on(device: str) -> tuple[AllocatorSettings, int | None]:
    """Returns PyTorch's settings on a simulated GPU of this process, and the bytes of the card."""
    lent = next((each.memory for each in LENT if each.name == device), None)
    return UNKNOWN if lent is None else (lent.settings, lent.total)


def what_if_of_device(
    snapshot: Snapshot,
    device: str,
    beginning: tuple[int, Sequence[RegionView]],
    allocator: BFCAllocator | None,
    pytorch: tuple[AllocatorSettings, int | None],
    *,
    settings: str | None,
    card: int | str | None,
    without: str | None,
) -> WhatIf:
    """Replays the memory events of a device through the allocator of the library that they belong to.

    Args:
      snapshot: the recording.
      device: full name of the device.
      beginning: the number of the last event before the regions, and the regions before the first event.
      allocator: an allocator with the rules of the device; None if it has none.
      pytorch: the settings and the card's bytes with which PyTorch ran; see `pytorch_on`.
      settings: settings for PyTorch's allocator, or `allow_growth` for TensorFlow's; None for the recorded ones.
      card: size or name of the card, or limit for TensorFlow's allocator; None for the recorded one.
      without: a line whose allocations are left out.

    Raises:
      ValueError: if the device has no memory that can be replayed, or an argument does not apply to its library.
    """
    number, regions = beginning
    events = [cast("MemoryEvent", event) for event in snapshot.memory_of(device) if event.seq > number]
    short, is_torch = short_name(device), any([event.library == "PyTorch" for event in events])
    limit = None if card is None else card_size(card)
    if is_torch:
        events = [event for event in events if event.library == "PyTorch"]
        regions = [region for region in regions if region.region >= FIRST_LENT_REGION]
        recorded, total = pytorch
        chosen = recorded if settings is None else AllocatorSettings.parse(settings)
        return what_if_of_events(events, regions, short, chosen, total if limit is None else limit, without or "")
    if allocator is None:
        raise ValueError(f"{short} is not a simulated GPU. Only simulated GPUs have an allocator to replay.")
    growth = None if settings is None else _GROWTH.get(settings)
    if settings is not None and growth is None:
        names = " and ".join(_GROWTH)
        raise ValueError(f"{short} has memory of TensorFlow, whose only settings are {names}. Got {settings!r}.")
    own_regions = [region for region in regions if region.region < FIRST_LENT_REGION]
    return what_if_in(allocator.fresh(limit, growth), events, short, own_regions, without or "")
