"""How is a number with its noun written?"""

from __future__ import annotations


def counted(count: int, noun: str, nouns: str = "") -> str:
    """Returns a number with its noun; `nouns` is the plural if it is not formed with an s.

    >>> counted(1, "op"), counted(2000, "op"), counted(0, "copy", "copies")
    ('1 op', '2,000 ops', '0 copies')
    """
    return f"{count:,} {noun if count == 1 else nouns or f'{noun}s'}"
