"""Is a view told at the right time: often enough, not too often, never in the way of the user's cell?"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

import nbtf as tf
from nbtf.notebook.session import SESSIONS
from nbtf.notebook.views import audience as audience_module
from nbtf.notebook.views import feed
from nbtf.notebook.views import pump as pump_module
from nbtf.notebook.views.audience import Audience, Patience, request_date
from nbtf.notebook.views.feed import HEARTBEAT
from nbtf.notebook.views.processor import Work
from nbtf.notebook.views.pump import INTERVAL, MOST_FAILURES, NEVER, Pump, pump_of
from tests.clocks import set_clock
from tests.machines import SCRATCH
from tests.notebook.conftest import Shell


class Model:
    """A view that keeps what it is told."""

    def __init__(self, pump: Pump, maps: bool = False) -> None:
        self.audience, self.maps, self.gone = Audience(), maps, False
        self.scope, self.shown_in = "all", None
        self.only: tuple[str, ...] = ()
        self.told: list[dict[str, Any]] = []
        self.missing = 0
        self.state = pump.add(maps, ())
        self.told.clear()

    @property
    def state(self) -> dict[str, Any]:
        return self._state

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        self._state = state
        self.told.append(state)

    def did_not_load(self) -> None:
        self.missing += 1

    def follow(self) -> None: ...

    def renew_still(self) -> None: ...


def view(pump: Pump, maps: bool = False) -> Any:
    model: Any = Model(pump, maps)
    pump.feeds(model)
    return model


class Clock:
    """Time that only tests move."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(pump_module, "monotonic", clock)
    monkeypatch.setattr(pump_module, "main_thread_work", lambda: Work(clock.now, 0.0))  # a computer with nothing else
    monkeypatch.setattr(pump_module, "thread_time", lambda: 0.0)
    return clock


Start = Callable[[str], Pump]


@pytest.fixture
def start(shell: Shell, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Start:
    def start(mode: str) -> Pump:
        monkeypatch.setenv("NBTF_LIVE", mode)
        pump = pump_of(SESSIONS[shell.ip])
        pump._in_first_cell = False  # no test runs in the cell that loads the extension
        return pump

    return start


# The mode


@pytest.mark.parametrize(
    ("live", "platform", "modules", "kernel", "mode"),
    [
        ("", "linux", {}, object(), "thread"),
        ("", "linux", {}, None, "off"),
        ("", "linux", {"google.colab": None}, object(), "inline"),
        ("", "emscripten", {}, None, "inline"),
        ("thread", "emscripten", {}, None, "thread"),
        ("inline", "linux", {}, object(), "inline"),
        ("OFF ", "linux", {}, object(), "off"),
        ("fast", "linux", {}, object(), "thread"),
    ],
)
def test_mode_is_chosen(
    live: str, platform: str, modules: dict[str, Any], kernel: Any, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NBTF_LIVE", live)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(sys, "modules", sys.modules | modules)

    assert mode == pump_module._mode(SimpleNamespace(kernel=kernel))[0]


def test_unknown_mode_is_told_once(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTF_LIVE", "fast")

    said = shell.run("%devices --live").out + shell.run("%devices --live").out

    assert 1 == said.count("NBTF_LIVE=fast is unknown. Expected one of thread, inline, off.")


def test_thread_that_cannot_start_gives_way(start: Start, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    pump = start("thread")
    model = view(pump)
    pump.shown(model)
    clock.now += INTERVAL
    tf.ones([2])

    assert ("inline", None, 1) == (pump.mode, pump._thread, len(model.told))


def test_thread_that_fails_again_and_again_gives_way(
    start: Start, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading.Thread, "start", lambda _: None)
    pump = start("thread")
    model = view(pump)
    pump.shown(model)
    failures: list[int] = []

    def fail(_: bool) -> bool:
        failures.append(1)
        raise ValueError("broken")

    def wait(seconds: float) -> None:
        clock.now += seconds

    monkeypatch.setattr(pump.feed, "changed", fail)
    monkeypatch.setattr(pump._wake, "wait", wait)
    pump._run()

    assert (MOST_FAILURES, "inline", "broken") == (len(failures), pump.mode, str(pump.failure))


def test_thread_ends_with_the_extension(start: Start, shell: Shell) -> None:
    pump = start("thread")
    pump.shown(view(pump))
    thread = pump._thread
    assert thread is not None
    running = (thread.is_alive(), thread.daemon)
    shell.ip.extension_manager.loaded.add("nbtf")
    shell.run("%unload_ext nbtf")

    assert ((True, True), False) == (running, thread.is_alive())


# Who looks


def test_nobody_looks_and_nothing_is_sent(start: Start, shell: Shell, clock: Clock) -> None:
    pump = start("inline")
    model = view(pump)
    shell.run("a = tf.ones([2])")
    clock.now += 60
    pump.tick()

    assert ([], NEVER, None) == (model.told, pump._due, pump._deafen)


def test_last_view_closed_stops_the_sending(start: Start, shell: Shell) -> None:
    pump = start("inline")
    model = view(pump)
    pump.shown(model)
    pump.report(model, +1)
    pump.report(model, +1)
    pump.report(model, -1)
    shell.run("a = tf.ones([2])")
    looked_at = len(model.told)
    pump.report(model, -1)
    shell.run("a = tf.ones([3])")

    assert (1, 1) == (looked_at, len(model.told))


def test_view_opened_again_is_told_what_it_missed(start: Start, shell: Shell) -> None:
    pump = start("inline")
    model = view(pump)
    shell.run("a = tf.negative(tf.ones([2]))")
    pump.report(model, +1)

    assert [["Neg", 1, "lowest-numbered GPU"]] == [state["devices"][1]["counts"][-1] for state in model.told]


def test_view_that_was_shown_is_told_before_its_front_end_can_report(start: Start, shell: Shell) -> None:
    pump = start("inline")
    model = view(pump)
    pump.shown(model)
    shell.run("a = tf.ones([2])")

    assert 1 == len(model.told)


def test_closed_view_is_told_no_more(start: Start, shell: Shell) -> None:
    pump = start("inline")
    model = view(pump)
    pump.shown(model)
    model.gone = True
    shell.run("a = tf.ones([2])")

    assert [] == model.told


# When


def test_end_of_a_cell_is_told_and_that_it_is_over(start: Start, shell: Shell, clock: Clock) -> None:
    pump = start("inline")
    model = view(pump)
    pump.shown(model)
    clock.now += INTERVAL
    shell.run("a = tf.ones([2])")

    assert [(True, 1), (False, 2)] == [(state["busy"], state["rev"] - 1) for state in model.told]


def test_interrupted_cell_is_over(start: Start, shell: Shell, clock: Clock) -> None:
    pump = start("inline")
    model = view(pump)
    pump.shown(model)
    clock.now += INTERVAL
    shell.run("a = tf.ones([2])", "raise KeyboardInterrupt")

    assert False is model.told[-1]["busy"]


def test_cell_in_a_cell_is_no_end(start: Start, shell: Shell) -> None:
    pump = start("inline")
    model = view(pump)
    pump.shown(model)
    shell.run("for i in range(50): get_ipython().run_cell(f'a = tf.ones([{i + 1}])')")

    assert [False] == [state["busy"] for state in model.told]


def test_nothing_is_sent_while_nothing_changes(start: Start, shell: Shell) -> None:
    pump = start("inline")
    model = view(pump)
    pump.shown(model)
    shell.run("a = tf.ones([2])")
    shell.run("nothing = 0")

    assert 1 == len(model.told)


def test_heart_beats_while_nothing_changes(start: Start, shell: Shell, clock: Clock) -> None:
    pump = start("inline")
    model = view(pump)
    pump.shown(model)
    shell.run("a = tf.ones([2])")
    for _ in range(50):
        clock.now += HEARTBEAT / 10
        pump.tick()

    first, *beats = model.told
    assert 5 == len(beats)
    assert {(first["rev"], True)} == {(state["rev"], state["wall"] >= first["wall"]) for state in beats}


@pytest.mark.parametrize("views", [1, 2, 5])
def test_loop_sends_at_most_ten_messages_a_second(start: Start, shell: Shell, clock: Clock, views: int) -> None:
    pump = start("inline")
    models = [view(pump, maps=number % 2 == 1) for number in range(views)]
    for model in models:
        pump.shown(model)
    for model in models:
        model.told.clear()
    shell.ip.user_ns["clock"] = clock
    shell.run("a = tf.ones([2])", "for _ in range(3000):", "    b = a + a", "    clock.now += 0.001")

    sent = sum(len(model.told) for model in models)
    assert 3 / INTERVAL / 2 < sent <= 3 / INTERVAL + 2 * views  # and one each when it begins, and when it ends


def test_slow_messages_come_less_often(start: Start, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    pump = start("inline")
    pump.shown(view(pump))
    worked = iter([0.0, 0.5])
    monkeypatch.setattr(pump_module, "thread_time", lambda: next(worked))
    pump.tick()

    assert clock.now + 0.5 * pump_module.PART == pump._due


@pytest.mark.parametrize(
    ("worked", "waited", "delay"),
    [(1.0, 0.0, 0.0), (0.8, 0.2, 0.0625), (0.5, 0.5, 0.15), (0.1, 0.9, 0.15), (0.01, 0.0, 0.0), (0.0, 0.1, 0.1)],
    ids=["works", "waits a little", "waits half", "waits long", "sleeps", "never had its turn"],
)
def test_messages_wait_for_a_program_that_waits_for_a_processor(
    start: Start, clock: Clock, monkeypatch: pytest.MonkeyPatch, worked: float, waited: float, delay: float
) -> None:
    pump = start("inline")
    model = view(pump)
    pump.shown(model)
    times, before = iter([0.0, 0.25 / pump_module.PART]), pump._program
    monkeypatch.setattr(pump_module, "main_thread_work", lambda: Work(before.worked + worked, before.waited + waited))
    monkeypatch.setattr(pump_module, "thread_time", lambda: next(times))
    clock.now += 1.0
    model.audience.told = 0
    pump.tick()

    assert pytest.approx(clock.now + 0.25 + delay) == pump._due


def test_look_for_holders_does_not_delay_the_next_cell(
    start: Start, shell: Shell, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    pump = start("inline")
    pump.shown(view(pump, maps=True))
    worked = [0.0]
    monkeypatch.setattr(pump_module, "thread_time", lambda: worked[0])
    monkeypatch.setattr(pump.feed, "name_holders", lambda seconds: worked.append(worked.pop() + seconds))
    shell.run("a = tf.ones([2])")

    assert (clock.now + INTERVAL, [pump_module.HOLDER_SECONDS]) == (pump._due, worked)


def test_error_in_a_tick_does_not_reach_the_cell(
    start: Start, shell: Shell, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    pump = start("inline")
    pump.shown(view(pump))

    def fail(_: bool) -> bool:
        raise ValueError("broken")

    monkeypatch.setattr(pump.feed, "changed", fail)
    shell.ip.user_ns["clock"] = clock
    ran = shell.run("for _ in range(9):", "    clock.now += 1", "    a = tf.ones([2])", "a.shape[0]")

    assert (2, "", None, "off") == (ran.result, ran.out.replace("Out[1]: 2\n", ""), ran.error, pump.mode)


@pytest.mark.parametrize("mode", ["thread", "inline"])
def test_views_that_failed_come_back_at_the_next_cell_and_say_so_once(
    mode: str, start: Start, shell: Shell, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    pump = start(mode)
    monkeypatch.setattr(pump, "_start_thread", lambda: None)
    model = view(pump)
    pump.shown(model)

    def fail(_: bool) -> bool:
        raise ValueError("broken")

    with monkeypatch.context() as broken:
        broken.setattr(pump.feed, "changed", fail)
        for _ in range(2 * MOST_FAILURES):
            pump.tick(wait=True)
        stood_still = pump.mode
        first = shell.run("1").out
        again = [shell.run("2").out for _ in range(2 * MOST_FAILURES)]
    model.told.clear()
    back = shell.run("a = tf.ones([2])").out
    later = shell.run("3").out

    line = "Live views failed: ValueError: broken. They resume with this cell."
    assert ("off", mode, 1) == (stood_still, pump.mode, sum(text.count(line) for text in [first, *again, back, later]))
    assert line in first
    assert model.told


def test_views_that_fail_once_more_say_so_once_more(
    start: Start, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    pump = start("inline")
    pump.shown(view(pump))

    def fail(_: bool) -> bool:
        raise ValueError("broken")

    said: list[int] = []
    for _ in range(2):
        with monkeypatch.context() as broken:
            broken.setattr(pump.feed, "changed", fail)
            for _ in range(MOST_FAILURES):
                pump.tick(wait=True)
        said.append(shell.run("1").out.count("Live views failed"))

    assert [1, 1] == said


def test_ops_of_other_threads_do_not_send_inline(start: Start, clock: Clock) -> None:
    pump = start("inline")
    model = view(pump)
    pump.shown(model)
    clock.now += 1
    worker = threading.Thread(target=lambda: tf.ones([2]))
    worker.start()
    worker.join()

    assert [] == model.told


def test_unloading_tells_the_end_and_nothing_after_it(start: Start, shell: Shell, clock: Clock) -> None:
    pump = start("inline")
    models = [view(pump), view(pump, maps=True)]
    pump.shown(models[0])
    models[0].told.clear()
    shell.ip.extension_manager.loaded.add("nbtf")
    shell.run("%unload_ext nbtf")
    clock.now += 60
    shell.run("a = tf.ones([2])")
    pump.tick(wait=True)
    pump.report(models[0], +1)

    assert [[True], [True]] == [[state["ended"] for state in model.told] for model in models]


def test_holders_are_looked_for_only_when_a_memory_view_is_looked_at(
    start: Start, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    pump = start("inline")
    looks: list[float] = []
    monkeypatch.setattr(pump.feed, "name_holders", looks.append)
    memory, plain = view(pump, maps=True), view(pump)
    pump.shown(plain)
    shell.run("a = tf.ones([2])")
    before = len(looks)
    pump.shown(memory)
    looks.clear()
    shell.run("a = tf.ones([2])")

    assert (0, [pump_module.HOLDER_SECONDS]) == (before, looks)


def test_memory_view_is_told_nothing_new_when_the_holders_are_the_same(
    start: Start, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "holder_names", lambda session, seconds: ({("GPU:0", 0, SCRATCH): "a"}, True))
    pump = start("inline")
    model = view(pump, maps=True)
    pump.shown(model)
    shell.run("a = tf.constant([1.0])")
    model.told.clear()
    shell.run("nothing = 0")

    assert [] == model.told


# The front end that is not there


def at(shell: Shell, seconds: float) -> None:
    """Has the next cell sent at some time by the front end's clock, which is not ours."""
    date = datetime.fromtimestamp(9e8 + seconds, UTC)
    object.__setattr__(shell.ip, "get_parent", lambda: {"header": {"date": date}})


def test_view_that_did_not_load_is_told_once(start: Start, shell: Shell) -> None:
    pump = start("inline")
    model = view(pump)
    missing: list[int] = []
    shell.ip.user_ns["show"] = lambda: pump.shown(model)
    for seconds, cell in [(0.0, "show()"), (0.5, "a = 1"), (2.0, "b = 1"), (9.0, "c = 1"), (20.0, "d = 1")]:
        at(shell, seconds)
        shell.run(cell)
        missing.append(model.missing)

    assert [0, 0, 0, 1, 1] == missing
    assert not model.audience.looking


def test_view_that_has_reported_is_there(start: Start, shell: Shell) -> None:
    pump = start("inline")
    model = view(pump)
    shell.ip.user_ns["show"] = lambda: pump.shown(model)
    at(shell, 0.0)
    shell.run("show()")
    pump.report(model, +1)
    at(shell, 60.0)
    shell.run("a = 1")

    assert (0, True) == (model.missing, model.audience.looking)


def test_view_closed_and_shown_again_is_not_missing(start: Start, shell: Shell) -> None:
    pump = start("inline")
    model = view(pump)
    shell.ip.user_ns["show"] = lambda: pump.shown(model)
    pump.report(model, +1)
    pump.report(model, -1)
    for seconds in (0.0, 60.0):
        at(shell, seconds)
        shell.run("show()" if not seconds else "a = 1")

    assert (0, False) == (model.missing, model.audience.looking)


def test_cells_sent_together_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    set_clock(monkeypatch, audience_module, monotonic=iter([0.0, 10.0, 10.0, 11.0, 11.0]).__next__)
    patience = Patience()
    first = patience.cell_begins(100.0)  # runs for ten seconds
    patience.cell_ends()
    second = patience.cell_begins(100.0)  # was queued behind it, and runs for one
    patience.cell_ends()

    assert [False, False, False] == [first, second, patience.cell_begins(113.9)]


def test_front_end_has_three_seconds_while_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    set_clock(monkeypatch, audience_module, monotonic=iter([0.0, 10.0, 10.0, 10.0, 10.0]).__next__)
    patience = Patience()
    patience.cell_begins(100.0)
    patience.cell_ends()

    assert [False, True] == [patience.cell_begins(112.9), (patience.cell_ends(), patience.cell_begins(116.0))[1]]


def test_cell_whose_beginning_was_not_seen_tells_nothing() -> None:
    patience = Patience()
    patience.cell_ends()

    assert not patience.cell_begins(1000.0)


@pytest.mark.parametrize(
    ("parent", "date"),
    [
        ({"header": {"date": "2026-01-02T03:04:05+00:00"}}, 1767323045.0),
        ({"header": {"date": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)}}, 1767323045.0),
        ({"header": {"date": "yesterday"}}, None),
        ({"header": {}}, None),
        ({}, None),
        (None, None),
    ],
)
def test_date_of_a_request_is_read(parent: Any, date: float | None) -> None:
    assert date == request_date(SimpleNamespace(get_parent=lambda: parent))
