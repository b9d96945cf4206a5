"""Which outputs of a lesson stay hidden until readers run their cells? Those that the cells' metadata fold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def is_folded(cell: Any) -> bool:
    """Returns whether a cell's outputs are folded because they answer the question above it.

    >>> is_folded({"metadata": {"jupyter": {"outputs_hidden": True}}})
    True
    """
    return bool(cell["metadata"].get("jupyter", {}).get("outputs_hidden"))


def empty_folded_cells(cells: Iterable[Any]) -> bool:
    """Removes folded outputs from cells, and the mark that folds them, because JupyterLab shows their first line.

    Args:
      cells: as a file has them, or as nbformat reads them; changed in place.

    Returns:
      Whether any cell was changed.
    """
    folded = [cell for cell in cells if cell["cell_type"] == "code" and is_folded(cell)]
    for cell in folded:
        cell.update(outputs=[], execution_count=None)
        cell["metadata"].pop("collapsed", None)
        del cell["metadata"]["jupyter"]["outputs_hidden"]
    return bool(folded)
