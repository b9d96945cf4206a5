"""Does loading add everything once, and unloading leave nothing behind?"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import nbtf as tf
from nbtf._runtime.context import CURRENT
from tests.machines import LOCAL
from tests.notebook.conftest import Shell

NAMES = {
    "line": {"device", "devices", "gpu_memory", "placement_log"},
    "cell": {"device", "gpu_memory", "needs", "placement"},
}


def _added(shell: Any) -> tuple[dict[str, set[str]], list[int]]:
    magics = {kind: set(shell.magics_manager.magics[kind]) & NAMES[kind] for kind in NAMES}
    hooks = [len(some) for some in shell.events.callbacks.values()]
    others = [len(shell.input_transformers_cleanup), len(shell.Completer.custom_matchers)]
    return magics, hooks + others + [len(CURRENT.context.observers.all)]


def test_loading_twice_adds_everything_once(bare: Shell) -> None:
    assert "" == bare.run("%load_ext nbtf").out
    once = _added(bare.ip)
    tf.load_ipython_extension(bare.ip)

    assert (NAMES, once) == (once[0], _added(bare.ip))


def test_unloading_leaves_nothing_behind(bare: Shell) -> None:
    before = _added(bare.ip)
    bare.run("%load_ext nbtf")
    bare.run("%placement_log on")
    bare.run("%unload_ext nbtf")

    assert before == _added(bare.ip)


def test_unloading_restores_the_default_device(bare: Shell) -> None:
    bare.run("%load_ext nbtf")
    bare.run("%device GPU:1")
    bare.run("%unload_ext nbtf")

    assert f"{LOCAL}GPU:0" == tf.constant(1.0).device


def test_unloading_in_a_cell_with_a_device_ends_that_device(shell: Shell) -> None:
    shell.ip.extension_manager.loaded.add("nbtf")
    ran = shell.run("%%device GPU:1", "%unload_ext nbtf", "tf.constant(1.0).device")

    assert (f"{LOCAL}GPU:0", None) == (ran.result, ran.error)


def test_reloading_works(bare: Shell) -> None:
    bare.run("%load_ext nbtf")
    bare.run("%reload_ext nbtf")

    assert f"{LOCAL}GPU:1" == bare.run("%%device GPU:1", "tf.constant(1.0).device").result


def test_a_recorder_is_on_from_loading_on(bare: Shell) -> None:
    bare.run("%load_ext nbtf")
    bare.run("c = tf.add(1.0, 2.0)")

    assert "lowest-numbered GPU" == tf.runtime.explain_placement(bare.ip.user_ns["c"]).why


def test_importing_nbtf_loads_no_notebook() -> None:
    code = "import sys, nbtf; nbtf.notebook; print('IPython' in sys.modules, [m for m in sys.modules if 'magics' in m])"

    assert (
        "False []\n" == subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    )


def test_looking_fixes_no_configuration(shell: Shell) -> None:
    for line in (
        "%devices",
        "%devices --physical",
        "%device",
        "%device GPU:1",
        "%device auto",
        "%gpu_memory --reset-peak",
    ):
        assert shell.run(line).error is None
    shell.run("%%device GPU:1", "%placement_log")
    shell.run("%%placement --table", "%placement_log table")
    shell.run("%%gpu_memory --kept 0", "pass")

    assert CURRENT.context.machine is None


def test_errors_tell_cells_by_their_numbers(shell: Shell) -> None:
    shell.run(
        "tf.config.set_logical_device_configuration(",
        "  tf.config.list_physical_devices('GPU')[0],",
        "  [tf.config.LogicalDeviceConfiguration(memory_limit=4)])",
    )
    failed = shell.run("held = tf.zeros([1 << 19])", "more = tf.zeros([1 << 20])")

    assert "cell 2, line 1: held = tf.zeros([1 << 19])" in str(failed.error)
    assert "ipython" not in str(failed.error).partition("What holds it")[2]
