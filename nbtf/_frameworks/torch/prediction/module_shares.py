"""Which parts of a model hold the memory at the peak? A few rows for any number of modules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

MOST = 8
"""Most rows."""
OTHERS = "…"
"""The path that stands for all smaller parts, if even those at the top are too many."""
_SIBLINGS = 4
"""Number of numbered modules, such as those of a list, up to which each may have a row of its own."""


class _Row(NamedTuple):
    """A module's path as it is shown, and its memory by the path of each module below it."""

    path: str
    below: dict[tuple[str, ...], int]

    @property
    def nbytes(self) -> int:
        return sum(self.below.values())

    def split(self) -> list[_Row]:
        """Returns a row for each module directly below, and one for the memory of the module itself."""
        rows: dict[str, dict[tuple[str, ...], int]] = defaultdict(lambda: defaultdict(int))
        numbers = sorted({int(path[0]) for path in self.below if path and path[0].isdecimal()})
        together = f"{numbers[0]}…{numbers[-1]}" if len(numbers) > _SIBLINGS else ""
        for path, nbytes in self.below.items():
            name = together if path and path[0].isdecimal() and together else "".join(path[:1])
            rows[".".join(filter(None, (self.path, name)))][path[1:]] += nbytes
        return [_Row(path, below) for path, below in rows.items()]


def module_shares(sizes: Mapping[str, int]) -> dict[str, int]:
    """Returns the memory by part of a model, the largest part first: large parts are split as long as rows are left.

    Args:
      sizes: bytes by the path of a module; the path is empty for memory of no module.

    >>> sizes = {"encoder.0.a": 5, "encoder.0.b": 4, "encoder.1.a": 5, "head": 1, "": 2}
    >>> module_shares(sizes)
    {'encoder.0.a': 5, 'encoder.1.a': 5, 'encoder.0.b': 4, '': 2, 'head': 1}
    >>> module_shares({f"layers.{number}": 10 for number in range(24)} | {"head": 1})
    {'layers.0…23': 240, 'head': 1}
    """
    rows = _Row(
        "", {tuple(path.split(".")) if path else (): nbytes for path, nbytes in sizes.items() if nbytes}
    ).split()
    is_split = True
    while is_split:
        is_split = False
        for row in sorted(rows, key=lambda row: -row.nbytes):
            children = row.split() if any(row.below) else [row]
            if children != [row] and (len(children) == 1 or len(rows) - 1 + len(children) <= MOST):
                rows = [*[each for each in rows if each is not row], *children]
                is_split = True
                break
    rows.sort(key=lambda row: -row.nbytes)
    shares = {row.path: row.nbytes for row in rows[: MOST - 1 if len(rows) > MOST else MOST]}
    remainder = sum([row.nbytes for row in rows[len(shares) :]])
    return shares | ({OTHERS: remainder} if remainder else {})
