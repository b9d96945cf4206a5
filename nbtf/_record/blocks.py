"""How do long columns become blocks, each with its own list of facts? Reading an event creates those of its block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nbtf._record.rows import SUBJECT
from nbtf._record.table import Block

_ROWS = 20_000
"""Rows of a block."""


def in_blocks(
    rows: Any,
    entries: Any,
    row_facts: Sequence[Any],
    entry_facts: Sequence[Any],
    messages: Mapping[int, tuple[int, ...]],
) -> list[Block]:
    """Returns rows and memory entries as blocks.

    Args:
      rows: an array of `table.ROWS`, in order; there is a row after the last entry.
      entries: an array of `table.ENTRIES`, in order.
      row_facts: the facts of rows, by index.
      entry_facts: the facts of entries, by index.
      messages: the numbers of an all-reduce's messages, by the number of its row.
    """
    blocks: list[Block] = []
    begin = 0
    for first in range(0, len(rows), _ROWS):
        table = rows[first : first + _ROWS].copy()
        end = int(entries["number"].searchsorted(table["number"][-1], side="right"))
        pieces = entries[begin:end].copy()
        begin = end
        used, table["fact"] = np.unique(table["fact"], return_inverse=True)
        used_pieces, positions = np.unique(pieces["fact"], return_inverse=True)
        pieces["fact"] = positions + len(used)
        listed = [row_facts[fact] for fact in used.tolist()]
        listed += [entry_facts[fact] for fact in used_pieces.tolist()]
        counts = np.array([fact[SUBJECT].count for fact in listed])[table["fact"]]
        numbers = table["number"].tolist() if messages else ()
        of_block = {number: messages[number] for number in numbers if number in messages}
        blocks.append(Block(table, pieces, listed, of_block, int(counts.sum()) + len(pieces)))
    return blocks
