"""How much of what was freed does the process keep, so that the next arrays need not be mapped anew?"""

from __future__ import annotations

from contextlib import suppress
from functools import cache

import numpy as np

LARGEST_BYTES = (32 << 20) - (64 << 10)
"""With the header and the rest of a page still within the 32 MiB up to which glibc learns. Larger arrays have a mapping
of their own, as before."""


@cache
def keep_freed_memory() -> None:
    """Has glibc keep up to twice this much, once: by itself it does so after the first array of that size.

    It asks the system for blocks above a threshold and gives them back when they are freed; then the next array is
    zeroed page by page: gelu of arrays of 4 MiB with its gradient took 2.4 times as long. A block that is freed raises
    the threshold to its size, and what may stay to twice that. Nothing is written to this one, so no page of it is ever
    there. Whoever sets `MALLOC_TRIM_THRESHOLD_`, `MALLOC_MMAP_THRESHOLD_` or their `GLIBC_TUNABLES` switches that off;
    other C libraries have rules of their own.

    Source: `free` and `DEFAULT_MMAP_THRESHOLD_MAX` in malloc.c of glibc; mallopt(3), M_MMAP_THRESHOLD.
    """
    with suppress(MemoryError):
        np.empty(LARGEST_BYTES, np.uint8)
