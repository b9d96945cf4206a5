"""How long would an all-reduce take on the simulated cluster?"""

from typing import Any

import pytest

import nbtf as tf
from nbtf._devices.collectives import ALGORITHMS, plan
from tests.machines import cluster, machine, worker


@pytest.mark.parametrize("count", [8, 64, 1024])
def test_times_are_those_of_the_plans(count: int) -> None:
    names = [worker(task, f"GPU:{number}") for task in range(128) for number in range(8)][:count]
    with cluster(128, 8) as context:
        times = tf.runtime.all_reduce_times(1_000_000, count)
        assert context.configuration.cluster is not None
        expected = [plan(name, names, 1_000_000, context.configuration.cluster.network).seconds for name in ALGORITHMS]

    assert (count, 1_000_000, *expected, "modelled") == (*times[:6], times.timing)


def test_cards_may_be_named_in_part() -> None:
    with cluster(2, 2):
        names = ["/job:worker/task:0/GPU:1", "/job:worker/task:1/GPU:0"]

        assert 2 * (14e-6 + 12.5e9 / 12.5e9) == pytest.approx(tf.runtime.all_reduce_times(12_500_000_000, names).star)


def test_to_ask_fixes_nothing() -> None:
    with cluster(2, 2) as context:
        tf.runtime.all_reduce_times(100)

        assert context.machine is None


@pytest.mark.parametrize(
    "devices", [0, 5, ["GPU:0"], [], ["/job:worker/task:9/GPU:0"], ["/job:worker/task:0/GPU:0"] * 2]
)
def test_cards_that_are_not_there_are_refused(devices: Any) -> None:
    with cluster(2, 2), pytest.raises(ValueError, match="simulated"):
        tf.runtime.all_reduce_times(100, devices)


def test_without_a_cluster_the_error_says_how_to_get_one() -> None:
    with machine(2), pytest.raises(ValueError, match=r"Call tf\.runtime\.simulate_cluster\(hosts=2, gpus=8\) first"):
        tf.runtime.all_reduce_times(100)
