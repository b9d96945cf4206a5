"""Which workers do resolvers name, and do strategies take them?"""

import json
from typing import Any

import pytest

import nbtf as tf
from nbtf.distribute.cluster_resolver import ClusterResolver, SimpleClusterResolver, TFConfigClusterResolver
from tests.machines import cluster, machine

SPEC = tf.train.ClusterSpec({"worker": ["a:1", "b:2"], "ps": ["c:3"]})
CONFIG = {"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 1}}


def test_a_specification_is_that_of_tensorflow_1() -> None:
    import nbtf.compat.v1 as tf1  # it switches to graphs

    assert tf1.train.ClusterSpec is tf.train.ClusterSpec
    assert ["ps", "worker"] == [job.name for job in SPEC.as_cluster_def().job]


def test_a_resolver_says_what_it_was_told() -> None:
    resolver = SimpleClusterResolver(SPEC, "x:9", "worker", 1, rpc_layer="grpc")

    assert (SPEC, "worker", 1) == (resolver.cluster_spec(), resolver.task_type, resolver.task_id)
    assert ["grpc://x:9", "grpc://b:2"] == [resolver.master(), resolver.master("worker", 1)]


def test_the_variable_names_jobs_and_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_CONFIG", json.dumps(CONFIG))
    resolver = TFConfigClusterResolver()

    assert (CONFIG["cluster"], "worker", 1, "b:2") == (
        resolver.cluster_spec().as_dict(),
        resolver.task_type,
        resolver.task_id,
        resolver.master(),
    )


def test_without_the_variable_there_is_no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TF_CONFIG", raising=False)
    resolver = TFConfigClusterResolver()

    assert ({}, None, "") == (resolver.cluster_spec().as_dict(), resolver.task_type, resolver.master())


def test_a_host_has_its_cards() -> None:
    resolver = SimpleClusterResolver(SPEC)
    with cluster(2, 3):
        assert {"GPU": 3} == resolver.num_accelerators()
    with machine(2):
        assert {"GPU": 2} == resolver.num_accelerators()
    with machine(0):
        assert {} == resolver.num_accelerators()


def test_a_strategy_takes_the_workers_of_a_resolver() -> None:
    with cluster(4, 1):
        assert 2 == tf.distribute.MultiWorkerMirroredStrategy(SimpleClusterResolver(SPEC)).num_replicas_in_sync


@pytest.mark.parametrize("hosts", [0, 1])
def test_more_workers_than_hosts_are_refused(hosts: int) -> None:
    with (
        cluster(hosts, 1) if hosts else machine(1),
        pytest.raises(tf.errors.UnimplementedError, match=r"The cluster resolver names 2 workers.*simulate_cluster\("),
    ):
        tf.distribute.MultiWorkerMirroredStrategy(SimpleClusterResolver(SPEC))


@pytest.mark.parametrize("spec", [None, {"worker": ["a:1"]}])
def test_what_is_no_specification_is_refused(spec: Any) -> None:
    with pytest.raises(TypeError, match=r"cluster_spec must be a `tf\.train\.ClusterSpec`"):
        SimpleClusterResolver(spec)


def test_a_resolver_without_jobs_says_so() -> None:
    with pytest.raises(NotImplementedError, match="Use SimpleClusterResolver"):
        ClusterResolver().cluster_spec()
