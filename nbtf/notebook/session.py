"""Which state lasts from `%load_ext nbtf` to `%unload_ext nbtf`, or as long as a program, and which for one cell?"""

from __future__ import annotations

import re
import sys
import time
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from nbtf import config, runtime
from nbtf._runtime.cluster import drop, finish, forget_failures
from nbtf._runtime.context import CURRENT
from nbtf.errors import OpError
from nbtf.notebook.card_use import CardUses
from nbtf.notebook.hooks import CellHooks, fail_cell
from nbtf.notebook.program_shell import ProgramShell

if TYPE_CHECKING:
    from nbtf.notebook.library_watch import LibraryWatch
    from nbtf.notebook.views.pump import Pump

Undo = Callable[[], object]

CELLS = 200
"""Number of cell beginnings that are remembered: as many as a view has steps."""


class Ending:
    """An action at the end of a cell, when it is known whether the cell failed."""

    def __init__(self, undo: Undo, closing: Callable[[bool], object] | None = None) -> None:
        """Stores what restores the state, and a closing message or check, which is given whether the cell failed."""
        self.undo: Undo = undo
        self.closing: Callable[[bool], object] | None = closing


class Session:
    """The recorder, the hooks, and the running cells.

    A cell may run others (`get_ipython().run_cell`), whose ends call the same hook. So each cell is identified by the
    info object that IPython makes for it, not by counting.
    """

    def __init__(self, shell: Any) -> None:
        """Changes nothing yet."""
        self.shell = shell
        self.hooks: CellHooks = CellHooks(shell)
        self.recorder: runtime.Recorder = runtime.Recorder()
        self.monitor: runtime.CardMonitor = runtime.CardMonitor()
        self.cards: CardUses = CardUses(self.monitor)
        self._undo: list[Undo] = []
        self._running: list[Any] = []
        self._endings: list[tuple[Any, Ending]] = []
        self.magic_words: dict[str, tuple[str, ...]] = {}  # completions for each of our magics
        self.magics: dict[str, Any] = {}  # what each of our magics does, for its function form
        self.cell_devices: list[str | None] = []
        self.began = 0.0  # seconds since the epoch
        self._code_names: dict[str, str] = {}  # names of cells by the file name of their code; see _keep_code_name
        self.cells: deque[tuple[int, str]] = deque(maxlen=CELLS)  # each cell's first possible event, and its name
        self.pump: Pump | None = None  # feeds the live views, once there is one
        self.libraries: LibraryWatch | None = None  # records libraries such as PyTorch

    def start(self) -> None:
        """Starts to record, and registers the hooks with the shell."""
        self.began: float = time.time()
        self.recording: runtime.Recording = runtime.Recording(self.recorder)
        default = runtime.get_default_device()
        self.on_stop(lambda: runtime.set_default_device(default))
        self.on_stop(self.monitor.close)
        self.on_stop(runtime.start_recorder(self.recorder))
        self.on_stop(runtime.tell_code_lines(self.code_line))
        for event, hook in (
            ("pre_run_cell", self._cell_begins),
            ("post_run_cell", self._cell_ends),
            ("post_execute", self._execution_ends),
        ):
            self.on_stop(self.hooks.add(event, hook))

    def forget(self) -> int:
        """Restarts the recording with the memory now in use; returns the number of deleted events."""
        event_count = self.recorder.snapshot(0).heard
        self.recorder.clear()
        self.recording = runtime.Recording(self.recorder)
        return event_count

    def on_stop(self, undo: Undo) -> None:
        """Registers an action that `stop` undoes."""
        self._undo.append(undo)

    def stop(self) -> None:
        """Undoes everything in reverse order."""
        for _, ending in reversed(self._endings):
            ending.undo()
        self._endings.clear()
        while self._undo:
            self._undo.pop()()

    # Cells

    @property
    def cell(self) -> Any:
        """IPython's info about the innermost running cell; None outside cells."""
        return self._running[-1] if self._running else None

    @property
    def nested(self) -> bool:
        """Whether the running cell was started by another cell."""
        return len(self._running) > 1

    def at_end_of_cell(self, ending: Ending) -> None:
        """Registers an action for the end of the innermost cell; it also runs after an error or an interrupt."""
        self._endings.append((self.cell, ending))

    @contextmanager
    def block(self, name: str) -> Generator[None]:
        """Treats a block as a cell: actions registered for the end of the cell run at the end of the block.

        Args:
          name: identifies the block, as its source identifies a cell.
        """
        info, failed = SimpleNamespace(raw_cell=name), True
        self._running.append(info)
        try:
            yield
            failed = False
        finally:
            self._running.remove(info)
            for ending in self._undo_all(lambda cell: cell is info):
                if ending.closing is not None:
                    ending.closing(failed)

    def record_cell(self, closing: Callable[[runtime.Recording, bool], object]) -> None:
        """Records the rest of the innermost cell; `closing` receives the recording, and whether the cell failed."""
        block = runtime.recording()
        record = block.__enter__()
        self.at_end_of_cell(Ending(lambda: block.__exit__(None, None, None), lambda failed: closing(record, failed)))

    def _cell_begins(self, info: Any) -> None:
        if not self._running:  # anything left here is from a cell whose end was interrupted
            self._restore()
            self._undo_all(lambda cell: cell is not None)
        if not self._running and info.store_history:
            events = self.recorder.snapshot(1).events
            first = max([event.seq + 1 for event in events] + [seq for seq, _ in self.cells], default=0)
            # Not execution_count: at this point, only some releases of IPython have counted this cell.
            name = f"cell {len(self.shell.history_manager.input_hist_raw)}"
            self.cells.append((first, name))
            self.recorder.begin_scene(name)
        self._keep_code_name(info)
        self._running.append(info)

    def _keep_code_name(self, info: Any) -> None:
        """Keeps the file name of a cell's code for IPython 7, which cannot map it to the cell."""
        compiler, history = self.shell.compile, self.shell.history_manager.input_hist_raw
        if not hasattr(compiler, "format_code_name"):
            number = len(history) if info.store_history else self.shell.execution_count
            self._code_names[compiler.get_code_name(info.raw_cell, info.raw_cell, number)] = f"cell {number}"

    def _cell_ends(self, result: Any) -> None:
        index = self._index_of(result)
        if index is None:  # the cell that loaded the extension, or an empty one, which calls no hook at its start
            self._restore()
            return
        over = self._running[index:]
        del self._running[index:]
        self._end(lambda cell: any(cell is info for info in over), result)

    def _index_of(self, result: Any) -> int | None:
        if result is None:  # an interrupted cell with `await`
            return len(self._running) - 1 if self._running else None
        for index in reversed(range(len(self._running))):
            if self._running[index] is result.info:
                return index
        # After an error outside the user's code, IPython makes a new info object.
        failed = result.error_in_exec is not None and self._running
        return len(self._running) - 1 if failed and self._running[-1].raw_cell == result.info.raw_cell else None

    def _execution_ends(self) -> None:
        """Ends the actions of a silent execution: it is not a cell, and its result is not reported."""
        if not self._running:
            self._end(lambda cell: cell is None, None)

    def _end(self, is_over: Callable[[Any], bool], result: Any) -> None:
        self._restore()
        self._wait_for_tasks(result)
        ending = self._undo_all(is_over)
        failed = result is None or not result.success
        for undo in ending:
            if undo.closing is not None:
                try:
                    undo.closing(failed)
                except runtime.ExpectationError as error:
                    failed = True
                    fail_cell(self.shell, result, error)

    def _wait_for_tasks(self, result: Any) -> None:
        """Shows errors from tasks of a cluster below the cell that caused them.

        After an interrupt it does not wait: ops that the tasks have not started are dropped.
        """
        if result is not None and result.success:
            try:
                finish(CURRENT.context)
            except OpError as error:
                fail_cell(self.shell, result, error)
        elif result is not None and isinstance(result.error_in_exec, KeyboardInterrupt):
            drop(CURRENT.context)
        elif result is not None and isinstance(result.error_in_exec, OpError):
            forget_failures(CURRENT.context)

    def _restore(self) -> None:
        """Restores runtime state that an interrupted cell may have left, once no cell is running."""
        if not self._running:
            runtime.end_cell()
            self.recorder.end_scene()

    def _undo_all(self, is_over: Callable[[Any], bool]) -> list[Ending]:
        """Undoes actions of finished cells; after an interrupt, the next cell undoes the rest at its beginning."""
        ending = [entry for entry in self._endings if is_over(entry[0])]
        for entry in reversed(ending):
            entry[1].undo()
            self._endings.remove(entry)
        return [undo for _, undo in ending]

    # Soft placement for a cell

    def soft_placement(self, soft: bool) -> Undo:
        """Switches soft placement; the undo does nothing if the user has changed the setting since."""
        previous = config.get_soft_device_placement()
        config.set_soft_device_placement(soft)

        def undo() -> None:
            if config.get_soft_device_placement() == soft:
                config.set_soft_device_placement(previous)

        return undo

    def code_line(self, site: runtime.Site) -> str:
        """Returns the description of a code line: `cell 4, line 2: c = tf.matmul(a, b)`."""
        from nbtf.notebook.code_lines import in_words

        return in_words(site, self._cell_of)

    def _cell_of(self, file: str) -> str:
        """Returns the name of the cell whose code was compiled under a file name; empty for a real file."""
        if file in self._code_names:
            return self._code_names[file]
        format_name = getattr(self.shell.compile, "format_code_name", None)
        code_name = file if format_name is None else (format_name(file) or ("", ""))[1]
        number = re.search(r"\[(\d+)\]|^<ipython-input-(\d+)-", code_name)
        return f"cell {number[1] or number[2]}" if number else ""


SESSIONS: WeakKeyDictionary[Any, Session] = WeakKeyDictionary()
"""The session of each shell that has loaded the extension."""


_PROGRAM = ProgramShell()


def session_of_shell() -> Session | None:
    """Returns the session of IPython's shell; None if it has not loaded the extension, or IPython is not running."""
    get_ipython: Callable[[], Any] = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)
    shell = get_ipython()
    return None if shell is None else SESSIONS.get(shell)


def current_session() -> Session:
    """Returns the session of IPython's shell; without the extension, the program's own, which then starts to record."""
    session = session_of_shell() or SESSIONS.get(_PROGRAM)
    if session is None:
        session = SESSIONS[_PROGRAM] = Session(_PROGRAM)
        session.start()
    return session


def end_program_session() -> None:
    """Ends the session of a program without the extension, if there is one."""
    session = SESSIONS.pop(_PROGRAM, None)
    if session is not None:
        session.stop()


def say(text: str) -> None:
    """Prints a line into the output of the cell."""
    sys.stdout.write(f"{text}\n")


def show(value: object) -> None:
    """Displays a value in the output of the cell; a program without IPython prints it."""
    if session_of_shell() is None:
        say(repr(value))
    else:
        import_module("IPython.display").display(value)
