"""How much memory may a GPU use, and does it reserve it at once? TensorFlow's rules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from nbtf import errors
from nbtf._devices.sizes import human

if TYPE_CHECKING:
    from logging import Logger

_MIB = 1 << 20
_MIN_SYSTEM_MEMORY = "TF_DEVICE_MIN_SYS_MEMORY_IN_MB"
_FORCE_GROWTH = "TF_FORCE_GPU_ALLOW_GROWTH"
_COLLECT = "TF_ENABLE_GPU_GARBAGE_COLLECTION"
_RESERVES = {7: 1050, 8: 1536}
"""MiB by the major version of the compute capability."""
_BOOLS = {"true": True, "false": False}


def is_decided_by(environ: Mapping[str, str]) -> bool:
    """Returns whether environment variables affect memory limits.

    >>> is_decided_by({}), is_decided_by({"TF_FORCE_GPU_ALLOW_GROWTH": "true"})
    (False, True)
    """
    return _MIN_SYSTEM_MEMORY in environ or _FORCE_GROWTH in environ or _COLLECT in environ


def reserve(free: int, compute_capability: tuple[int, int]) -> int:
    """Returns how many bytes TensorFlow reserves for the driver and libraries.

    Source: MinSystemMemory, gpu_device.cc of TensorFlow 2 (optimised builds).
    """
    if free < 2048 * _MIB:
        return 225 * _MIB
    major = compute_capability[0]
    return 500 * _MIB if major <= 6 else _RESERVES.get(major, 1800) * _MIB


def memory_limit(
    *,
    total: int,
    free: int,
    compute_capability: tuple[int, int],
    fraction: float | None = None,
    logical_limit_mib: float | None = None,
    unified: bool = False,
    environ: Mapping[str, str],
) -> int:
    """Returns how many bytes one logical GPU may map.

    Args:
      total: bytes on the card.
      free: free bytes on the card when the device is created.
      compute_capability: the card's compute capability, (major, minor).
      fraction: `per_process_gpu_memory_fraction`, relative to `total`; None or 0 means the default. More than 1 also
        uses the computer's memory.
      logical_limit_mib: `memory_limit` of a logical device in MiB; its fractional part is dropped.
      unified: also use the computer's memory if the card has too little.
      environ: the environment; `TF_DEVICE_MIN_SYS_MEMORY_IN_MB` replaces reserve and fraction, not `memory_limit`.

    Raises:
      ValueError: if the fraction is negative.
      InternalError: if the fraction exceeds 1 or memory is unified, and the card cannot use the computer's memory.

    >>> memory_limit(total=16384 << 20, free=16384 << 20, compute_capability=(7, 0), environ={}) >> 20
    15334

    Source: SingleVirtualDeviceMemoryLimit, gpu_device.cc of TensorFlow 2.
    """
    if logical_limit_mib is not None:
        return int(logical_limit_mib) * _MIB
    if fraction:
        limit = _fraction_of(total, fraction)
    else:
        held_back = reserve(free, compute_capability)
        limit = free - held_back if held_back < free else free
    if unified or (fraction or 0) > 1:
        _check_unified(compute_capability)
    forced = _forced_reserve(free, environ)
    return limit if forced is None else free - forced


def _check_unified(compute_capability: tuple[int, int]) -> None:
    if compute_capability < (6, 0):
        raise errors.InternalError(
            "Unified memory on GPUs with compute capability lower than 6.0 (pre-Pascal class GPUs) does not support "
            "oversubscription."
        )


def _fraction_of(total: int, fraction: float) -> int:
    if not 0 <= fraction < float("inf"):
        raise ValueError(
            f"per_process_gpu_memory_fraction is {fraction}. Expected a fraction of the card's memory, such as 0.4."
        )
    return int(total * fraction)


def _forced_reserve(free: int, environ: Mapping[str, str]) -> int | None:
    """Returns the bytes that TF_DEVICE_MIN_SYS_MEMORY_IN_MB reserves; None if it does not apply."""
    text = environ.get(_MIN_SYSTEM_MEMORY, "")
    if not text:
        return None
    number = int(text) if re.fullmatch(r"\s*-?[0-9]+\s*", text, re.ASCII) else -1
    if not 0 <= number < 2**63:
        _logger().warning(f"The requested reserved device memory {text} is invalid. The request will be ignored.")
        return None
    if number * _MIB > free:
        _logger().warning(
            f"The requested reserved device memory {human(number * _MIB)} is larger than the available memory of "
            f"{human(free)}. The request is ignored."
        )
        return None
    return number * _MIB


def resolve_growth(configured: bool | None, environ: Mapping[str, str]) -> bool:
    """Returns whether memory grows with use; TF_FORCE_GPU_ALLOW_GROWTH overrides the configured value.

    >>> resolve_growth(True, {}), resolve_growth(None, {"TF_FORCE_GPU_ALLOW_GROWTH": "true"})
    (True, True)
    """
    text = environ.get(_FORCE_GROWTH)
    if text is None:
        return bool(configured)
    if text not in _BOOLS:
        _logger().error(
            f'The {_FORCE_GROWTH} environment variable is set but could not be parsed: "{text}". Valid values are '
            f'"true" or "false". Using original config value of {int(bool(configured))}.'
        )
        return bool(configured)
    if _BOOLS[text] != bool(configured):
        _logger().warning(
            f"Overriding allow_growth setting because the {_FORCE_GROWTH} environment variable is set. Original "
            f"config value was {int(bool(configured))}."
        )
    return _BOOLS[text]


def garbage_collection(environ: Mapping[str, str]) -> bool:
    """Returns whether idle regions may be released when a larger one is needed.

    >>> garbage_collection({}), garbage_collection({"TF_ENABLE_GPU_GARBAGE_COLLECTION": "false"})
    (True, False)
    """
    text = environ.get(_COLLECT, "true")
    if text not in _BOOLS:
        _logger().error(
            f'The {_COLLECT} environment variable is set but could not be parsed: "{text}". Valid values are '
            f'"true" or "false". Using the default value "true".'
        )
    return _BOOLS.get(text, True)


def _logger() -> Logger:
    import logging  # imported late: it takes 3 ms to load and is rarely needed

    return logging.getLogger("tensorflow")
