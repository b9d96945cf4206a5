"""How does an import of a module find another one, under whose name nothing is loaded twice?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class AliasFinder(MetaPathFinder, Loader):
    """Answers every import below a name with modules that have another."""

    def __init__(self, name: str, counterpart: Callable[[str], ModuleType]) -> None:
        """Takes over a name.

        Args:
          name: `tensorflow` answers for `tensorflow` and `tensorflow.keras`; `nbtf.compat.v1.` for what is in it alone.
          counterpart: returns the module that is meant by a full name, or raises `ModuleNotFoundError`.
        """
        self.name = name
        self._counterpart = counterpart

    def install(self) -> None:
        """Asks it first from now on, and only once however often this is called."""
        if not any(isinstance(finder, AliasFinder) and finder.name == self.name for finder in sys.meta_path):
            sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Claims the names, also where modules of these names are installed."""
        prefix = self.name.removesuffix(".")
        is_aliased = fullname.startswith(f"{prefix}.") or fullname == self.name
        return ModuleSpec(fullname, self) if is_aliased else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Leaves it to the import system to make a module, which `exec_module` then replaces."""

    def exec_module(self, module: ModuleType) -> None:
        """Puts the counterpart in the place of the empty module."""
        counterpart = self._counterpart(module.__name__)
        if not hasattr(counterpart, "__path__"):
            counterpart.__path__ = []  # a package there may be a plain module here, with names for its modules
        sys.modules[module.__name__] = counterpart
