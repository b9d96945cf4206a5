"""How many bytes does a size in an error text mean, and how precise is it?"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from nbtf._error_texts.finding import Figure, Nbytes

SIZE = r"\d[\d,]{0,25}(?:\.\d{1,6})?(?:[Bb]ytes?|[kKMGTPE]i?B|[KMGTPE]|B)"
"""A size in a text without spaces, as a regular expression without groups."""

_PARTS = re.compile(r"([\d,]+)(?:\.(\d+))?([A-Za-z]+)")
_POWERS = "BKMGTPE"


class Size(NamedTuple):
    """A size in bytes; the true size differs from it by at most `margin`, because it was rounded for the text."""

    nbytes: int
    margin: int
    written: str

    def figure(self, name: str) -> Figure:
        """Returns the size as a figure."""
        return Figure(name, Nbytes(self.nbytes), self.written)


@lru_cache(maxsize=4096)
def size_of(text: str) -> Size:
    """Returns the size that a text such as `20.00MiB` means; all libraries here count in powers of 1024.

    >>> size_of("20.00MiB"), size_of("1,600 bytes").nbytes, size_of("9.07 GB").margin
    (Size(nbytes=20971520, margin=5243, written='20.00 MiB'), 1600, 5368710)
    """
    match = _PARTS.fullmatch(text.replace(" ", ""))
    if match is None:
        raise ValueError(f"Expected a size such as 20.00MiB, not {text!r}.")
    integer, decimals, unit = match[1].replace(",", ""), match[2] or "", match[3]
    scale = 1 << 10 * max(_POWERS.find(unit[0].upper()), 0) if unit.lower() not in ("bytes", "byte", "b") else 1
    hundredths = int(integer + decimals) * scale
    step = 10 ** len(decimals)
    margin = 0 if scale == 1 else scale // (2 * step) + 1
    if scale > 1 and not decimals:
        margin = scale // 2
    spaced = f"{match[1]}{'.' + decimals if decimals else ''} {unit}"
    return Size(hundredths // step, margin, spaced)


def exact(nbytes: int) -> Size:
    """Returns a size that a text gives in bytes."""
    return Size(nbytes, 0, f"{nbytes:,} bytes")
