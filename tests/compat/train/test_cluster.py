"""`tf.train.ClusterSpec`: jobs, and what `replica_device_setter` makes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nbtf.compat.v1 as tf
from nbtf.compat._v1.train import ClusterSpec, replica_device_setter

CLUSTER = ClusterSpec({"worker": {1: "c:1"}, "ps": ["a:1", "b:1"]})


def test_jobs_are_told_as_they_were_given() -> None:
    assert {"ps": ["a:1", "b:1"], "worker": {1: "c:1"}} == CLUSTER.as_dict()
    assert "ClusterSpec({'ps': ['a:1', 'b:1'], 'worker': {1: 'c:1'}})" == repr(CLUSTER)
    assert ["ps", "worker"] == CLUSTER.jobs


def test_tasks_have_numbers_and_addresses() -> None:
    assert (2, [1]) == (CLUSTER.num_tasks("ps"), CLUSTER.task_indices("worker"))
    assert "b:1" == CLUSTER.task_address("ps", 1)
    assert [None, "c:1"] == CLUSTER.job_tasks("worker")


def test_a_cluster_is_made_of_another() -> None:
    assert ClusterSpec(CLUSTER) == CLUSTER
    assert CLUSTER != ClusterSpec({})
    assert (True, False) == (bool(CLUSTER), bool(ClusterSpec({})))


def test_a_cluster_is_a_message() -> None:
    jobs = CLUSTER.as_cluster_def().job

    assert [("ps", {0: "a:1", 1: "b:1"}), ("worker", {1: "c:1"})] == [(one.name, dict(one.tasks)) for one in jobs]


@pytest.mark.parametrize(
    ("wrong", "kind", "told"),
    [
        (lambda: CLUSTER.num_tasks("x"), ValueError, "No such job in cluster: 'x'"),
        (lambda: CLUSTER.task_address("ps", 5), ValueError, "No task with index 5 in job 'ps'"),
        (lambda: ClusterSpec(3), TypeError, "`cluster` must be a dictionary"),
        (lambda: ClusterSpec({"a": 3}), TypeError, "The tasks for job 'a' must be a list or a dictionary"),
    ],
)
def test_what_is_not_there_is_told(wrong: Callable[[], Any], kind: type[Exception], told: str) -> None:
    with pytest.raises(kind, match=told):
        wrong()


def test_variables_take_turns_on_the_parameter_servers_of_a_cluster() -> None:
    with tf.Graph().as_default(), tf.device(replica_device_setter(cluster=CLUSTER)):
        devices = [tf.Variable(1.0).device for _ in range(3)]

    assert ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"] == devices
