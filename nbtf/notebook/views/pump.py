"""When is a view told something: from a thread, between two ops, or not at all?"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable
from time import monotonic
from typing import Any, Protocol

from nbtf import runtime
from nbtf._locks import new_event, new_lock
from nbtf.notebook.library_watch import library_watch_of
from nbtf.notebook.session import SESSIONS, Session, say
from nbtf.notebook.views.audience import Audience, Patience, request_date
from nbtf.notebook.views.feed import HEARTBEAT, Feed, State
from nbtf.notebook.views.processor import main_thread_work

INTERVAL = 0.1
"""Seconds between two messages to one view while a cell runs; so many times longer where several views are open."""

IDLE = 0.5
"""Seconds between two looks while no cell runs."""

RATE = 40 * 1024
"""Bytes a second that are sent to all views together while a cell runs, without what goes around a message."""

PART = 25
"""A message waits until the program has worked so many times as long as the last one took to make: it has 4 %."""

LONGEST_DELAY = 0.15
"""Seconds by which a message comes later, at the most, where a busy computer lets the program work only at times."""

HOLDER_SECONDS = 0.1
"""How long a cell's end may take to find out who holds memory."""

thread_time = getattr(time, "thread_time", time.process_time)
"""Seconds that this thread worked, without those in which it waited for the user's; browsers have no such clock."""

MOST_FAILURES = 3
MODES = ("thread", "inline", "off")
NEVER = float("inf")


class Model(Protocol):
    """What is fed: a widget, as far as this file needs to know it."""

    audience: Audience
    maps: bool
    """Whether it shows memory maps, and who holds the memory."""
    only: tuple[str, ...]
    """The devices that it shows; all when empty."""
    scope: str
    """From when on it shows what ran: one of `scopes.SCOPES`."""
    shown_in: runtime.Scene | None
    """The run of the cell that has shown it last."""
    state: State
    """Setting it sends it."""

    @property
    def gone(self) -> bool:
        """Whether it was closed."""
        ...

    def did_not_load(self) -> None:
        """Shows what stands in for the view."""
        ...

    def send_whole(self) -> None:
        """Sends all of its state, though the page may have some of it."""
        ...

    def renew_still(self) -> None:
        """Has the notebook's file show the view as it is now."""
        ...

    def follow(self) -> None:
        """Goes to the cell that begins, where nothing else keeps it in sight."""
        ...


class Pump:
    """Feeds the views of a session: at most every tenth of a second, only what has changed, only while someone looks.

    Whatever goes wrong in here does not reach the user's cell, and nothing is printed from the thread. What goes wrong
    again and again is tried between ops, and then left until the next cell, which says so.
    """

    def __init__(self, session: Session) -> None:
        """Chooses the mode; starts nothing before someone looks."""
        self.session = session
        self.mode, self.why_off = self._chosen = _mode(session.shell)
        self.feed: Feed = Feed(session)
        self._models: list[Model] = []
        self._state: State = {}
        self._lock = new_lock()
        self._due = self._sent = 0.0
        self._program = main_thread_work()
        self._failures = 0
        self.failure: Exception | None = None
        """What went wrong last."""
        self._unsaid = self._said = ""
        self.shared: dict[tuple[str, tuple[str, ...]], Any] = {}
        """The models that magics show, by kind and devices: each is shown again, not made again."""
        self._wake = new_event()
        self._stopped = False
        self._thread: threading.Thread | None = None
        self._deafen: Callable[[], object] | None = None
        self._patience = Patience()
        self._in_first_cell = session.cell is None  # the one that loads the extension is not told to hooks
        for event, hook in (("pre_run_cell", self._cell_begins), ("post_run_cell", self._cell_ends)):
            session.on_stop(session.hooks.add(event, hook))
        session.on_stop(self.stop)
        atexit.register(self._end_thread)

    @property
    def busy(self) -> bool:
        """Whether a cell runs."""
        return self.session.cell is not None or self._in_first_cell

    # Who looks

    def add(self, maps: bool, only: tuple[str, ...]) -> State:
        """Returns the state of this moment, for a model that is about to be made."""
        with self._lock:
            self._state = self.feed.state(self.busy, self._stopped)
            return self.feed.with_maps(self._state, only, fresh=True) if maps else self._state

    def feeds(self, model: Model) -> None:
        """Feeds one more model from now on."""
        with self._lock:
            self._models = [*self._models, model]
            model.audience.told, self._sent = model.state["rev"], monotonic()

    def shown(self, model: Model) -> None:
        """Takes down that a model was put into a cell's output, and tells it what there is."""
        model.audience.shown()
        scenes = self.session.recorder.scenes
        model.shown_in = scenes[-1] if scenes else None
        self._audience_changed()
        self.tick(wait=True)

    def report(self, model: Model, more: int, panels: bool | None = None) -> None:
        """Takes down what a front end says: one more view of a model, or one less. Any thread may."""
        model.audience.report(more, panels)
        self._audience_changed()
        if self.mode == "inline" and not self.busy:  # there may be no next op for long
            self.tick()

    def choose(self, model: Model, scope: str) -> None:
        """Shows a model what ran in a scope from now on."""
        model.scope, model.audience.told = scope, 0
        self.tick(wait=True)

    def steps_about(self, model: Model, step: int, until: int | None) -> State:
        """Returns steps of what a model shows, for a page that replays them; see `Feed.steps_about`."""
        return self.feed.steps_about(step, until, model.scope, model.shown_in)

    def repeat(self, model: Model) -> None:
        """Sends a model's state once more, all of it: a page has missed what was sent before."""
        with self._lock:
            model.send_whole()

    def _audience_changed(self) -> None:
        """Begins to feed, or stops, as someone looks or nobody does."""
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
        """Sends what has changed.

        Args:
          wait: whether it must be sent now: else nothing is done while another thread sends.
          holders: whether to look for who holds the memory, where a view shows it.
        """
        if self.mode == "off" or self._stopped or not self._lock.acquire(blocking=wait):
            return
        try:
            self._due = monotonic() + INTERVAL  # also when it fails
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
        """Goes on between ops where the thread has failed, and not before the next cell where that has failed, too."""
        self.mode, self._thread, self._failures = "inline" if self.mode == "thread" else "off", None, 0
        self._unsaid = f"{type(self.failure).__name__}: {self.failure}"
        self.why_off = f"they failed until the next cell ({self._unsaid})"
        if self.mode == "off":
            self._listen(False)
        self._audience_changed()

    def _come_back(self) -> None:
        """Feeds again as was chosen; says so once for each thing that went wrong."""
        if not self._unsaid:
            return
        if self._unsaid != self._said:
            say(f"Live views have failed: {self._unsaid}. They go on from this cell.")
        self._said, self._unsaid, self._failures = self._unsaid, "", 0
        self.mode, self.why_off = self._chosen
        self._audience_changed()

    def _send(self, holders: bool) -> None:
        self._models = [model for model in self._models if not model.gone]
        looked_at = [model for model in self._models if model.audience.looking]
        if holders and any(model.maps for model in looked_at):
            self.feed.name_holders(HOLDER_SECONDS)
        began = thread_time()  # without the look for holders, or the next cell would be late
        if looked_at and self.feed.changed(self.busy):
            self._state = self.feed.state(self.busy)
        late = [model for model in looked_at if model.audience.told != self._state["rev"]]
        for model in late:
            self._tell(model, fresh=False)  # at the end of a cell its maps are new: the look for holders took them
        now = monotonic()
        if late:
            self._sent = now
        elif looked_at and now >= self._sent + HEARTBEAT:
            self._sent = now
            for model in looked_at:
                _show(model, model.state | {"wall": time.time()})
        nbytes = sum([model.audience.nbytes for model in late])
        work = PART * (thread_time() - began)
        pause = max(INTERVAL * len(looked_at), work + (self._delay(work) if late else 0.0), nbytes / RATE)
        self._due = now + pause if looked_at else NEVER

    def _delay(self, work: float) -> float:
        """Returns how long the program waits for a processor in so much work, as it did since the last message."""
        earlier, self._program = self._program, main_thread_work()
        worked, waited = self._program.since(earlier)
        return min(LONGEST_DELAY, work * waited / worked if worked else waited)

    def _tell(self, model: Model, fresh: bool) -> None:
        state = self.feed.of_scope(self._state, model.scope, model.shown_in)
        _show(model, self.feed.with_maps(state, model.only, fresh) if model.maps else state)
        model.audience.told = self._state["rev"]

    # The thread

    def _start_thread(self) -> None:
        self._thread = threading.Thread(target=self._run, name="nbtf-views", daemon=True)
        try:
            self._thread.start()
        except Exception:  # a browser has no threads, and some containers allow no more
            self._thread, self.mode = None, "inline"

    def _run(self) -> None:
        thread = self._thread
        while not self._stopped and self._thread is thread:  # another one comes after failures
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
        """Has events told or not: while they are, an op takes some microseconds longer."""
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
        if info.store_history:  # else it is a question of the front end's, and no cell
            self._for_each(lambda model: model.follow())
        self._wake.set()

    def _cell_ends(self, _: Any) -> None:
        if self.session.cell is not None:
            return
        self._in_first_cell = False
        self.tick(wait=True, holders=True)
        self._for_each(lambda model: model.renew_still())
        self._patience.cell_ends()  # last: a front end hears nothing before that

    def _for_each(self, change: Callable[[Model], None]) -> None:
        """Changes what a notebook shows of each model. Where that fails the views go on."""
        if self.mode == "off" or self._stopped:
            return
        try:
            for model in self._models:
                change(model)
        except Exception as error:
            self.failure = error

    def begin_child(self) -> None:
        """Feeds nobody in a forked process: the views are those of the other one, and so was the thread."""
        self._stopped, self._thread, self._models = True, None, []
        self._listen(False)

    def stop(self) -> None:
        """Ends the thread, and says so to all views."""
        self._end_thread()
        atexit.unregister(self._end_thread)
        self._listen(False)
        try:
            with self._lock:
                self._state = self.feed.state(busy=False, is_last=True)
                for model in self._models:
                    if not model.gone:
                        self._tell(model, fresh=True)
        except Exception as error:  # a view that cannot be told says by itself that it is not live
            self.failure = error


def _show(model: Model, state: State) -> None:
    """Gives a model the next of its states, which have numbers: a page notices where it has missed one."""
    model.state = state | {"message": model.state["message"] + 1}


def _begin_child() -> None:
    for session in list(SESSIONS.values()):
        if session.pump is not None:
            session.pump.begin_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)


def pump_of(session: Session) -> Pump:
    """Returns what feeds the views of a session."""
    if session.pump is None:
        session.pump = Pump(session)
    return session.pump


def _mode(shell: Any) -> tuple[str, str]:
    """Returns the mode, and why it is `off` if it is."""
    wished = os.environ.get("NBTF_LIVE", "").strip().lower()
    if wished in MODES:
        return wished, f"NBTF_LIVE={wished}"
    if wished:
        say(f"NBTF_LIVE={wished} is not known; it may be {', '.join(MODES)}. Live views choose by themselves now.")
    if sys.platform == "emscripten" or "google.colab" in sys.modules:  # no threads; updates of threads are not shown
        return "inline", ""
    if getattr(shell, "kernel", None) is None:
        return "off", "no notebook kernel runs this"
    return "thread", ""
