"""What is in a notebook whose views were saved? Made by a run without a browser, as nbclient leaves it; then frozen."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from nbtf.notebook import catalogue
from tests.browser.lab import PYTHON, code_cell, notebook
from tests.browser.lab_server import LabServer, environment

STATES = "application/vnd.jupyter.widget-state+json"
LONG_AGO = 1_700_000_000.0
"""The time of frozen views, in seconds since the epoch."""
FOREVER = 1e12
"""Seconds between heartbeats of a frozen view: it is never late."""

NASTY = "<img src=x onerror=alert(1)>"
CELLS = (
    """\
import nbtf as tf
_ = tf.runtime.simulate_gpus(2, model="Tesla K20m")
for gpu in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(gpu, True)
%load_ext nbtf""",
    "%devices --live",
    "%gpu_memory --live",
    f"""\
with tf.device("/CPU:0"):
    a = tf.ones([512, 512])
with tf.device("/GPU:1"):
    b = tf.matmul(a, a)
with tf.device("/GPU:7"):
    c = tf.add(b, b)
kept = {{"{NASTY}": tf.reshape(c, [256, 1024])}}
del b""",
)

State = dict[str, Any]


class Saved(NamedTuple):
    """A notebook with the state of its widgets."""

    cells: list[dict[str, Any]]
    metadata: dict[str, Any]

    def changed(self, change: Callable[[State], None]) -> Saved:
        """Returns the notebook with the state of every view changed."""
        other = Saved(self.cells, copy.deepcopy(self.metadata))
        for state in other.states().values():
            change(state)
        return other

    def states(self) -> dict[str, State]:
        """Returns the state of every view, by the name of its class."""
        models = [model["state"] for model in self.metadata["widgets"][STATES]["state"].values()]
        return {
            model["_anywidget_id"].rsplit(".")[-1].partition("-")[0]: model["state"]
            for model in models
            if "state" in model
        }

    def with_states(self, states: dict[str, State]) -> Saved:
        """Returns the notebook with these states in its views."""
        other = Saved(self.cells, copy.deepcopy(self.metadata))
        for name, state in other.states().items():
            state.clear()
            state |= states[name]
        return other

    def speaking(self, language: str) -> Saved:
        """Returns the notebook as one has it who asked for a language."""
        other = self.changed(lambda state: state.update(lang=language))
        for model in other.metadata["widgets"][STATES]["state"].values():
            if "state" in model["state"]:
                words = catalogue.translation(language, catalogue.sections_in(model["state"]["_esm"]))
                model["state"]["texts"] = {language: words}
        return other


def run(server: LabServer, *cells: str) -> Saved:
    """Runs a notebook without a browser; returns it with its outputs and the state of its views."""
    source, ran = server.home / "source.ipynb", server.home / "ran.ipynb"
    source.write_text(json.dumps(notebook([code_cell(cell) for cell in cells], PYTHON)), encoding="utf-8")
    command = [sys.executable, "-m", "jupyter", "execute", str(source), f"--output={ran}"]
    said = subprocess.run(command, env=environment(server.home), capture_output=True, text=True, check=False)
    assert 0 == said.returncode, said.stderr
    content = json.loads(Path(ran).read_text(encoding="utf-8"))
    return Saved(content["cells"], {"widgets": content["metadata"]["widgets"]})


def freeze(state: State) -> None:
    """Takes out of a state what a clock says, but for the order of things."""
    state |= {"wall": LONG_AGO, "since": LONG_AGO, "hb": FOREVER, "busy": False}
    ms, seconds, modelled = map(state["columns"].index, ("ms", "seconds", "modelled"))
    histories = [point for device in state["devices"] for point in device["history"]]
    moments = sorted({step[ms] for step in state["steps"]} | {point[0] for point in histories})
    for step in state["steps"]:
        step[ms] = 10 * moments.index(step[ms])
        if not step[modelled]:
            step[seconds] = 0.0
    for point in histories:
        point[0] = 10 * moments.index(point[0])
