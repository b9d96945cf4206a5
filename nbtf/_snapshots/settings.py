"""With which settings did PyTorch's allocator run? As far as a snapshot contains them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, TypeGuard, cast

from nbtf._devices.caching.settings import AllocatorSettings
from nbtf._snapshots.snapshot import MemorySnapshot

# Keys and their values: torch/csrc/cuda/Module.cpp of PyTorch 2.13.
_TEXTS = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
_MIB = 1 << 20
_INTERVALS = 16


def settings_of(snapshot: MemorySnapshot) -> AllocatorSettings:
    """Returns the settings in a snapshot; PyTorch's defaults for those that the file does not contain."""
    entries = snapshot.settings
    settings = _from_text(entries)
    limit = entries.get("max_split_size")
    if _is_number(limit) and 0 < limit < sys.maxsize:
        settings = settings._replace(max_split_size=int(limit))
    if isinstance(entries.get("expandable_segments"), bool):
        settings = settings._replace(expandable_segments=entries["expandable_segments"])
    threshold = entries.get("garbage_collection_threshold")
    if _is_number(threshold) and 0 < threshold < 1:
        settings = settings._replace(garbage_collection_threshold=float(threshold))
    divisions = entries.get("roundup_power2_divisions")
    if isinstance(divisions, Mapping) and divisions:
        settings = settings._replace(divisions=_divisions(cast("Mapping[Any, Any]", divisions)))
    return settings


def _from_text(entries: Mapping[str, Any]) -> AllocatorSettings:
    """Returns the settings in the text of the environment variable, which a file contains in recent releases."""
    text = next((entries[name] for name in _TEXTS if isinstance(entries.get(name), str)), "")
    try:
        return AllocatorSettings.parse(text)
    except (ValueError, NotImplementedError):  # written for another release
        return AllocatorSettings()


def _divisions(entries: Mapping[Any, Any]) -> tuple[int, ...]:
    """Returns the divisions of each interval; the keys are the sizes in MiB at which intervals begin."""
    divisions = [0] * _INTERVALS
    for name, value in entries.items():
        text = str(name)
        if text.isdecimal() and 0 < int(text) <= 1 << (_INTERVALS - 1) and _is_number(value) and 0 <= value < 1 << 16:
            divisions[int(text).bit_length() - 1] = int(value)
    return tuple(divisions) if any(divisions) else ()


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
