"""The settings in `PYTORCH_ALLOC_CONF` for PyTorch's allocator."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

# Names, limits and error texts: c10/core/AllocatorConfig.h and c10/cuda/CUDAAllocatorConfig.h of PyTorch 2.13.
_VARIABLES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")  # the first that is set applies, as in PyTorch 2.13
_MIB = 1 << 20
_LARGE_SEGMENT = 20 * _MIB
_INTERVALS = 16
"""Divisions are stored for sizes from 1 MiB, from 2 MiB, ... and from 32 GiB on."""

_WITHOUT_EFFECT = frozenset(
    """release_lock_on_cudamalloc pinned_use_cuda_host_register pinned_num_register_threads
    pinned_use_background_threads pinned_reserve_segment_size_mb pinned_max_round_threshold_mb
    pinned_max_cached_size_mb pinned_free_catch_all""".split()
)
"""These settings concern host memory or how long a thread waits, not where memory is placed on a card."""

_NEUTRAL = {"backend": "native", "throw_on_cudamalloc_oom": "False", "graph_capture_record_stream_reuse": "False"}
"""Settings for which any other value works only with PyTorch's own allocator."""


class AllocatorSettings(NamedTuple):
    """Settings of an allocator; sizes are in bytes.

    `divisions` holds, for each interval between two powers of 2, the number of steps to which sizes are rounded up; 0
    and 1 round to 512 bytes. A `garbage_collection_threshold` of 0 disables garbage collection.
    """

    max_split_size: int = sys.maxsize
    max_non_split_rounding: int = _LARGE_SEGMENT
    large_segment_size: int = _LARGE_SEGMENT
    divisions: tuple[int, ...] = ()
    garbage_collection_threshold: float = 0.0
    expandable_segments: bool = False
    memory_fraction: float = 1.0

    @classmethod
    def parse(cls, text: str) -> AllocatorSettings:
        """Parses settings in the format of `PYTORCH_ALLOC_CONF`.

        Args:
          text: such as `max_split_size_mb:128,expandable_segments:True`; spaces are ignored.

        Returns:
          The settings; missing ones have their defaults.

        Raises:
          ValueError: if a name is unknown or a value is not allowed, with PyTorch's text where it has one.
          NotImplementedError: if a setting requires something that simulated cards do not support.

        >>> AllocatorSettings.parse("max_split_size_mb:128, garbage_collection_threshold:0.8").max_split_size
        134217728
        """
        settings = cls()
        for name, value in _pairs(text):
            settings = _changed(settings, name, value)
        return settings

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> AllocatorSettings:
        """Parses `PYTORCH_CUDA_ALLOC_CONF` or, if that is not set, `PYTORCH_ALLOC_CONF`.

        >>> AllocatorSettings.from_environment({"PYTORCH_ALLOC_CONF": "expandable_segments:True"}).expandable_segments
        True
        """
        return cls.parse(next((environment[name] for name in _VARIABLES if name in environment), ""))

    @property
    def text(self) -> str:
        """The settings that differ from PyTorch's defaults, in the format of `PYTORCH_ALLOC_CONF`.

        >>> AllocatorSettings.parse("expandable_segments:True, max_split_size_mb:0128").text
        'max_split_size_mb:128,expandable_segments:True'
        """
        defaults = AllocatorSettings()
        changed = [name for name in _NAMES if getattr(self, _NAMES[name]) != getattr(defaults, _NAMES[name])]
        return ",".join([f"{name}:{self._value(getattr(self, _NAMES[name]))}" for name in changed])

    @staticmethod
    def _value(value: Any) -> str:
        if isinstance(value, tuple):
            divisions = cast("tuple[int, ...]", value)
            if len({*divisions}) == 1:
                return str(divisions[0])
            return "[" + ",".join([f"{1 << at}:{steps}" for at, steps in enumerate(divisions)]) + "]"
        return str(value) if isinstance(value, bool | float) else str(value // _MIB)

    def divisions_for(self, nbytes: int) -> int:
        """Returns the number of steps between the powers of 2 below and above a size.

        >>> AllocatorSettings.parse("roundup_power2_divisions:[64:8,128:2,>:1]").divisions_for(130 << 20)
        2
        """
        if not self.divisions:
            return 0
        return self.divisions[min(max(nbytes.bit_length() - _MIB.bit_length(), 0), _INTERVALS - 1)]


def _pairs(text: str) -> Iterator[tuple[str, list[str]]]:
    """Splits settings into names and their tokens."""
    tokens = re.findall(r"[,:\[\]]|[^,:\[\]]+", re.sub(r"\s", "", text))
    while tokens:
        name, *tokens = tokens
        if name == ",":
            continue
        if len(tokens) < 2 or tokens[0] != ":":
            raise ValueError(
                f"{name!r} in PYTORCH_ALLOC_CONF has no value. Expected name:value, with commas between settings."
            )
        end = 2
        if tokens[1] == "[":
            if "]" not in tokens:
                raise ValueError(
                    f"Expected closing bracket ']' in ConfigTokenizer but reached end of config, in {name}"
                )
            end = tokens.index("]") + 1
        yield name, tokens[1:end]
        tokens = tokens[end:]


def _changed(settings: AllocatorSettings, name: str, value: list[str]) -> AllocatorSettings:
    """Returns settings with one of them changed."""
    if name in _READERS:
        field, read = _READERS[name]
        return settings._replace(**{field: read(name, value, settings)})
    if name in _NEUTRAL:
        if value != [_NEUTRAL[name]]:
            raise NotImplementedError(
                f"{name}:{''.join(value)} in PYTORCH_ALLOC_CONF works on a real card only. Simulated GPUs use "
                f"PyTorch's native allocator. Remove the setting, or set {name}:{_NEUTRAL[name]}."
            )
        return settings
    if name not in _WITHOUT_EFFECT:
        raise ValueError(f"Unrecognized key '{name}' in CUDA allocator config.")
    return settings


def _number(name: str, value: Sequence[str]) -> int:
    if len(value) != 1 or not value[0].isdecimal():
        raise ValueError(f"{name} in PYTORCH_ALLOC_CONF needs a whole number, not {''.join(value)!r}.")
    return int(value[0])


def _read_large_segment(name: str, value: list[str], _: AllocatorSettings) -> int:
    megabytes = _number(name, value)
    if megabytes <= 10:
        raise ValueError("CachingAllocator option large_segment_size_mb must be > 10 MB")
    return megabytes * _MIB


def _read_split_size(name: str, value: list[str], settings: AllocatorSettings) -> int:
    """Reads a size that must not be smaller than a large segment."""
    megabytes, minimum = _number(name, value), settings.large_segment_size // _MIB
    if megabytes < minimum:
        raise ValueError(f"CachingAllocator option {name} too small, must be >= {minimum}")
    return min(megabytes * _MIB, sys.maxsize)


def _read_threshold(name: str, value: list[str], _: AllocatorSettings) -> float:
    threshold = _fraction(name, value)
    if not 0 < threshold < 1:
        raise ValueError("garbage_collect_threshold is invalid, set it in (0.0, 1.0)")
    return threshold


def _read_fraction(name: str, value: list[str], _: AllocatorSettings) -> float:
    fraction = _fraction(name, value)
    if not 0 <= fraction <= 1:
        raise ValueError("per_process_memory_fraction is invalid, set it in [0.0, 1.0]")
    return fraction


def _fraction(name: str, value: Sequence[str]) -> float:
    try:
        return float("".join(value))
    except ValueError:
        raise ValueError(f"{name} in PYTORCH_ALLOC_CONF needs a number, not {''.join(value)!r}.") from None


def _read_switch(_: str, value: list[str], __: AllocatorSettings) -> bool:
    if value not in (["True"], ["False"]):
        raise ValueError(f"Expected 'True' or 'False' at index 2 in ConfigTokenizer but got '{''.join(value)}'")
    return value == ["True"]


def _read_divisions(name: str, value: list[str], _: AllocatorSettings) -> tuple[int, ...]:
    """Reads one number for all sizes, or a list such as `[64:8,128:2,>:1]` with sizes in MiB."""
    if value[0] != "[":
        number = _number(name, value)
        if not _is_power_of_2(number):
            raise ValueError("For roundups, the divisions has to be power of 2 ")
        return (number,) * _INTERVALS
    divisions, last = [0] * _INTERVALS, -1
    for size, number in re.findall(r"(?<![^,:])([^,:]+):([^,:]+)", "".join(value[1:-1])):
        steps = _number(name, [number])
        if steps and not _is_power_of_2(steps):
            raise ValueError("For roundups, the divisions has to be power of 2 or 0 to disable roundup ")
        if size == ">":
            divisions[last + 1 :] = [steps] * (_INTERVALS - last - 1)
            continue
        megabytes = _number(name, [size])
        if not _is_power_of_2(megabytes):
            raise ValueError("For roundups, the intervals have to be power of 2 ")
        index = min(megabytes.bit_length() - 1, _INTERVALS - 1)
        divisions[0 if last < 0 else index : index + 1] = [steps] * (index + 1 if last < 0 else 1)
        last = index
    return tuple(divisions)


def _is_power_of_2(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


_READERS: dict[str, tuple[str, Any]] = {
    "large_segment_size_mb": ("large_segment_size", _read_large_segment),
    "max_split_size_mb": ("max_split_size", _read_split_size),
    "max_non_split_rounding_mb": ("max_non_split_rounding", _read_split_size),
    "garbage_collection_threshold": ("garbage_collection_threshold", _read_threshold),
    "roundup_power2_divisions": ("divisions", _read_divisions),
    "expandable_segments": ("expandable_segments", _read_switch),
    "per_process_memory_fraction": ("memory_fraction", _read_fraction),
}

_NAMES = {name: field for name, (field, _) in _READERS.items()}
"""The field of each setting."""
