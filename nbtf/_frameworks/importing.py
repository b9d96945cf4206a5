"""What happens at the moment a library is imported?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType


def on_import(name: str, then: Callable[[], object]) -> tuple[Callable[[], None], Callable[[], None]]:
    """Has a function called once, right after a library's own code has run.

    The library is found and loaded as it is without: its loader stands in for itself while it loads.

    Args:
      name: of a package that nobody has imported yet.
      then: what an error of it would break is the user's import, so it must not raise.

    Returns:
      What begins this, and what calls it off, which may come first: an interrupt can cut the beginning in two.
    """
    finder = _Finder(name, then)

    def call_off() -> None:
        with suppress(ValueError):  # the import has taken it away
            sys.meta_path.remove(finder)

    return lambda: sys.meta_path.insert(0, finder), call_off


class _Finder:
    """Finds one library, as the finders behind it do, until it is imported: others may look for it before."""

    def __init__(self, name: str, then: Callable[[], object]) -> None:
        self._name, self._then = name, then

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the library's spec, whose loader calls the function; None for everything else."""
        if fullname != self._name or self not in sys.meta_path:
            return None
        for finder in sys.meta_path[sys.meta_path.index(self) + 1 :]:
            spec = finder.find_spec(fullname, path, target) if hasattr(finder, "find_spec") else None
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = cast("Any", _Loader(spec, spec.loader, self))  # `importlib.abc` is slow to import
                return spec
        return None

    def imported(self) -> None:
        """Calls the function, unless it was called before, or called off."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
            self._then()


class _Loader:
    """Loads as another loader does, and tells the finder afterwards."""

    def __init__(self, spec: ModuleSpec, loader: Any, finder: _Finder) -> None:
        self._spec, self._loader, self._finder = spec, loader, finder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Makes the module."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Runs the library's code, and then the function; from here on the module has its own loader."""
        self._spec.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._finder.imported()
