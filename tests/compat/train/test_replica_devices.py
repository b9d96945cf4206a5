from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest

import nbtf.compat.v1 as tf1


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf1.Graph]:
    with tf1.Graph().as_default() as graph:
        yield graph


def devices(**settings: Any) -> list[str]:
    """The devices of two variables and of a sum."""
    with tf1.device(tf1.train.replica_device_setter(**settings)):
        a, b = tf1.Variable(1.0), tf1.Variable(1.0)
        return [one.device for one in (a, b, a + b)]


def test_variables_take_turns_and_the_rest_goes_to_the_worker() -> None:
    assert ["/job:ps/task:0", "/job:ps/task:1", "/job:worker"] == devices(ps_tasks=2)


def test_a_cluster_says_how_many_there_are() -> None:
    cluster = {"ps": ["a:1", "b:1"], "worker": ["c:1"]}

    assert ["/job:ps/task:0", "/job:ps/task:1", "/job:worker"] == devices(cluster=cluster)


def test_without_parameter_servers_there_is_nothing_to_set() -> None:
    assert tf1.train.replica_device_setter() is None
    assert tf1.train.replica_device_setter(cluster={"worker": ["c:1"]}) is None


def test_a_strategy_chooses() -> None:
    assert ["/job:ps/task:1", "/job:ps/task:1"] == devices(ps_tasks=2, ps_strategy=lambda _: 1)[:2]


def test_a_strategy_is_a_function() -> None:
    with pytest.raises(TypeError, match=r"^ps_strategy must be callable$"):
        tf1.train.replica_device_setter(ps_tasks=1, ps_strategy=cast("Any", 3))


def test_other_types_can_go_to_parameter_servers() -> None:
    assert ["/job:worker", "/job:worker", "/job:ps/task:0"] == devices(ps_tasks=2, ps_ops=["AddV2"])


@pytest.mark.parametrize(("merge", "expected"), [(True, "/job:ps/task:0/device:CPU:1"), (False, "/device:CPU:1")])
def test_devices_of_inner_blocks_are_merged(merge: bool, expected: str) -> None:
    with tf1.device(tf1.train.replica_device_setter(1, merge_devices=merge)), tf1.device("/cpu:1"):
        assert expected == tf1.Variable(1.0).device
