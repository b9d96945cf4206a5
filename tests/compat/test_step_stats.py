"""`RunMetadata.step_stats`: when the nodes of a run ran."""

from __future__ import annotations

from typing import Any

import pytest

import nbtf as tf

tf1: Any = tf.compat.v1


def measured(level: int, **graph: Any) -> Any:
    metadata = tf1.RunMetadata()
    with tf.Graph().as_default(), tf1.Session() as session:
        with tf.device("GPU:0" if graph.get("gpu") else "CPU:0"):
            a = tf1.placeholder(tf.float32, [2, 3], name="a")
            c = tf1.add(a, tf.constant(1.0, name="b"), name="c")
        session.run(c, {a: [[1.0] * 3] * 2}, tf1.RunOptions(trace_level=level), metadata)
    return metadata


def test_each_node_is_told_with_its_device_times_and_outputs() -> None:
    (device,) = measured(tf1.RunOptions.FULL_TRACE).step_stats.dev_stats
    nodes = {node.node_name: node for node in device.node_stats}
    (output,) = nodes["c"].output

    assert "/job:localhost/replica:0/task:0/device:CPU:0" == device.device
    assert {"b", "c"} <= nodes.keys()
    assert "c = AddV2(a, b)" == nodes["c"].timeline_label
    assert 0 < nodes["b"].all_start_nanos <= nodes["c"].all_start_nanos
    assert 0 <= nodes["c"].op_end_rel_nanos
    assert nodes["c"].all_start_nanos // 1000 == nodes["c"].all_start_micros
    assert [2, 3] == [axis.size for axis in output.tensor_description.shape.dim]
    assert (1, 24) == (
        output.tensor_description.dtype,
        output.tensor_description.allocation_description.requested_bytes,
    )


def test_nodes_of_simulated_gpus_say_whose_time_it_is() -> None:
    tf.runtime.simulate_gpus(1)
    devices = {device.device[-5:]: device for device in measured(1, gpu=True).step_stats.dev_stats}

    assert any("simulated" in node.timeline_label for node in devices["GPU:0"].node_stats)


def test_nothing_is_measured_without_being_asked_for() -> None:
    metadata = measured(tf1.RunOptions.NO_TRACE)

    assert not metadata.HasField("step_stats")


def test_metadata_is_written_and_read_like_other_messages() -> None:
    metadata = measured(3)

    assert metadata == tf1.RunMetadata.FromString(metadata.SerializeToString())
    assert 'node_name: "c"' in str(metadata)


@pytest.mark.parametrize("options", [3, "FULL_TRACE"])
def test_other_options_are_refused(options: Any) -> None:
    with tf.Graph().as_default(), tf1.Session() as session, pytest.raises(AttributeError, match="SerializeToString"):
        session.run(tf.constant(1.0), options=options)
