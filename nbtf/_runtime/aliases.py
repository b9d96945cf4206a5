"""An import finder that redirects one module name to another, so that no module is loaded twice."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class AliasFinder(MetaPathFinder, Loader):
    """Answers every import below a name with the module of another name."""

    def __init__(self, name: str, counterpart: Callable[[str], ModuleType]) -> None:
        """Sets which names the finder answers for.

        Args:
          name: `tensorflow` covers `tensorflow` and `tensorflow.keras`; `nbtf.compat.v1.` covers only its submodules.
          counterpart: returns the module for a full name, or raises `ModuleNotFoundError`.
        """
        self.name = name
        self._counterpart = counterpart

    def install(self) -> None:
        """Puts this finder first in `sys.meta_path`; repeated calls have no further effect."""
        if not any(isinstance(finder, AliasFinder) and finder.name == self.name for finder in sys.meta_path):
            sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Claims the names, even when modules of these names are installed."""
        prefix = self.name.removesuffix(".")
        is_aliased = fullname.startswith(f"{prefix}.") or fullname == self.name
        return ModuleSpec(fullname, self) if is_aliased else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Lets the import system create an empty module, which `exec_module` then replaces."""

    def exec_module(self, module: ModuleType) -> None:
        """Replaces the empty module with its counterpart."""
        counterpart = self._counterpart(module.__name__)
        if not hasattr(counterpart, "__path__"):
            counterpart.__path__ = []  # TensorFlow may have a package where nbtf has a plain module with aliases
        sys.modules[module.__name__] = counterpart
