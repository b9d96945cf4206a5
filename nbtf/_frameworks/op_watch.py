"""Records the ops of other array libraries for a while, including libraries that are imported meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any

from nbtf._frameworks import FRAMEWORKS
from nbtf._frameworks.base import Framework, Listening
from nbtf._frameworks.importing import on_import, on_new_threads


def watchable(module: str) -> type[Framework]:
    """Returns the library of a module name, if its ops or its memory can be recorded.

    Raises:
      ValueError: if the name is unknown, or the library exposes nothing.
    """
    names = [framework.module_name for framework in FRAMEWORKS if framework.recorded]
    for framework in FRAMEWORKS:
        if framework.module_name == module and framework.recorded:
            return framework
        if framework.module_name == module:
            raise ValueError(
                f"{framework.name} does not expose its ops. Libraries that can be watched: {', '.join(names)}."
            )
    raise ValueError(f"Unknown library {module!r}. Libraries that can be watched: {', '.join(names)}.")


class OpWatch:
    """Records the ops of libraries on the starting thread and its later threads."""

    def __init__(self, libraries: Collection[type[Framework]], on_begin: Callable[[type[Framework]], object]) -> None:
        """Stores the libraries, and a function to call for each one whose recording starts, now or at its import."""
        self._libraries, self._on_begin = libraries, on_begin
        self._listening: list[Listening] = []
        self._undo: list[Callable[[], object]] = []

    @classmethod
    def of_all(
        cls, without: Collection[str] = (), on_begin: Callable[[type[Framework]], object] = lambda framework: None
    ) -> OpWatch:
        """Returns a watch of all libraries that can be watched, except those of some modules."""
        libraries = [each for each in FRAMEWORKS if each.tells_ops and each.module_name not in without]
        return cls(libraries, on_begin)

    def start_if_possible(self) -> None:
        """Starts if possible; otherwise checks report that ops were not recorded."""
        try:
            self.start()
        except RuntimeError:
            self.stop()

    def start(self) -> None:
        """Starts recording.

        Raises:
          RuntimeError: if a library's release lacks a necessary hook.
        """
        self._do(*on_new_threads(self._join))
        for framework in self._libraries:
            if framework.imported() is not None:
                self._begin(framework)
            else:
                self._do(*on_import(framework.module_name, lambda framework=framework: self._begin_late(framework)))

    def _do(self, begin: Callable[[], Any], undo: Callable[[], Any]) -> None:
        """Starts something, and undoes it if an interrupt stops it half-way."""
        self._undo.append(undo)
        begin()

    def _begin(self, framework: type[Framework]) -> None:
        library = framework.imported()
        listening = None if library is None else library.listening()
        if listening is not None:
            self._do(listening.start, listening.stop)
            self._listening.append(listening)
            self._on_begin(framework)

    def _begin_late(self, framework: type[Framework]) -> None:
        with suppress(RuntimeError):  # the user only imported a library and requested no recording
            self._begin(framework)

    def _join(self) -> None:
        """Records a thread that starts."""
        for listening in tuple(self._listening):
            listening.join()

    def renew(self) -> None:
        """Repairs the effects of an interrupt."""
        for listening in self._listening:
            listening.renew()

    def stop(self) -> None:
        """Stops recording, in reverse order; further calls do nothing."""
        while self._undo:
            self._undo[-1]()
            self._undo.pop()
        self._listening.clear()
