"""How much of what was freed does the process keep, so that the next arrays need not be mapped anew?"""

from __future__ import annotations

import os
import sys
from functools import cache

# Source: mallopt(3), and malloc.h of glibc: M_TRIM_THRESHOLD and M_MMAP_THRESHOLD, the latter at most 32 MiB.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_OWN_SETTINGS = "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_", "GLIBC_TUNABLES", "LD_PRELOAD"

KEPT_BYTES = 64 << 20
"""What stays with the process. glibc gives all but some MiB back at once, and maps them for the next array, zeroed
page by page: gelu of arrays of 4 MiB with its gradient took 2.4 times as long."""

LARGEST_ARRAY_BYTES = 32 << 20
"""Larger arrays have a mapping of their own, as before."""


@cache
def keep_freed_memory() -> bool:
    """Asks glibc to keep some memory, once, unless the user has settings for it; tells whether it does.

    Other systems and other C libraries are left as they are.
    """
    if sys.platform != "linux" or any(os.environ.get(name) for name in _OWN_SETTINGS):
        return False
    import ctypes  # NumPy has imported it

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    return bool(mallopt(_TRIM_THRESHOLD, KEPT_BYTES) and mallopt(_MMAP_THRESHOLD, LARGEST_ARRAY_BYTES))
