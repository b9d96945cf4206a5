"""Do the magics work in a real kernel, where cells with `await` take another way and front ends read the replies?"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.machines import LOCAL
from tests.shells import OLD_IPYTHON

manager = pytest.importorskip("jupyter_client.manager", reason="needs the lab extra")

ROOT = Path(__file__).parents[2]
SECONDS = 600
"""How long a kernel may take for anything, however busy the machine is; it takes milliseconds."""

HERE = "tf.constant(1.0).device"


class Cell(NamedTuple):
    """What a front end hears of a cell."""

    status: str
    text: str
    errors: list[str]
    result: str


class Kernel:
    """A kernel, as its front end sees it."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def run(self, *lines: str) -> Cell:
        """Runs a cell."""
        text: list[str] = []
        heard: dict[str, list[Any]] = {"error": [], "execute_result": []}

        def hear(message: Any) -> None:
            if message["msg_type"] == "stream":
                text.append(message["content"]["text"])
            elif message["msg_type"] in heard:
                heard[message["msg_type"]].append(message["content"])

        # An older kernel gives up cells that come right after an error, unless they ask it not to beforehand.
        reply = self.client.execute_interactive(
            "\n".join(lines), stop_on_error=False, output_hook=hear, timeout=SECONDS
        )
        errors = [f"{one['ename']}: {one['evalue']}" for one in heard["error"]]
        result = heard["execute_result"][0]["data"]["text/plain"] if heard["execute_result"] else ""
        return Cell(reply["content"]["status"], "".join(text), errors, result.strip("'"))


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    env = {**os.environ, "PYTHONPATH": path, "NBTF_SIMULATED_GPUS": "2", "CUDA_VISIBLE_DEVICES": "0,1"}
    running, client = manager.start_new_kernel(env=env, startup_timeout=SECONDS)
    try:
        one = Kernel(client)
        enough = f"import nbtf.notebook.holders.table; nbtf.notebook.holders.table.SECONDS = {SECONDS}"
        assert "ok" == one.run("import nbtf as tf", enough, "%load_ext nbtf", HERE).status
        yield one
    finally:
        client.stop_channels()
        running.shutdown_kernel(now=True)


def test_cell_runs_on_its_device_also_with_await(kernel: Kernel) -> None:
    ran = kernel.run("%%device GPU:1", "import asyncio", "await asyncio.sleep(0)", HERE)

    assert (f"{LOCAL}GPU:1", f"{LOCAL}GPU:0") == (ran.result, kernel.run(HERE).result)


def test_error_in_the_body_is_told_once(kernel: Kernel) -> None:
    ran = kernel.run("%%device GPU:1", "1/0")

    assert ("error", ["ZeroDivisionError: division by zero"], "") == (ran.status, ran.errors, ran.text)


INTERRUPT = "signal.raise_signal(signal.SIGINT)"
"""What the interrupt button sends; by the cell itself, so that it arrives while the cell waits and not before."""


@pytest.mark.parametrize(
    "waiting",
    [INTERRUPT, f"asyncio.get_running_loop().call_later(0.1, lambda: {INTERRUPT}); await asyncio.sleep({SECONDS})"],
)
def test_interrupt_ends_the_device_of_the_cell(kernel: Kernel, waiting: str) -> None:
    ran = kernel.run("%%device GPU:1", "import asyncio, signal", waiting, "print('not reached')")

    assert ("error", "", f"{LOCAL}GPU:0") == (ran.status, ran.text, kernel.run(HERE).result)


def test_check_that_fails_is_an_error_for_the_front_end_once(kernel: Kernel) -> None:
    plain = kernel.run("%%placement --expect AddV2=GPU:1", "c = tf.add(1.0, 2.0)")
    awaiting = kernel.run(
        "%%placement --expect AddV2=GPU:1", "import asyncio", "await asyncio.sleep(0)", "c = tf.add(1.0, 2.0)"
    )

    assert ["error", "error"] == [plain.status, awaiting.status]
    assert [1, 1] == [len(plain.errors), len(awaiting.errors)]
    assert plain.errors[0].startswith("ExpectationError: placement is not as expected (- expected, + seen)\n- AddV2")


def test_code_lines_are_told_by_cell(kernel: Kernel) -> None:
    number = int(kernel.run("len(In)").result)  # of the next cell
    kernel.run("%%device GPU:1", "c = tf.sqrt(4.0)")

    shown = kernel.run("%placement_log --op Sqrt").result

    assert f"cell {number}, line 2: c = tf.sqrt(4.0)" in shown


def test_completion_offers_only_what_fits(kernel: Kernel) -> None:
    line = "%placement_log o"
    reply = kernel.client.complete(line, len(line), reply=True, timeout=SECONDS)

    words_of_python = {"or"} if OLD_IPYTHON else set()  # which it cannot be kept from offering
    assert {"on", "off"} == set(reply["content"]["matches"]) - words_of_python


WHO = (
    "rows = get_ipython().run_line_magic('gpu_memory', '--who').rows",
    "print([(row['holder'], row['frees']) for row in rows if row['nbytes'] > 100_000])",
)
USED = "tf.runtime.devices()[1].in_use"


def test_displayed_then_deleted_tensor_is_named_and_freed(kernel: Kernel) -> None:
    before = kernel.run(USED).result
    kernel.run("x = tf.ones([500, 100])")
    kernel.run("x")
    number = kernel.run("print([number for number, shown in Out.items() if shown is x][0])", "del x").text.strip()
    ran = kernel.run(*WHO)

    assert [(f"Out[{number}], one of _, __, ___, _{number}", [f"%xdel _{number}"])] == ast.literal_eval(ran.text)
    kernel.run(f"%xdel _{number}")
    assert before == kernel.run(USED).result


@pytest.mark.parametrize("waiting", ["pass", "import asyncio; await asyncio.sleep(0)"])
def test_local_of_a_failed_function_is_named_and_freed(kernel: Kernel, waiting: str) -> None:
    kernel.run("%gpu_memory --forget-last-error")
    kernel.run("import gc; gc.collect();")
    before = kernel.run(USED).result
    kernel.run(waiting, "def train(batch): raise ValueError('no')", "train(tf.ones([500, 100]))")
    ran = kernel.run(*WHO)

    assert [("local `batch` of `train` (last error)", ["%gpu_memory --forget-last-error"])] == ast.literal_eval(
        ran.text
    )
    kernel.run("%gpu_memory --forget-last-error")
    assert before == kernel.run(USED).result


def test_cell_that_runs_out_of_memory_says_where_to_look(kernel: Kernel) -> None:
    ran = kernel.run("x = tf.ones([1 << 20, 1 << 20])")

    assert ("error", "%gpu_memory --who lists what holds the memory of GPU:0. %explain explains the error.\n") == (
        ran.status,
        ran.text,
    )
