"""Are the recorded ops those that TensorFlow itself logs, one by one, and are the results of programs unchanged?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

pytest.importorskip("tensorflow", reason="needs TensorFlow; one step of .ci/run has it")

import numpy as np

from nbtf import runtime
from tests.frameworks.tensorflow.programs import PROGRAMS, keras, tf

context: Any = import_module("tensorflow.python.eager.context")
LOGGED = re.compile(r"Executing op (?:_Mkl(?:Native)?)?(\S+) in device (\S+)")
"""A line of the log; TensorFlow runs some ops with oneDNN, which changes their names."""
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True, scope="module")
def placement_log() -> Iterator[None]:
    """TensorFlow's log, which kernels from before do not write to."""
    tf.debugging.set_log_device_placement(True)
    context.context().clear_kernel_cache()
    yield
    tf.debugging.set_log_device_placement(False)
    context.context().clear_kernel_cache()


def run(name: str) -> list[Any]:
    """Returns the results of a program as bytes."""
    keras.utils.set_random_seed(1)
    return [*as_bytes(PROGRAMS[name]())]


def as_bytes(results: Any) -> Iterator[Any]:
    for each in tf.nest.flatten(results):
        array = np.asarray(each.numpy() if hasattr(each, "numpy") else each)
        yield array.dtype.str, array.shape, array.tolist() if array.dtype == object else array.tobytes()


LONG = frozenset({"recurrent", "convolutional", "mirrored_fit", "fit_eagerly", "images", "saved_model", "jacobian"})
"""Programs that take seconds, mostly to trace functions."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.nightly] * (name in LONG)) for name in PROGRAMS]
)
def test_ops_are_those_of_tensorflows_log(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    unwatched = run(name)
    capfd.readouterr()

    with runtime.recording() as record, runtime.watch("tensorflow"):
        watched = run(name)
    logged = LOGGED.findall(capfd.readouterr().err)

    placed = [event for event in record.events if isinstance(event, runtime.OpPlaced) and event.node is None]
    assert logged == [(event.op, event.device) for event in placed]
    assert unwatched == watched
    assert [] == record.watch.unrecorded([])
