"""The memory that variables hold, and its purpose: weights or optimizer slots.

Events show this for variables created while anything listens. For earlier variables, the memory is searched on request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from weakref import WeakValueDictionary

from nbtf._devices.base import Device
from nbtf._runtime.phases import WEIGHTS, current_holder

_VARIABLES: dict[str, WeakValueDictionary[int, Any]] = {}
"""Variables grouped by what they hold memory as, keyed by identity because variables compare by value."""


def register_variable(variable: Any) -> None:
    """Registers a new variable, whose memory counts as what the innermost block declares."""
    _VARIABLES.setdefault(current_holder() or WEIGHTS, WeakValueDictionary())[id(variable)] = variable


def with_holders(regions: Iterable[Any], device: Device) -> tuple[Any, ...]:
    """Returns a device's memory regions, adding holders to the chunks that variables hold."""
    holders = _holders_on(device)
    return tuple(
        region._replace(chunks=tuple(_with_holder(chunk, holders, region.region) for chunk in region.chunks))
        for region in regions
    )


def _with_holder(chunk: Any, holders: Mapping[tuple[int, int], str], region: int) -> Any:
    holder = holders.get((region, chunk.offset)) if chunk.in_use else None
    return chunk if holder is None else chunk._replace(holder=holder)


def _holders_on(device: Device) -> dict[tuple[int, int], str]:
    memory = device.memory
    holders: dict[tuple[int, int], str] = {}
    for holder, variables in list(_VARIABLES.items()):
        for reference in variables.valuerefs():
            variable = reference()
            if memory is None or variable is None or variable._device is not device:
                continue
            piece = memory.piece(variable._allocation)
            if piece is not None:
                holders[piece.region, piece.offset] = holder
    return holders
