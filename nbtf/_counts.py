"""How many are there, in words?"""

from __future__ import annotations


def counted(count: int, noun: str, nouns: str = "") -> str:
    """Returns a number with what it counts; `nouns` where several are called other than by an s more.

    >>> counted(1, "op"), counted(2000, "op"), counted(0, "copy", "copies")
    ('1 op', '2,000 ops', '0 copies')
    """
    return f"{count:,} {noun if count == 1 else nouns or f'{noun}s'}"
