"""Do events of a real Keras program tell layer, phase, line and holder in the words of `tf.keras`?"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.frameworks.keras.conftest import on_nbtf

PROGRAM = """
import json, keras, numpy as np
nbtf.runtime.simulate_gpus(1)
model = keras.Sequential([keras.layers.Dense(4, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
with nbtf.runtime.recording() as record:
    model.fit(np.ones((8, 3), "float32"), np.zeros((8, 1), "float32"), verbose=0)
events = [event for event in record.events if isinstance(event, nbtf.runtime.OpExecuted)]
memory = [event for event in record.events if isinstance(event, nbtf.runtime.Allocated)]
print("EVENTS" + json.dumps({
    "parts": sorted({(event.phase, event.layer) for event in events}),
    "devices": sorted({event.device[-5:] for event in events if event.op == "MatMul"}),
    "holders": sorted({event.holder for event in memory}),
    "files": sorted({str(event.site[0]) for event in events if event.site}),
}))
"""


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    return json.loads(on_nbtf(PROGRAM).partition("EVENTS")[2])


def test_layers_have_their_path(told: dict[str, Any]) -> None:
    assert {("forward", "sequential/dense"), ("forward", "sequential/dense_1")} <= {*map(tuple, told["parts"])}


def test_phases_are_those_of_a_training_step(told: dict[str, Any]) -> None:
    assert {"forward", "backward", "update", "metrics", "input"} <= {phase for phase, _ in told["parts"]}


def test_products_run_on_the_gpu(told: dict[str, Any]) -> None:
    assert told["devices"] == ["GPU:0"]


def test_weights_and_slots_are_told_apart(told: dict[str, Any]) -> None:
    assert {"weights", "optimizer slots", "gradients"} <= {*told["holders"]}


def test_lines_are_the_programs_own(told: dict[str, Any]) -> None:
    assert told["files"] == ["<string>"]
