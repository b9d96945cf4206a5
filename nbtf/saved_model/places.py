"""Where is a class or a function found again: by module and name, or because this process still knows it?"""

from __future__ import annotations

import sys
import weakref
from importlib import import_module
from typing import Any

_SAVED_HERE: weakref.WeakValueDictionary[tuple[str, str], Any] = weakref.WeakValueDictionary()
"""Classes that this process saved objects of: those made in a function have no name by which they can be found."""

FORMAT_KEEPS = (
    "The folder keeps values, variables, and the names of classes and functions, no code: define or import {name} "
    "before loading, in a module or in the notebook."
)


def place_of(one: Any) -> list[str] | None:
    """Returns module and qualified name of a class or function; None if it is not to be found there."""
    module, name = getattr(one, "__module__", None), getattr(one, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    if isinstance(one, type):
        _SAVED_HERE[module, name] = one
        return [module, name]
    return [module, name] if _looked_up(module, name) is one else None


def found_at(place: list[str]) -> Any:
    """Returns the class or function of a place.

    Raises:
      ValueError: it is not there.
    """
    module, name = place
    found = _looked_up(module, name)
    if found is None:
        found = _SAVED_HERE.get((module, name))
    if found is None:
        whole = f"{module}.{name}"
        raise ValueError(f"{whole} cannot be found. {FORMAT_KEEPS.format(name=whole)}")
    return found


def _looked_up(module: str, name: str) -> Any:
    found: Any = sys.modules.get(module)
    if found is None:
        try:
            found = import_module(module)
        except ImportError:
            return None
    for part in name.split("."):
        found = getattr(found, part, None)
        if found is None:
            return None
    return found
