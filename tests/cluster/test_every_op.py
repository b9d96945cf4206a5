"""Can every op be sent to a task, and does it give the bits of this process there?"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import nbtf as tf
from nbtf._cluster.controller import connect
from nbtf._cluster.in_process import InProcessEngine
from nbtf._runtime.context import Context, use_context
from nbtf.errors import AbortedError, UnimplementedError
from tests.ops.samples import Sample, samples_of_each_op
from tests.ops.test_every_op import run

DEVICES = {"GPU": "/job:worker/task:0/device:GPU:0", "CPU": "/job:worker/task:0/device:CPU:0"}


@pytest.fixture(scope="module")
def context() -> Iterator[Context]:
    engine = InProcessEngine({"worker": 1}, 1)
    connected = Context(None, {})
    with use_context(connected):
        cluster = connect(engine)
        yield connected
        cluster.end(AbortedError("The tests are over."))
    engine.close()


SIZE_OF_TABLE = "LookupTableSizeV2"
"""Has no input that keeps it in this process, which has the table."""


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("sample", samples_of_each_op(without=[SIZE_OF_TABLE]), ids=str)
def test_a_task_gives_the_bits_of_this_process(sample: Sample, device: str, context: Context) -> None:
    context.seeds = None
    context.set_default_device(DEVICES[device])

    there = run(sample, context)

    assert run(sample, Context(None, {})) == there


def test_an_op_on_a_table_runs_where_its_error_says(context: Context) -> None:
    context.set_default_device(None)
    with use_context(context):
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([1, 2], [3, 4]), -1)
        with tf.device(DEVICES["CPU"]), pytest.raises(UnimplementedError, match=SIZE_OF_TABLE) as failure:
            table.size()
        with tf.device(re.findall(r"tf.device\('(.*?)'\)", str(failure.value))[0]):
            assert 2 == table.size()
