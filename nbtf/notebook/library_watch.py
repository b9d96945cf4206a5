"""What does a session have recorded of libraries such as PyTorch, and for how long?"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from nbtf.notebook.session import Ending, Session, say

if TYPE_CHECKING:
    from nbtf._frameworks.base import Framework
    from nbtf._frameworks.op_watch import OpWatch


def library_watch_of(session: Session) -> LibraryWatch:
    """Returns what a session has recorded of libraries."""
    if session.libraries is None:
        session.libraries = LibraryWatch(session)
    return session.libraries


class LibraryWatch:
    """The libraries whose ops a session has recorded: for good, or for a cell."""

    def __init__(self, session: Session) -> None:
        """Watches none yet; an interrupt of a cell ends nothing that is watched for good."""
        self._session = session
        self._watches: dict[str, OpWatch] = {}
        self._while_seen = False
        session.on_stop(self.end)
        session.on_stop(session.hooks.add("pre_run_cell", self._renew))

    def begin(self, module: str) -> str:
        """Watches a library from now on; returns what is so now, in words.

        Raises:
          ValueError: it is none that can be watched.
          RuntimeError: this release of it cannot be.
        """
        from nbtf._frameworks.op_watch import OpWatch, watchable  # late: few sessions watch a library

        library = watchable(module)
        if module not in self._watches:
            watch = OpWatch([library], lambda framework: None)
            try:
                watch.start()
            except BaseException:
                watch.stop()
                raise
            self._watches[module] = watch
        since = "from now on" if library.imported() is not None else "from its import on"
        verb = "are" if library.tells_ops else "is"
        return f"{library.name}'s {library.recorded} {verb} recorded {since}, until %placement_log unwatch {module}"

    def end(self, module: str | None = None) -> list[str]:
        """Ends that for a library, or for all; returns which were watched."""
        modules = [each for each in self._watches if module in (None, each)]
        for each in modules:
            self._watches.pop(each).stop()
        return modules

    def _renew(self, _: Any) -> None:
        for watch in self._watches.values():
            watch.renew()

    def of_cell(self, without: Collection[str] = ()) -> None:
        """Watches what can be watched for the rest of the cell that runs, and says so where a library is there."""
        self._watch_cell(without, lambda library: say(f"{library.name}'s ops are recorded in this cell, too."))

    def of_view(self, is_seen: bool) -> None:
        """Watches what can be watched in the cell that begins, for live views that are seen; says so once."""
        if is_seen:
            self._watch_cell((), self._say_once)
        self._while_seen &= is_seen

    def _say_once(self, library: type[Framework]) -> None:
        if not self._while_seen:
            say(f"{library.name}'s ops are recorded while a live view is seen.")
        self._while_seen = True

    def _watch_cell(self, without: Collection[str], on_begin: Callable[[type[Framework]], object]) -> None:
        from nbtf._frameworks.op_watch import OpWatch  # late, as above

        watch = OpWatch.of_all({*without, *self._watches}, on_begin)
        self._session.at_end_of_cell(Ending(watch.stop))
        watch.start_if_possible()
