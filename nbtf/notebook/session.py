"""What lasts from `%load_ext nbtf` to `%unload_ext nbtf`, and what lasts as long as a cell?"""

from __future__ import annotations

import re
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from nbtf import config, runtime
from nbtf._runtime.cluster import drop, finish, forget_failures
from nbtf._runtime.context import CURRENT
from nbtf.errors import OpError
from nbtf.notebook.card_use import CardUses
from nbtf.notebook.hooks import CellHooks

if TYPE_CHECKING:
    from nbtf.notebook.library_watch import LibraryWatch
    from nbtf.notebook.views.pump import Pump

Undo = Callable[[], object]

CELLS = 200
"""Beginnings of cells that are remembered: as many as a view has steps."""


class Ending:
    """Something to do when a cell is over; whether the cell failed is known by then."""

    def __init__(self, undo: Undo, closing: Callable[[bool], object] | None = None) -> None:
        """Takes what restores the state, and what is then told or checked: it is given whether the cell failed."""
        self.undo, self.closing = undo, closing


class Session:
    """The recorder, the hooks, and the cells that run now.

    A cell may run others (`get_ipython().run_cell`), and their ends are told by the same hook: each cell is known by
    the info object that IPython makes for it, not by counting.
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
        self.magic_words: dict[str, tuple[str, ...]] = {}  # what may be typed after each of our magics
        self.cell_devices: list[str | None] = []
        self.began = 0.0  # seconds since the epoch
        self._code_names: dict[str, str] = {}  # of code in cells, by the name of its file; see _keep_code_name
        self.cells: deque[tuple[int, str]] = deque(maxlen=CELLS)  # the first event that a cell can have, its name
        self.pump: Pump | None = None  # what feeds the live views, from the first one on
        self.libraries: LibraryWatch | None = None  # what is recorded of libraries such as PyTorch

    def start(self) -> None:
        """Starts to record and to listen to the shell."""
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
        """Begins to record anew, with what the memory holds now; returns how many events are forgotten."""
        event_count = self.recorder.snapshot(0).heard
        self.recorder.clear()
        self.recording = runtime.Recording(self.recorder)
        return event_count

    def on_stop(self, undo: Undo) -> None:
        """Has something undone by `stop`."""
        self._undo.append(undo)

    def stop(self) -> None:
        """Undoes everything, the last first."""
        for _, ending in reversed(self._endings):
            ending.undo()
        self._endings.clear()
        while self._undo:
            self._undo.pop()()

    # Cells

    @property
    def cell(self) -> Any:
        """IPython's info about the innermost cell that runs; None outside cells."""
        return self._running[-1] if self._running else None

    @property
    def nested(self) -> bool:
        """Whether a cell runs that another cell has run."""
        return len(self._running) > 1

    def at_end_of_cell(self, ending: Ending) -> None:
        """Has something done when the innermost cell is over, also after an error or an interrupt."""
        self._endings.append((self.cell, ending))

    def record_cell(self, closing: Callable[[runtime.Recording, bool], object]) -> None:
        """Records the rest of the innermost cell; `closing` is given the recording, and whether the cell failed."""
        block = runtime.recording()
        record = block.__enter__()
        self.at_end_of_cell(Ending(lambda: block.__exit__(None, None, None), lambda failed: closing(record, failed)))

    def _cell_begins(self, info: Any) -> None:
        if not self._running:  # there is something left only where the end of a cell was interrupted
            self._restore()
            self._undo_all(lambda cell: cell is not None)
        if not self._running and info.store_history:
            events = self.recorder.snapshot(1).events
            first = max([event.seq + 1 for event in events] + [seq for seq, _ in self.cells], default=0)
            # Not execution_count: some releases of IPython have counted this cell by now, others have not.
            name = f"cell {len(self.shell.history_manager.input_hist_raw)}"
            self.cells.append((first, name))
            self.recorder.begin_scene(name)
        self._keep_code_name(info)
        self._running.append(info)

    def _keep_code_name(self, info: Any) -> None:
        """Keeps the file name of a cell's code for IPython 7, which does not say which cell it stands for."""
        compiler, history = self.shell.compile, self.shell.history_manager.input_hist_raw
        if not hasattr(compiler, "format_code_name"):
            number = len(history) if info.store_history else self.shell.execution_count
            self._code_names[compiler.get_code_name(info.raw_cell, info.raw_cell, number)] = f"cell {number}"

    def _cell_ends(self, result: Any) -> None:
        index = self._index_of(result)
        if index is None:  # the cell that loaded the extension, or an empty one, which begins nothing
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
        # After an error outside the user's code IPython makes the info anew.
        failed = result.error_in_exec is not None and self._running
        return len(self._running) - 1 if failed and self._running[-1].raw_cell == result.info.raw_cell else None

    def _execution_ends(self) -> None:
        """Ends what a silent execution began: it is no cell, and nobody tells its result."""
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
                    self._fail(result, error)

    def _wait_for_tasks(self, result: Any) -> None:
        """Shows errors of tasks of a cluster below the cell that asked for what went wrong.

        After an interrupt nobody waits: what the tasks have not begun is dropped.
        """
        if result is not None and result.success:
            try:
                finish(CURRENT.context)
            except OpError as error:
                self._fail(result, error)
        elif result is not None and isinstance(result.error_in_exec, KeyboardInterrupt):
            drop(CURRENT.context)
        elif result is not None and isinstance(result.error_in_exec, OpError):
            forget_failures(CURRENT.context)

    def _restore(self) -> None:
        """Restores what an interrupted cell may have left behind in the runtime, once no cell runs."""
        if not self._running:
            runtime.end_cell()
            self.recorder.end_scene()

    def _undo_all(self, is_over: Callable[[Any], bool]) -> list[Ending]:
        """Undoes what cells have begun; an interrupt leaves the rest for the beginning of the next cell."""
        ending = [entry for entry in self._endings if is_over(entry[0])]
        for entry in reversed(ending):
            entry[1].undo()
            self._endings.remove(entry)
        return [undo for _, undo in ending]

    def _fail(self, result: Any, error: Exception) -> None:
        """Makes a cell that went well fail: the error is shown, and the front end stops running cells."""
        if result is not None and result.error_in_exec is None:
            result.error_in_exec = error
        self.shell.last_execution_succeeded = False
        self.shell.showtraceback((type(error), error, None))

    # Soft placement for a cell

    def soft_placement(self, soft: bool) -> Undo:
        """Switches soft placement; the undo leaves it alone when the user has set something else since."""
        previous = config.get_soft_device_placement()
        config.set_soft_device_placement(soft)

        def undo() -> None:
            if config.get_soft_device_placement() == soft:
                config.set_soft_device_placement(previous)

        return undo

    def code_line(self, site: runtime.Site) -> str:
        """Returns a code line in words: `cell 4, line 2: c = tf.matmul(a, b)`."""
        from nbtf.notebook.code_lines import in_words

        return in_words(site, self._cell_of)

    def _cell_of(self, file: str) -> str:
        """Returns the name of the cell whose code is compiled under a file name; an empty text for a file."""
        if file in self._code_names:
            return self._code_names[file]
        format_name = getattr(self.shell.compile, "format_code_name", None)
        code_name = file if format_name is None else (format_name(file) or ("", ""))[1]
        number = re.search(r"\[(\d+)\]|^<ipython-input-(\d+)-", code_name)
        return f"cell {number[1] or number[2]}" if number else ""


SESSIONS: WeakKeyDictionary[Any, Session] = WeakKeyDictionary()
"""The session of each shell that has loaded the extension."""


def say(text: str) -> None:
    """Prints a line into the output of the cell."""
    sys.stdout.write(f"{text}\n")
