"""Calls a function at the moment a library is imported, or a thread starts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType
import threading


def on_import(name: str, then: Callable[[], object]) -> tuple[Callable[[], None], Callable[[], None]]:
    """Arranges for a function to be called once, right after a library's own code has run.

    The library is found and loaded as usual; its loader is wrapped while it loads.

    Args:
      name: name of a package that has not been imported yet.
      then: function to call; it must not raise, because an error would break the user's import.

    Returns:
      A function that starts this, and one that cancels it. The second may be called first, after an interrupt.
    """
    finder = _Finder(name, then)

    def call_off() -> None:
        with suppress(ValueError):  # the import may already have removed the finder
            sys.meta_path.remove(finder)

    return lambda: sys.meta_path.insert(0, finder), call_off


class _Finder:
    """Finds one library through the other finders until it is imported, even if its spec is requested before."""

    def __init__(self, name: str, then: Callable[[], object]) -> None:
        self._name, self._then = name, then

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the library's spec with a loader that calls the function; None for everything else."""
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
        """Calls the function, unless it was already called or cancelled."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
            self._then()


class _Loader:
    """Loads like another loader and then notifies the finder."""

    def __init__(self, spec: ModuleSpec, loader: Any, finder: _Finder) -> None:
        self._spec, self._loader, self._finder = spec, loader, finder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Creates the module."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Runs the library's code, then the function; afterwards the module has its own loader again."""
        self._spec.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._finder.imported()


def on_new_threads(then: Callable[[], object]) -> tuple[Callable[[], None], Callable[[], None]]:
    """Arranges for a function to be called on each thread that starts from now on, before its code runs.

    It uses Python's profiler of new threads for one call, and then restores the previous profiler.

    Args:
      then: function to call; it must not raise, because an error would break the user's thread.

    Returns:
      A function that starts this, and one that cancels it. The second may be called first, after an interrupt.
    """
    outer_profile, is_on = threading.getprofile(), True

    def begin(frame: Any, event: Any, argument: Any) -> None:
        sys.setprofile(outer_profile)
        if is_on:
            then()
        if outer_profile is not None:
            outer_profile(frame, event, argument)

    def call_off() -> None:
        nonlocal is_on
        is_on = False  # a profiler installed later may still call `begin`
        if threading.getprofile() is begin:
            threading.setprofile(outer_profile)

    return lambda: threading.setprofile(begin), call_off
