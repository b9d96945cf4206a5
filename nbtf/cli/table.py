"""How rows are laid out on a terminal: columns as wide as their widest text, no lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(rows: Iterable[Sequence[str]]) -> str:
    """Returns the rows as text, one a line; columns stand under each other, two blanks apart.

    >>> print(table([("device", "memory"), ("GPU:0", "5 GiB")]))
    device  memory
    GPU:0   5 GiB
    """
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
