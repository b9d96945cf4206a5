"""What did other array libraries do during a recording, and which part of it could not be observed?"""

from __future__ import annotations

from collections.abc import Callable, Collection
from threading import get_ident
from typing import NamedTuple

from nbtf._frameworks import FRAMEWORKS, library_name
from nbtf._frameworks.base import Activity, Framework, Pool
from nbtf._frameworks.importing import on_import, on_new_threads
from nbtf._frameworks.unwatched import UNWATCHED
from nbtf._runtime.expectations import MemoryUse

SINCE_START = "of the whole process: {} reports no peak for a block"


class _Watched(NamedTuple):
    """A library, its observer, and its pools at the start."""

    library: Framework
    activity: Activity
    pools_before: dict[str, Pool]


class FrameworkWatch:
    """Observes every library that is imported at its start or later.

    It covers the thread on which it starts, and threads that start meanwhile. Libraries that cannot be watched count as
    long as they are imported before the end; see `Unwatched` for the rule.
    """

    def __init__(self) -> None:
        """Creates an inactive watch."""
        self._watched: list[_Watched] = []
        self._undo: list[Callable[[], object]] = []
        self._memory: list[MemoryUse] | None = None
        self._threads: set[int] = set()

    def start(self) -> None:
        """Begins."""
        self._threads = {get_ident()}
        self._do(*on_new_threads(self._join))
        for framework in FRAMEWORKS:
            if framework.imported() is not None:
                self._begin(framework)
            else:
                self._do(*on_import(framework.module_name, lambda framework=framework: self._begin(framework)))

    def _do(self, begin: Callable[[], None], undo: Callable[[], None]) -> None:
        """Starts something, and undoes it if an interrupt stops it half-way."""
        self._undo.append(undo)
        begin()

    def _begin(self, framework: type[Framework]) -> None:
        library = framework.imported()
        if library is None:
            return
        watched = _Watched(library, library.activity(), {pool.device: pool for pool in library.pools()})
        watched.activity.complete = self._threads == {get_ident()}
        self._watched.append(watched)
        self._do(watched.activity.start, watched.activity.stop)

    def _join(self) -> None:
        """Observes a thread that starts."""
        self._threads.add(get_ident())
        for watched in tuple(self._watched):
            watched.activity.join()

    def stop(self) -> None:
        """Stops, in reverse order; further calls do nothing."""
        try:
            self._watched = self._all()
            self._memory = self.memory()
        finally:
            while self._undo:
                self._undo[-1]()
                self._undo.pop()

    def _all(self) -> list[_Watched]:
        """Returns the observed libraries and, until the end, those imported so far that cannot be watched."""
        if self._memory is not None:
            return self._watched
        libraries = [library for framework in UNWATCHED if (library := framework.imported()) is not None]
        return [*self._watched, *[_Watched(library, library.activity(), {}) for library in libraries]]

    def memory(self) -> list[MemoryUse]:
        """Returns the libraries' memory use on each card, up to the end or until now."""
        if self._memory is not None:
            return self._memory
        return [use for watched in self._watched for use in _memory(watched)]

    def unrecorded(self, without: Collection[str]) -> list[str]:
        """Returns descriptions of work that was not recorded; `without` names modules to leave out."""
        return _sentences(self._all(), without, lambda activity: activity.work())

    def unrecorded_by_library(self) -> dict[str, list[str]]:
        """Returns descriptions of work that was not recorded, by the name of the library's module."""
        return _by_library(self._all(), lambda activity: activity.work())

    def unmeasured_by_library(self) -> dict[str, list[str]]:
        """Returns why the memory of libraries is unknown, by the name of the library's module."""
        return _by_library(self._all(), lambda activity: activity.unmeasured())

    def silence(self) -> str:
        """Returns why a recording may be empty: the libraries that worked, and how to record them; else nothing."""
        works = [(watched.activity.work(), watched.activity.recorder) for watched in self._all()]
        texts = [
            f"{work}.{f' In a program {recorder} records its ops.' if recorder else ''}"
            for work, recorder in works
            if work is not None
        ]
        return " ".join(texts)

    def unmeasured(self, without: Collection[str]) -> list[str]:
        """Returns the libraries whose memory is unknown, and why; `without` names modules to leave out."""
        return _sentences(self._all(), without, lambda activity: activity.unmeasured())


def _by_library(watched: list[_Watched], ask: Callable[[Activity], str | None]) -> dict[str, list[str]]:
    modules = {each.library.module_name: each for each in watched}
    sentences = {name: _sentences([each], (), ask) for name, each in modules.items()}
    return {name: texts for name, texts in sentences.items() if texts}


def _sentences(watched: list[_Watched], without: Collection[str], ask: Callable[[Activity], str | None]) -> list[str]:
    left_out = set(map(library_name, without))
    answers = {each.library: ask(each.activity) for each in watched if each.library.name not in left_out}
    return [
        f"{answer}. Move that work out of the block, or check without {library.module_name}."
        for library, answer in answers.items()
        if answer is not None
    ]


def _memory(watched: _Watched) -> list[MemoryUse]:
    peaks, uses = watched.activity.peaks(), list[MemoryUse]()
    for pool in watched.library.pools():
        pool_before = watched.pools_before.get(pool.device)
        start = 0 if pool_before is None else pool_before.in_use
        note = ""
        peak = 0 if peaks is None else peaks.get(pool.device, 0)
        if pool.peak is not None:
            peak = max(peak, pool.peak)
            if peaks is None and pool_before is not None and pool_before.peak == pool.peak > max(start, pool.in_use):
                note = SINCE_START.format(watched.library.name)
        elif peaks is None:
            peak, note = pool.reserved, f"what {watched.library.name} has reserved on the card: it reports no peak"
        reached = max(peak, start, pool.in_use)
        uses.append(MemoryUse(pool.device, False, start, reached, pool.in_use, watched.library.name, note))
    return uses
