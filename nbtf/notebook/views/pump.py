"""Updates the live views: from a thread, between two ops, or not at all."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Any

from nbtf import runtime
from nbtf._locks import new_event, new_lock
from nbtf.notebook.library_watch import library_watch_of
from nbtf.notebook.session import SESSIONS, Session, say
from nbtf.notebook.views.audience import Patience, request_date
from nbtf.notebook.views.feed import HEARTBEAT, Feed, State
from nbtf.notebook.views.processor import main_thread_work

if TYPE_CHECKING:
    from nbtf.notebook.views.protocol import LiveWidget

INTERVAL = 0.1
"""Seconds between two messages to one view while a cell runs; multiplied by the number of open views."""

IDLE = 0.5
"""Seconds between two checks while no cell runs."""

RATE = 40 * 1024
"""Bytes per second sent to all views together while a cell runs, not counting message overhead."""

PART = 25
"""A message waits until the program has worked this many times as long as the last one took: messages get 4 %."""

LONGEST_DELAY = 0.15
"""Maximum extra delay of a message, in seconds, on a busy computer where the program itself often waits."""

HOLDER_SECONDS = 0.1
"""How long the search for memory holders may take at the end of a cell."""

thread_time = getattr(time, "thread_time", time.process_time)
"""Seconds that this thread worked, without its waiting for the user's thread; browsers have no such clock."""

MOST_FAILURES = 3
MODES = ("thread", "inline", "off")
NEVER = float("inf")


class Pump:
    """Updates a session's views: at most ten times per second, only with changes, and only while a view is displayed.

    No failure in here reaches the user's cell, and the thread prints nothing. After repeated failures the pump updates
    between ops instead, and after more of them it pauses until the next cell, which prints a message.
    """

    def __init__(self, session: Session) -> None:
        """Chooses the mode; starts nothing until a view is displayed."""
        self.session = session
        self.mode, self.why_off = self._chosen = _mode(session.shell)
        self.feed: Feed = Feed(session)
        self._models: list[LiveWidget] = []
        self._state: State = {}
        self._lock = new_lock()
        self._due = self._sent = 0.0
        self._program = main_thread_work()
        self._failures = 0
        self.failure: Exception | None = None
        """The last failure, not yet reported."""
        self._unsaid = self._said = ""
        self.shared: dict[tuple[str, tuple[str, ...]], Any] = {}
        """Widgets that magics display, by kind and devices: each is displayed again instead of being created again."""
        self._wake = new_event()
        self._stopped = False
        self._thread: threading.Thread | None = None
        self._deafen: Callable[[], object] | None = None
        self._patience = Patience()
        self._in_first_cell = session.cell is None  # IPython does not run hooks for the cell that loads the extension
        for event, hook in (("pre_run_cell", self._cell_begins), ("post_run_cell", self._cell_ends)):
            session.on_stop(session.hooks.add(event, hook))
        session.on_stop(self.stop)
        atexit.register(self._end_thread)

    @property
    def busy(self) -> bool:
        """Whether a cell is running. A state that stays as it is shows none, because it is seen later."""
        return self.mode != "off" and (self.session.cell is not None or self._in_first_cell)

    # Displayed views

    def add(self, maps: bool, only: tuple[str, ...]) -> State:
        """Returns the current state, for a model that is about to be created."""
        with self._lock:
            self._state = self.feed.state(self.busy, self._stopped)
            state = self.feed.with_maps(self._state, only, fresh=True) if maps else self._state
            return state | {"fixed": True} if self.mode == "off" else state

    def feeds(self, model: LiveWidget) -> None:
        """Updates one more model from now on."""
        with self._lock:
            self._models = [*self._models, model]
            model.audience.told, self._sent = model.state["rev"], monotonic()

    def shown(self, model: LiveWidget) -> None:
        """Records that a model was put into a cell's output, and sends it the current state."""
        model.audience.shown()
        scenes = self.session.recorder.scenes
        model.shown_in = scenes[-1] if scenes else None
        self._audience_changed()
        self.tick(wait=True)

    def report(self, model: LiveWidget, more: int, panels: bool | None = None) -> None:
        """Records a front end's report: one view of a model more or less. Callable from any thread."""
        model.audience.report(more, panels)
        self._audience_changed()
        if self.mode == "inline" and not self.busy:  # the next op may be far away
            self.tick()

    def choose(self, model: LiveWidget, scope: str) -> None:
        """Changes the scope of ops that a model shows."""
        model.scope, model.audience.told = scope, 0
        self.tick(wait=True)

    def steps_about(self, model: LiveWidget, step: int, until: int | None) -> State:
        """Returns steps of a model's scope, for a page that replays them; see `Feed.steps_about`."""
        return self.feed.steps_about(step, until, model.scope, model.shown_in)

    def repeat(self, model: LiveWidget) -> None:
        """Sends a model's complete state again, because a page has missed a message."""
        with self._lock:
            model.send_whole()

    def _audience_changed(self) -> None:
        """Starts or stops updates when the first view is displayed or the last one is closed."""
        if self.mode == "off" or self._stopped:
            return
        looked_at = any(model.audience.looking for model in self._models)
        self._due = 0.0 if looked_at else NEVER
        if self.mode == "thread" and self._thread is None and looked_at:
            self._start_thread()
        if self.mode == "inline":
            self._listen(looked_at)
        self._wake.set()

    # Sending

    def tick(self, wait: bool = False, holders: bool = False) -> None:
        """Sends changes to the views.

        Args:
          wait: whether to wait while another thread is sending; otherwise the call is skipped then.
          holders: whether to search for what holds the memory, if a view shows it.
        """
        if self.mode == "off" or self._stopped or not self._lock.acquire(blocking=wait):
            return
        try:
            self._due = monotonic() + INTERVAL  # set first, so that it holds even if sending fails
            self._send(holders)
            self._failures, self._said = 0, ""
        except Exception as error:
            self._failures += 1
            self.failure = error
        finally:
            self._lock.release()
        if self._failures >= MOST_FAILURES:
            self._give_way()

    def _give_way(self) -> None:
        """Switches from the thread to updates between ops; if those fail as well, pauses until the next cell."""
        self.mode, self._thread, self._failures = "inline" if self.mode == "thread" else "off", None, 0
        self._unsaid = f"{type(self.failure).__name__}: {self.failure}"
        self.why_off = f"they failed until the next cell ({self._unsaid})"
        if self.mode == "off":
            self._listen(False)
        self._audience_changed()

    def _come_back(self) -> None:
        """Resumes in the chosen mode; prints a message once per kind of failure."""
        if not self._unsaid:
            return
        if self._unsaid != self._said:
            say(f"Live views failed: {self._unsaid}. They resume with this cell.")
        self._said, self._unsaid, self._failures = self._unsaid, "", 0
        self.mode, self.why_off = self._chosen
        self._audience_changed()

    def _send(self, holders: bool) -> None:
        self._models = [model for model in self._models if not model.gone]
        looked_at = [model for model in self._models if model.audience.looking]
        if holders and any(model.maps for model in looked_at):
            self.feed.refusals.look()
            self.feed.name_holders(HOLDER_SECONDS)
        start = thread_time()  # excludes the search for holders, which would delay the next cell's updates
        if looked_at and self.feed.changed(self.busy):
            self._state = self.feed.state(self.busy)
        late = [model for model in looked_at if model.audience.told != self._state["rev"]]
        for model in late:
            self._tell(model, fresh=False)  # the search for holders has just read the maps at the end of a cell
        now = monotonic()
        if late:
            self._sent = now
        elif looked_at and now >= self._sent + HEARTBEAT:
            self._sent = now
            for model in looked_at:
                _show(model, model.state | {"wall": time.time()})
        nbytes = sum([model.audience.nbytes for model in late])
        work = PART * (thread_time() - start)
        pause = max(INTERVAL * len(looked_at), work + (self._delay(work) if late else 0.0), nbytes / RATE)
        self._due = now + pause if looked_at else NEVER

    def _delay(self, work: float) -> float:
        """Returns how long the program waits for a processor per amount of work, as it did since the last message."""
        earlier, self._program = self._program, main_thread_work()
        worked, waited = self._program.since(earlier)
        return min(LONGEST_DELAY, work * waited / worked if worked else waited)

    def _tell(self, model: LiveWidget, fresh: bool) -> None:
        state = self.feed.of_scope(self._state, model.scope, model.shown_in)
        _show(model, self.feed.with_maps(state, model.only, fresh) if model.maps else state)
        model.audience.told = self._state["rev"]

    # The thread

    def _start_thread(self) -> None:
        self._thread = threading.Thread(target=self._run, name="nbtf-views", daemon=True)
        try:
            self._thread.start()
        except Exception:  # browsers have no threads, and some containers allow no more of them
            self._thread, self.mode = None, "inline"

    def _run(self) -> None:
        thread = self._thread
        while not self._stopped and self._thread is thread:  # after failures, a different thread takes over
            self._wake.wait(self._pause())
            self._wake.clear()
            if not self._stopped and self._thread is thread and monotonic() >= self._due:
                self.tick()

    def _pause(self) -> float | None:
        if self._due == NEVER:
            return None
        return max(0.01 if self.busy else IDLE, self._due - monotonic())

    def _end_thread(self) -> None:
        self._stopped = True
        self._wake.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=1.0)

    # Between ops

    def _listen(self, wanted: bool) -> None:
        """Registers or removes the event observer; while registered, each op takes a few microseconds longer."""
        if wanted and self._deafen is None:
            self._deafen = runtime.observe(self._hear)
        elif not wanted and self._deafen is not None:
            deafen, self._deafen = self._deafen, None
            deafen()

    def _hear(self, _: runtime.Event) -> None:
        if monotonic() >= self._due and threading.current_thread() is threading.main_thread():
            self.tick()

    # Cells

    def _cell_begins(self, info: Any) -> None:
        if self.session.nested:
            return
        self.feed.cell_begins()
        self._come_back()
        library_watch_of(self.session).of_view(
            self.mode != "off" and any(model.audience.looking for model in self._models)
        )
        if self._patience.cell_begins(request_date(self.session.shell)):
            for model in [model for model in self._models if model.audience.give_up()]:
                model.did_not_load()
            self._audience_changed()
        if info.store_history:  # otherwise it is an internal request of the front end, not a cell
            self.feed.refusals.forget()
            self._for_each(lambda model: model.follow())
        self._wake.set()

    def _cell_ends(self, _: Any) -> None:
        if self.session.cell is not None:
            return
        self._in_first_cell = False
        self.tick(wait=True, holders=True)
        self._for_each(lambda model: model.renew_still())
        self._patience.cell_ends()  # last, because a front end receives nothing before that

    def _for_each(self, change: Callable[[LiveWidget], None]) -> None:
        """Changes what a notebook shows for each model. A failure does not stop the views."""
        if self.mode == "off" or self._stopped:
            return
        try:
            for model in self._models:
                change(model)
        except Exception as error:
            self.failure = error

    def begin_child(self) -> None:
        """Stops updates in a forked process: views and thread belong to the parent process."""
        self._stopped, self._thread, self._models = True, None, []
        self._listen(False)

    def stop(self) -> None:
        """Ends the thread, and notifies all views."""
        self._end_thread()
        atexit.unregister(self._end_thread)
        self._listen(False)
        try:
            with self._lock:
                self._state = self.feed.state(busy=False, is_last=True)
                for model in self._models:
                    if not model.gone:
                        self._tell(model, fresh=True)
        except Exception as error:  # an unreachable view itself reports that it is not live
            self.failure = error


def _show(model: LiveWidget, state: State) -> None:
    """Sets a model's next state. States are numbered, so that a page notices when it has missed one."""
    model.state = state | {"message": model.state["message"] + 1}


def _begin_child() -> None:
    for session in list(SESSIONS.values()):
        if session.pump is not None:
            session.pump.begin_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)


def pump_of(session: Session) -> Pump:
    """Returns the pump of a session."""
    if session.pump is None:
        session.pump = Pump(session)
    return session.pump


def _mode(shell: Any) -> tuple[str, str]:
    """Returns the mode and, if it is `off`, the reason."""
    wished = os.environ.get("NBTF_LIVE", "").strip().lower()
    if wished in MODES:
        return wished, f"NBTF_LIVE={wished}"
    if wished:
        say(f"NBTF_LIVE={wished} is unknown. Expected one of {', '.join(MODES)}. The mode is chosen automatically.")
    if sys.platform == "emscripten" or "google.colab" in sys.modules:  # no threads, or updates of threads are not shown
        return "inline", ""
    if getattr(shell, "kernel", None) is None:
        return "off", "this Python is not a notebook kernel"
    return "thread", ""
