"""How are rows laid out on a terminal? In columns as wide as their widest text, without rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(rows: Iterable[Sequence[str]]) -> str:
    """Returns the rows as text, one per line; columns are aligned and two spaces apart.

    >>> print(table([("device", "memory"), ("GPU:0", "5 GiB")]))
    device  memory
    GPU:0   5 GiB
    """
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
