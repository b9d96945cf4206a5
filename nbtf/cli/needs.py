"""Which modules does a notebook or cell need, and which of them are missing?

A notebook that needs more than nbtf lists it in its metadata: `{"nbtf": {"needs": ["torch"]}}`. If a module is missing,
the notebook is not run, and its recorded outputs stay. A single cell lists what it needs in its own metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, cast

from nbtf.cli.command_error import CommandError


def missing_modules(metadata: Mapping[str, Any]) -> list[str]:
    """Returns the modules that a notebook needs and this Python does not have.

    Args:
      metadata: the metadata of a notebook or a cell.

    Raises:
      CommandError: if the needs are not a list of strings.

    >>> missing_modules({"nbtf": {"needs": ["json", "no_such_module"]}})
    ['no_such_module']
    """
    needs: object = metadata.get("nbtf", {}).get("needs", [])
    names = cast("list[object]", needs) if isinstance(needs, list) else [None]
    if not all(isinstance(name, str) and name.isidentifier() for name in names):
        raise CommandError(
            f'in the metadata of a notebook or a cell, "needs" must be a list such as ["torch"]; got {needs!r}'
        )
    return [name for name in map(str, names) if find_spec(name) is None]
