"""How are the ops of other array libraries recorded for a while, also of those that are imported meanwhile?"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any

from nbtf._frameworks import FRAMEWORKS
from nbtf._frameworks.base import Framework, Listening
from nbtf._frameworks.importing import on_import
from nbtf._frameworks.new_threads import on_new_threads


def watchable(module: str) -> type[Framework]:
    """Returns the library that is imported as a module, and tells what it does: its ops, or its memory alone.

    Raises:
      ValueError: there is none.
    """
    names = [framework.module_name for framework in FRAMEWORKS if framework.recorded]
    for framework in FRAMEWORKS:
        if framework.module_name == module and framework.recorded:
            return framework
        if framework.module_name == module:
            raise ValueError(
                f"{framework.name} tells nobody which ops it runs; what can be watched: {', '.join(names)}."
            )
    raise ValueError(f"A library to watch is one of {', '.join(names)}; got {module!r}.")


class OpWatch:
    """Has the ops of libraries recorded: on the thread that starts it, and on those that begin meanwhile."""

    def __init__(self, libraries: Collection[type[Framework]], on_begin: Callable[[type[Framework]], object]) -> None:
        """Takes the libraries, and what is told of each that begins: now, or with its import."""
        self._libraries, self._on_begin = libraries, on_begin
        self._listening: list[Listening] = []
        self._undo: list[Callable[[], object]] = []

    @classmethod
    def of_all(
        cls, without: Collection[str] = (), on_begin: Callable[[type[Framework]], object] = lambda framework: None
    ) -> OpWatch:
        """Returns a watch of all that can be watched, but for the libraries of some modules."""
        libraries = [each for each in FRAMEWORKS if each.tells_ops and each.module_name not in without]
        return cls(libraries, on_begin)

    def start_if_possible(self) -> None:
        """Begins where that is possible; else checks say that ops were not recorded."""
        try:
            self.start()
        except RuntimeError:
            self.stop()

    def start(self) -> None:
        """Begins.

        Raises:
          RuntimeError: a release does not tell what is needed.
        """
        self._do(*on_new_threads(self._join))
        for framework in self._libraries:
            if framework.imported() is not None:
                self._begin(framework)
            else:
                self._do(*on_import(framework.module_name, lambda framework=framework: self._begin_late(framework)))

    def _do(self, begin: Callable[[], Any], undo: Callable[[], Any]) -> None:
        """Begins something; whatever an interrupt lets happen of it is undone."""
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
        with suppress(RuntimeError):  # the user has imported a library, and asked for nothing here
            self._begin(framework)

    def _join(self) -> None:
        """Listens to a thread that begins."""
        for listening in tuple(self._listening):
            listening.join()

    def renew(self) -> None:
        """Repairs what an interrupt of the program may have cut short."""
        for listening in self._listening:
            listening.renew()

    def stop(self) -> None:
        """Ends, once: the last that began first."""
        while self._undo:
            self._undo[-1]()
            self._undo.pop()
        self._listening.clear()
