"""How much freed memory does the process keep, so that new arrays need not be mapped again?"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

KEPT_BELOW = 64 << 20
"""Larger arrays get their own mapping, which is released when they are freed. Of smaller ones, up to twice this size is
kept, as in glibc's own rule."""

LEARNT_BYTES = (32 << 20) - (64 << 10)
"""With the header and the rest of a page, this is still within the 32 MiB that glibc learns automatically."""

_SETTINGS = ("mmap_threshold", "trim_threshold", "top_pad", "mmap_max")
"""If the user sets any of them, glibc stops learning. Source: `do_set_*` in malloc.c of glibc."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Source: malloc.h of glibc; mallopt(3)."""


@cache
def keep_freed_memory() -> None:
    """Makes glibc keep freed arrays of less than 64 MiB, up to 128 MiB in total; only the first call has an effect.

    By default, glibc maps blocks above a threshold and unmaps them when they are freed. The kernel then zeroes the next
    array page by page, and `a * b + a` with 40 MB takes twice as long. If the C library rejects the setting (glibc's
    limit used to be 32 MiB), an array of almost 32 MiB teaches glibc that size. Freeing a block raises the threshold to
    its size, and the amount that is kept to twice that size. The array is never written to, so none of its pages exist.

    Memory between arrays in use is also kept, until new arrays use it or `give_freed_memory_back` is called. Settings
    of the user (`MALLOC_TRIM_THRESHOLD_`, `MALLOC_MMAP_THRESHOLD_`, their `GLIBC_TUNABLES`) are respected. Other C
    libraries have their own rules.

    Source: `free` and `DEFAULT_MMAP_THRESHOLD_MAX` in malloc.c of glibc; mallopt(3), M_MMAP_THRESHOLD.
    """
    if _is_set_by_user() or not raise_thresholds():
        with suppress(MemoryError):
            np.empty(LEARNT_BYTES, np.uint8)


def give_freed_memory_back() -> None:
    """Returns all unused pages to the system; the next arrays are mapped again. Source: malloc_trim(3)."""
    with suppress(AttributeError):
        _c_library().malloc_trim(0)


def raise_thresholds() -> bool:
    """Raises the sizes up to which the C library keeps freed memory; returns whether it accepted both."""
    try:
        mallopt = _c_library().mallopt
    except AttributeError:
        return False
    return bool(mallopt(_MMAP_THRESHOLD, KEPT_BELOW) and mallopt(_TRIM_THRESHOLD, 2 * KEPT_BELOW))


def _is_set_by_user() -> bool:
    """Returns whether the environment has a setting that stops glibc from learning."""
    tunables = os.environ.get("GLIBC_TUNABLES", "")
    return any(f"MALLOC_{name.upper()}_" in os.environ or f"malloc.{name}=" in tunables for name in _SETTINGS)


def _c_library() -> Any:
    """Returns the C library's functions on Linux; None elsewhere."""
    if sys.platform != "linux":
        return None
    import ctypes

    return ctypes.CDLL(None)
