"""Strategies on a simulated cluster: sums, copies, times, and who is asked."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nbtf as tf
from nbtf._devices.collectives import ALGORITHMS, STAR, plan
from nbtf._ops.collectives import all_reduce
from nbtf.distribute.reduction import CrossDeviceOps, ReduceOp
from tests.machines import cluster, machine, worker

GPUS = [worker(task, f"GPU:{number}") for task in range(2) for number in range(3)]
SECONDS = pytest.approx


def on_each(values: list[Any]) -> list[Any]:
    tensors: list[Any] = []
    for name, value in zip(GPUS, values, strict=True):
        with tf.device(name):
            tensors.append(tf.identity(tf.constant(value)))
    return tensors


def reduced(ops: CrossDeviceOps, values: list[Any], reduce_op: ReduceOp = ReduceOp.SUM) -> list[Any]:
    tensors = on_each(values)
    return [replica[0] for replica in ops.all_reduce(reduce_op, [[tensor] for tensor in tensors], GPUS)]


def by_algorithm(name: str) -> CrossDeviceOps:
    ops = CrossDeviceOps()
    ops.algorithm = name
    return ops


def trained(strategy: tf.distribute.Strategy) -> list[Any]:
    """The weights after some steps of training."""
    tf.keras.utils.set_random_seed(1)
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="tanh"), tf.keras.layers.Dense(1)])
        model.compile(tf.keras.optimizers.SGD(0.1), "mse")
    x = np.arange(96, dtype=np.float32).reshape(24, 4) / 96
    model.fit(x, x.sum(1, keepdims=True), batch_size=12, epochs=2, shuffle=False, verbose=0)
    return [weight.numpy() for weight in model.weights]


def summed(value: Any) -> Any:
    """What a replica gets of the sum over all of them."""
    context: Any = tf.distribute.get_replica_context()
    return context.all_reduce("sum", tf.constant(value))


# Sums


@settings(max_examples=25)
@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=6, max_size=6), st.sampled_from(ReduceOp))
def test_the_sum_has_the_same_bits_by_every_algorithm(values: list[float], reduce_op: ReduceOp) -> None:
    with cluster(2, 3):
        arrays = [np.array([value, -value, 0.1], np.float32) for value in values]
        results = [reduced(by_algorithm(name), arrays, reduce_op) for name in ALGORITHMS]

        assert {tuple(tensor.numpy().tobytes() for tensor in result) for result in results} == {
            (results[0][0].numpy().tobytes(),) * 6
        }
        assert [GPUS] * 4 == [[tensor.device for tensor in result] for result in results]


def test_training_on_hosts_gives_the_bits_of_training_on_one_computer() -> None:
    with machine(4):
        alone = trained(tf.distribute.MirroredStrategy())
    with cluster(2, 2):
        apart = trained(tf.distribute.MultiWorkerMirroredStrategy())

    assert [weight.tobytes() for weight in alone] == [weight.tobytes() for weight in apart]


def test_a_function_that_was_traced_reduces_as_well() -> None:
    with cluster(2, 1):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()

        @tf.function
        def step() -> Any:
            return strategy.run(summed, ([1.0, 2.0],))

        with tf.runtime.recording() as record:
            values = strategy.experimental_local_results(step())

    assert [[2.0, 4.0]] * 2 == [value.numpy().tolist() for value in values]
    assert 2 == record.ops.count(("CollectiveReduceV2", "/job:worker/task:0/GPU:0")) + record.ops.count(
        ("CollectiveReduceV2", "/job:worker/task:1/GPU:0")
    )


def test_gradients_flow_through_a_sum() -> None:
    with cluster(2, 3), tf.GradientTape() as tape:
        xs = on_each([float(number) for number in range(6)])
        for x in xs:
            tape.watch(x)
        total = tf.add_n([value * value for value in all_reduce(xs, GPUS)])

        assert [6 * 2 * 15.0] * 6 == [grad.numpy() for grad in tape.gradient(total, xs)]


# Copies and times


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name != STAR])
def test_what_is_sent_is_what_the_model_says(algorithm: str) -> None:
    with cluster(2, 3) as context:
        tensors = on_each([np.zeros(9_000, np.float32)] * 6)
        with tf.runtime.recording() as record:
            all_reduce(tensors, GPUS, algorithm)
        network = context.host.network
        assert network is not None
        expected = plan(algorithm, GPUS, 36_000, network)

    copies = [event for event in record.events if isinstance(event, tf.runtime.Copied)]
    assert [
        (GPUS[source], GPUS[target], round(each.times * nbytes))
        for each in expected.rounds
        for source, target, nbytes in each.messages
    ] == [(copy.source, copy.target, copy.nbytes) for copy in copies]
    assert all(copy.modelled for copy in copies)
    assert SECONDS(expected.seconds) == max(copy.start + copy.seconds for copy in copies if copy.start is not None)


def test_devices_are_busy_until_an_all_reduce_is_over() -> None:
    with cluster(2, 3):
        tensors = on_each([np.zeros(9_000, np.float32)] * 6)
        with tf.runtime.recording() as record:
            all_reduce(tensors, GPUS, "ring")
            with tf.device(GPUS[4]):
                tf.negative(tensors[4])

    end = max(
        event.start + event.seconds
        for event in record.events
        if isinstance(event, tf.runtime.Copied) and event.start is not None
    )
    [negative] = [event for event in record.events if isinstance(event, tf.runtime.OpExecuted) and event.op == "Neg"]
    assert SECONDS(end) == negative.start


def test_work_in_columns_is_that_of_the_events() -> None:
    with cluster(2, 3):
        tensors = on_each([np.zeros(9_000, np.float32)] * 6)
        with tf.runtime.recording() as record:
            for algorithm in ("ring", "tree", "hierarchical", "ring"):
                all_reduce(tensors, GPUS, algorithm)

    work = record.snapshot().work
    timed = [event for event in record.events if isinstance(event, tf.runtime.Copied | tf.runtime.OpExecuted)]
    assert [(event.seq, event.start, event.seconds) for event in timed] == list(
        zip(work.seq.tolist(), work.start.tolist(), work.seconds.tolist(), strict=True)
    )


def test_who_is_told_at_once_is_told_the_same() -> None:
    told: list[Any] = []
    with cluster(2, 3):
        tensors = on_each([np.zeros(9_000, np.float32)] * 6)
        with tf.runtime.recording() as record:
            stop = tf.runtime.observe(told.append)
            all_reduce(tensors, GPUS, "tree")
            stop()

    copies = [event for event in record.events if isinstance(event, tf.runtime.Copied)]
    assert copies == [event for event in told if isinstance(event, tf.runtime.Copied)]


def test_totals_count_every_message() -> None:
    with cluster(2, 3):
        tensors = on_each([np.zeros(9_000, np.float32)] * 6)
        with tf.runtime.recording(capacity=4) as record:
            for _ in range(3):
                all_reduce(tensors, GPUS, "tree")
        snapshot = record.snapshot()

    assert (3 * 20, 3 * 10 * 36_000) == (sum(snapshot.copies.values()), sum(snapshot.copied_bytes.values()))


def test_a_sum_is_charged_to_every_card() -> None:
    with cluster(2, 3, memory="1GiB"):
        tensors = on_each([np.zeros(256, np.float32)] * 6)
        before = [device.in_use for device in tf.runtime.devices() if device.device_type == "GPU"]
        sums = all_reduce(tensors, GPUS, "ring")
        after = [device.in_use for device in tf.runtime.devices() if device.device_type == "GPU"]

        assert 6 == len(sums)
        assert [1024] * 6 == [(now or 0) - (then or 0) for then, now in zip(before, after, strict=True)]


# Who is asked


@pytest.mark.parametrize(
    ("ops", "algorithm"),
    [
        (tf.distribute.ReductionToOneDevice(), None),
        (tf.distribute.HierarchicalCopyAllReduce(), "hierarchical"),
        (tf.distribute.NcclAllReduce(), "auto"),
        (CrossDeviceOps(), "auto"),
    ],
)
def test_tensorflows_classes_choose_the_algorithm(ops: CrossDeviceOps, algorithm: str | None) -> None:
    with cluster(2, 3), tf.runtime.recording() as record:
        reduced(ops, [np.zeros(9_000, np.float32)] * 6)

    assert ("CollectiveReduceV2" if algorithm else "AddN") in {op for op, _ in record.ops}
    assert algorithm is None or algorithm == ops.algorithm


@pytest.mark.parametrize(("name", "algorithm"), [("RING", "ring"), ("NCCL", "auto"), ("AUTO", "auto")])
def test_communication_options_choose_the_algorithm(name: str, algorithm: str) -> None:
    implementation = tf.distribute.experimental.CommunicationImplementation(name)
    options = tf.distribute.experimental.CommunicationOptions(implementation=implementation)
    with cluster(2, 1):
        strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)

    assert algorithm == strategy._cross_device_ops.algorithm


def test_on_one_computer_all_kinds_copy_to_one_device() -> None:
    with machine(2), tf.runtime.recording() as record:
        strategy = tf.distribute.MirroredStrategy(cross_device_ops=tf.distribute.NcclAllReduce())
        strategy.run(summed, (1.0,))

    assert "AddN" in {op for op, _ in record.ops}


def test_a_mirrored_strategy_takes_all_cards_of_all_hosts() -> None:
    with cluster(2, 3):
        assert tuple(GPUS) == tf.distribute.MirroredStrategy().extended.worker_devices


@pytest.mark.parametrize(("tasks", "replicas"), [(1, 3), (2, 6)])
def test_a_resolver_names_the_hosts_that_take_part(tasks: int, replicas: int) -> None:
    class Resolver:
        def cluster_spec(self) -> dict[str, list[str]]:
            return {"worker": [f"host{task}:2222" for task in range(tasks)]}

    with cluster(2, 3):
        assert replicas == tf.distribute.MultiWorkerMirroredStrategy(Resolver()).num_replicas_in_sync


@pytest.mark.parametrize("hosts", [0, 2])
def test_several_processes_are_told_what_to_write_instead(hosts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    config = {"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    message = (
        r"TF_CONFIG names 2 workers, but .*tf\.runtime\.simulate_cluster\(hosts=2, gpus=8\), then "
        r"tf\.distribute\.MultiWorkerMirroredStrategy\(\)\. All three run without TF_CONFIG\."
    )
    with cluster(hosts, 1) if hosts else machine(1), pytest.raises(tf.errors.UnimplementedError, match=message):
        tf.distribute.MultiWorkerMirroredStrategy()


def test_a_log_of_many_devices_names_some_and_their_number(caplog: pytest.LogCaptureFixture) -> None:
    with cluster(5, 8), caplog.at_level("INFO", logger="tensorflow"):
        tf.distribute.MultiWorkerMirroredStrategy()

    assert 2 == sum(record.getMessage().count("and 36 more of 40") for record in caplog.records)
    assert all(worker(4, "GPU:7") not in record.getMessage() for record in caplog.records)
