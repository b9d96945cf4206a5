"""How much of what was freed does the process keep, so that the next arrays need not be mapped anew?"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

KEPT_BELOW = 64 << 20
"""Arrays from this size on have a mapping of their own, which goes when they are freed. Of smaller ones twice this
stays, as by glibc's own rule."""

LEARNT_BYTES = (32 << 20) - (64 << 10)
"""With the header and the rest of a page still within the 32 MiB up to which glibc learns by itself."""

_SETTINGS = ("mmap_threshold", "trim_threshold", "top_pad", "mmap_max")
"""Each of them, set by the user, ends glibc's learning. Source: `do_set_*` in malloc.c of glibc."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Source: malloc.h of glibc; mallopt(3)."""


@cache
def keep_freed_memory() -> None:
    """Has glibc keep arrays of less than 64 MiB when they are freed, up to twice that, once.

    It asks the system for blocks above a threshold and gives them back when they are freed; then the next array is
    zeroed page by page: `a * b + a` of 40 MB takes twice as long. Where the C library takes no such setting (glibc's
    limit was 32 MiB once), an array of almost 32 MiB teaches glibc that size: a block that is freed raises the
    threshold to its own, and what may stay to twice that. Nothing is written to it, so no page of it is ever there.

    What lies between arrays in use stays, too, until arrays take it again or `give_freed_memory_back` is called.
    Settings of the user (`MALLOC_TRIM_THRESHOLD_`, `MALLOC_MMAP_THRESHOLD_`, their `GLIBC_TUNABLES`) are left alone;
    other C libraries have rules of their own.

    Source: `free` and `DEFAULT_MMAP_THRESHOLD_MAX` in malloc.c of glibc; mallopt(3), M_MMAP_THRESHOLD.
    """
    if _is_set_by_user() or not raise_thresholds():
        with suppress(MemoryError):
            np.empty(LEARNT_BYTES, np.uint8)


def give_freed_memory_back() -> None:
    """Gives the system all pages that nothing uses; the next arrays are mapped anew. Source: malloc_trim(3)."""
    with suppress(AttributeError):
        _c_library().malloc_trim(0)


def raise_thresholds() -> bool:
    """Raises the sizes up to which the C library keeps what is freed; tells whether it took both."""
    try:
        mallopt = _c_library().mallopt
    except AttributeError:
        return False
    return bool(mallopt(_MMAP_THRESHOLD, KEPT_BELOW) and mallopt(_TRIM_THRESHOLD, 2 * KEPT_BELOW))


def _is_set_by_user() -> bool:
    """Tells whether the environment has a setting with which glibc would not learn."""
    tunables = os.environ.get("GLIBC_TUNABLES", "")
    return any(f"MALLOC_{name.upper()}_" in os.environ or f"malloc.{name}=" in tunables for name in _SETTINGS)


def _c_library() -> Any:
    """Returns the C library's functions on Linux; None, which has none, elsewhere."""
    if sys.platform != "linux":
        return None
    import ctypes

    return ctypes.CDLL(None)
