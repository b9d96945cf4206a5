"""Which libraries, such as PyTorch, does a session record, and for how long?"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from nbtf.notebook.session import Ending, Session, say

if TYPE_CHECKING:
    from nbtf._frameworks.base import Framework
    from nbtf._frameworks.op_watch import OpWatch


def library_watch_of(session: Session) -> LibraryWatch:
    """Returns the session's watch over other libraries."""
    if session.libraries is None:
        session.libraries = LibraryWatch(session)
    return session.libraries


class LibraryWatch:
    """The libraries whose ops a session records: permanently, or for a cell."""

    def __init__(self, session: Session) -> None:
        """Watches no library yet; interrupting a cell does not end a permanent watch."""
        self._session = session
        self._watches: dict[str, OpWatch] = {}
        self._while_seen = False
        session.on_stop(self.end)
        session.on_stop(session.hooks.add("pre_run_cell", self._renew))

    def begin(self, module: str) -> str:
        """Records a library from now on; returns a message that describes the new state.

        Raises:
          ValueError: if the library cannot be recorded.
          RuntimeError: if this release of it cannot be recorded.
        """
        from nbtf._frameworks.op_watch import OpWatch, watchable  # imported late, as few sessions watch a library

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
        """Stops recording a library, or all of them; returns those that were recorded."""
        modules = [each for each in self._watches if module in (None, each)]
        for each in modules:
            self._watches.pop(each).stop()
        return modules

    def _renew(self, _: Any) -> None:
        for watch in self._watches.values():
            watch.renew()

    def of_cell(self, without: Collection[str] = ()) -> None:
        """Records all supported libraries in the rest of the running cell; prints a message if one is imported."""
        self._watch_cell(without, lambda library: say(f"{library.name}'s ops are also recorded in this cell."))

    def of_view(self, is_seen: bool) -> None:
        """Records all supported libraries in the cell that begins if live views are visible; prints a message once."""
        if is_seen:
            self._watch_cell((), self._say_once)
        self._while_seen &= is_seen

    def _say_once(self, library: type[Framework]) -> None:
        if not self._while_seen:
            say(f"{library.name}'s ops are recorded while a live view is visible.")
        self._while_seen = True

    def _watch_cell(self, without: Collection[str], on_begin: Callable[[type[Framework]], object]) -> None:
        from nbtf._frameworks.op_watch import OpWatch  # imported late, as above

        watch = OpWatch.of_all({*without, *self._watches}, on_begin)
        self._session.at_end_of_cell(Ending(watch.stop))
        watch.start_if_possible()
