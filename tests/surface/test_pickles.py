"""Does what is pickled here come back in another process that has used novalue yet?"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf
from nbtf._devices.cpu import CPU
from nbtf._runtime.seeds import Stream
from nbtf.errors import OpError
from tests.ops.arguments import tensors
from tests.ops.samples import all_samples
from tests.ops.table import OPS

ROOT = Path(__file__).parents[2]

# Loads pickles one after another and tells what each has become.
READER = """
import pickle, sys
objects = pickle.load(sys.stdin.buffer)
texts = []
for data in objects:
    value = pickle.loads(data)
    texts.append((type(value).__name__, repr(value), pickle.dumps(value) == data))
sys.stdout.buffer.write(pickle.dumps(texts))
"""


def elsewhere(objects: list[Any]) -> list[tuple[str, str, bool]]:
    """Class and text of objects in a process that gets them pickled, and whether it would pickle them alike."""
    data = pickle.dumps([pickle.dumps(value) for value in objects])
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "NBTF_GPU": "off"}
    run = subprocess.run([sys.executable, "-c", READER], input=data, env=environ, capture_output=True, timeout=120)
    assert run.returncode == 0, run.stderr.decode()
    return pickle.loads(run.stdout)


def test_every_op_is_found_by_its_name() -> None:
    ops = [OPS[type] for type in sorted(OPS)]

    assert [(type(op).__name__, repr(op), True) for op in ops] == elsewhere(ops)


@pytest.mark.parametrize("type", ["Svd", "RandomStandardNormal", "ResourceScatterAdd", "StringSplitV2"])
def test_the_family_of_an_op_is_loaded_where_novalue_else_was(type: str) -> None:
    assert elsewhere([OPS[type]]) == [("Op", repr(OPS[type]), True)]


def test_an_op_that_is_not_in_the_table_says_so() -> None:
    from nbtf.compat._v1._variables.ops import ASSIGN_ADD

    with pytest.raises(TypeError, match="The op AssignAdd is not in the table of ops, so it cannot be pickled"):
        pickle.dumps(ASSIGN_ADD)


def test_what_every_op_is_run_with_can_be_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    sent, run = dict[str, bytes](), CPU.run

    def spy(self: CPU, op: Any, buffers: Any, attrs: Any, *others: Any) -> Any:
        if OPS.get(op.type) is op:
            sent[op.type] = pickle.dumps((op, dict(attrs)))
        return run(self, op, buffers, attrs, *others)

    monkeypatch.setattr(CPU, "run", spy)
    tf.runtime.observe(lambda event: None)  # so that every op takes the road
    for sample in all_samples():
        sample.function(*tensors(list(sample.args)), **sample.kwargs)

    assert sent.keys() >= {"RandomUniform", "Multinomial", "Svd", "Cast", "ResourceStridedSliceAssign"}
    assert [name for name, _, _ in elsewhere([pickle.loads(data) for data in sent.values()])] == ["tuple"] * len(sent)


def test_a_stream_goes_on_in_another_process_where_it_was() -> None:
    stream = Stream(7, 1)
    stream.take(256)

    assert pickle.loads(pickle.dumps(stream)).take(1) == stream.take(1)


def _event() -> Any:
    events = list[Any]()
    undo = tf.runtime.observe(events.append)
    tf.add(tf.constant([1.0]), 1.0)
    undo()
    return events


def _error(error: type[OpError]) -> OpError:
    return error(None, None, "no room")


OBJECTS: dict[str, Callable[[], Any]] = {
    "dtypes": lambda: [tf.float32, tf.string, tf.bfloat16, tf.resource],
    "tensor": lambda: tf.constant([[1.0, 2.0]]),
    "texts": lambda: tf.constant(["a", "b"]),
    "variable": lambda: tf.Variable([1.0, 2.0], name="weights"),
    "shape": lambda: tf.TensorShape([1, None]),
    "spec": lambda: tf.TensorSpec([1, None], tf.int32, "x"),
    "ragged spec": lambda: tf.RaggedTensorSpec([2, None], tf.int32),
    "sparse spec": lambda: tf.SparseTensorSpec([2, 3], tf.int32),
    "device": lambda: tf.DeviceSpec.from_string("/job:worker/task:1/device:GPU:0"),
    "events": _event,
    "reason": lambda: tf.runtime.explain_placement(tf.constant(1.0) + 1.0),
    "devices": tf.runtime.devices,
    "physical devices": tf.config.list_physical_devices,
    "logical devices": tf.config.list_logical_devices,
    "logical configuration": lambda: tf.config.LogicalDeviceConfiguration(memory_limit=512),
    "session configuration": lambda: tf.compat.v1.ConfigProto(allow_soft_placement=True),
    "aggregation": lambda: [tf.VariableAggregation.SUM, tf.VariableSynchronization.ON_READ],
    "seed generator": lambda: tf.keras.random.SeedGenerator(1).get_config(),
    **{
        error.__name__: lambda error=error: _error(error)
        for error in vars(tf.errors).values()
        if isinstance(error, type) and issubclass(error, OpError)
    },
}


def test_values_settings_events_and_errors_come_back() -> None:
    objects = [OBJECTS[name]() for name in OBJECTS]

    expected = [(type(value).__name__, repr(value)) for value in objects]

    assert expected == [(name, text) for name, text, _ in elsewhere(objects)]
