"""Do live views live in a real kernel: while a cell runs, whatever it does, and not a moment longer?"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.notebook.differences import states_of

pytest.importorskip("anywidget", reason="needs the lab extra")
manager = pytest.importorskip("jupyter_client.manager", reason="needs the lab extra")

ROOT = Path(__file__).parents[3]
SECONDS = 600
"""How long a kernel may take for anything, however busy the machine is; it takes milliseconds."""

HEART = 0.3
"""Seconds between heartbeats in these tests, which do not wait for two."""


class Ran(NamedTuple):
    """What a front end hears of a cell."""

    status: str
    states: list[dict[str, Any]]
    """What views were told before the kernel said that it was idle again."""
    text: str
    shown: list[dict[str, str]]
    seconds: float


class Kernel:
    """A kernel, as its front end sees it."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._pages: dict[str, dict[str, Any]] = {}

    def run(self, *lines: str) -> Ran:
        """Runs a cell."""
        heard: list[tuple[str, Any]] = []
        began = time.monotonic()
        reply = self.client.execute_interactive(
            "\n".join(lines),
            stop_on_error=False,  # else cells that come right after an error may be given up
            output_hook=lambda message: heard.append((message["msg_type"], message["content"])),
            timeout=SECONDS,
        )
        opened = [content for kind, content in heard if kind == "comm_open"]
        states_of(opened, self._pages)
        return Ran(
            reply["content"]["status"],
            states_of([content for kind, content in heard if kind == "comm_msg"], self._pages),
            "".join(content["text"] for kind, content in heard if kind == "stream"),
            [content["data"] for kind, content in heard if kind in ("execute_result", "display_data")],
            time.monotonic() - began,
        )

    def quiet(self) -> list[Any]:
        """What is said while no cell runs: until a request that everything before it has been sent for."""
        message = self.client.kernel_info()
        heard: list[Any] = []
        while True:
            one = self.client.get_iopub_msg(timeout=SECONDS)
            if one["parent_header"].get("msg_id") == message and one["content"].get("execution_state") == "idle":
                return heard
            if one["msg_type"].startswith("comm"):
                heard.append(one["content"])


@pytest.fixture(scope="module", params=["thread", "inline"])
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def running(mode: str) -> Iterator[Kernel]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    env = {
        **os.environ,
        "PYTHONPATH": path,
        "NBTF_SIMULATED_GPUS": "2",
        "CUDA_VISIBLE_DEVICES": "0,1",
        "NBTF_LIVE": mode,
    }
    kernel, client = manager.start_new_kernel(env=env, startup_timeout=SECONDS)
    try:
        one = Kernel(client)
        heart = f"pump.HEARTBEAT = {HEART}"
        assert "ok" == one.run("import nbtf as tf", "import time", "from nbtf.notebook.views import pump", heart).status
        yield one
    finally:
        client.stop_channels()
        kernel.shutdown_kernel(now=True)


@pytest.fixture
def kernel(running: Kernel) -> Iterator[Kernel]:
    """The kernel with a view of its own, which a front end shows."""
    running.run("%load_ext nbtf", "tf.runtime.restart()", "a = tf.ones([2, 2])")
    running.run("view = %devices --live", "view")
    yield running
    running.run("%unload_ext nbtf")


GROWN = "while len(heard) < 4: b = a + a; heard.add(view.state['heard'])"
"""Goes on until the view has been told something new three times."""


def test_view_grows_before_the_cell_is_over(kernel: Kernel) -> None:
    ran = kernel.run("heard = {view.state['heard']}", GROWN)

    running = [state["heard"] for state in ran.states if state["busy"]]
    assert (running, True) == (sorted(running), len(set(running)) >= 3)  # a heartbeat tells the same once more
    assert (False, True) == (ran.states[-1]["busy"], ran.states[-1]["heard"] >= running[-1])


def test_view_grows_while_a_cell_awaits(kernel: Kernel) -> None:
    ran = kernel.run(
        "import asyncio", "heard = {view.state['heard']}", GROWN.replace("b =", "await asyncio.sleep(0); b =")
    )

    assert 3 <= len({state["heard"] for state in ran.states if state["busy"]})
    assert not ran.states[-1]["busy"]


def test_heart_beats_while_a_cell_is_bound_by_numpy(kernel: Kernel, mode: str) -> None:
    if mode == "inline":
        pytest.skip("nothing can be sent between two ops when there are none")
    ran = kernel.run(
        "import numpy as np",
        "x, walls = np.ones((300, 300)), {view.state['wall']}",
        "while len(walls) < 4: y = x @ x; walls.add(view.state['wall'])",
    )

    beats = [state for state in ran.states if state["busy"]]
    walls = [state["wall"] for state in beats]
    assert (walls, True) == (sorted(set(walls)), len(walls) >= 3)
    assert 1 == len({state["heard"] for state in beats})


def test_view_lives_in_the_cell_that_shows_it(kernel: Kernel) -> None:
    ran = kernel.run(
        "from IPython.display import display",
        "view = tf.notebook.MemoryView()",
        "display(view)",
        "heard = {view.state['heard']}",
        GROWN,
    )

    maps = [state for state in ran.states if "map" in state["devices"][1]]
    assert 3 <= len({state["heard"] for state in maps if state["busy"]})
    view = "application/vnd.jupyter.widget-view+json"
    assert {"text/plain", "text/html", "image/svg+xml", view} == set(ran.shown[0])


@pytest.mark.nightly
def test_hundred_thousand_ops_send_few_messages(kernel: Kernel) -> None:
    kernel.run("%gpu_memory --live")  # two views share the messages
    ran = kernel.run("for _ in range(100_000):", "    b = a + a")

    assert ("ok", "") == (ran.status, ran.text)
    assert len(ran.states) <= 12 * max(1.0, ran.seconds)
    assert 100_000 <= ran.states[-1]["ops"]
    assert max(len(json.dumps(state)) for state in ran.states) < 30_000


def test_interrupted_cell_is_over(kernel: Kernel) -> None:
    ran = kernel.run("import signal", "b = a + a", "signal.raise_signal(signal.SIGINT)")

    assert ("error", False) == (ran.status, ran.states[-1]["busy"])


def test_restart_of_the_runtime_keeps_the_view_going(kernel: Kernel) -> None:
    kernel.run("b = a + a")
    ran = kernel.run("tf.runtime.restart()", "a = tf.ones([3])")

    assert ran.states[-1]["heard"] > 0
    assert ["CPU:0", "GPU:0", "GPU:1"] == [device["name"] for device in ran.states[-1]["devices"]]
    assert 1280 + 256 == ran.states[-1]["devices"][1]["memory"]["in_use"]


def test_nothing_is_sent_while_nobody_looks(kernel: Kernel) -> None:
    kernel.run("view._handle_custom_msg({'kind': 'view', 'n': 1}, [])")
    looked_at = kernel.run("b = a + a")
    kernel.run("view._handle_custom_msg({'kind': 'view', 'n': -1}, [])")
    ran = kernel.run("b = a + a", f"time.sleep({2 * HEART})")

    assert (1, []) == (len(looked_at.states), ran.states)


def test_nothing_is_sent_after_unloading(kernel: Kernel) -> None:
    kernel.run("b = a + a")
    last = kernel.run("%unload_ext nbtf")
    after = kernel.run("b = a + a", f"time.sleep({2 * HEART})")

    ended = [state["ended"] for state in last.states]  # on a slow machine the view hears first that a cell runs
    assert ([True], [], []) == ([end for end in ended if end], after.states, kernel.quiet())
    assert ended[-1]
    assert "nbtf-views" not in kernel.run("import threading", "print(threading.enumerate())").text


def test_names_are_data(kernel: Kernel) -> None:
    names = ["<img src=x onerror=alert(1)>", "x" * 10_000]
    kernel.run(
        "from nbtf.notebook.session import SESSIONS",
        "recorder = SESSIONS[get_ipython()].recorder",
        "where = '/job:localhost/replica:0/task:0/device:GPU:0'",
    )
    ran = kernel.run(
        f"for name in {names}:",
        "    recorder(tf.runtime.OpPlaced(name, where, tf.runtime.Reason('cell'), 10**12, time.time()))",
        "%devices --live",
    )

    words = ran.states[-1]["words"]
    assert (True, True, True) == (names[0] in words, "x" * 119 + "…" in words, max(map(len, words)) <= 120)
    assert "<img src=x" not in ran.shown[-1]["text/html"]
