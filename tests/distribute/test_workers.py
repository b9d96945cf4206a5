"""What happens to a program that wants several processes?"""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

import nbtf as tf
from tests.machines import cluster, machine


def configured(monkeypatch: pytest.MonkeyPatch, jobs: dict[str, list[str]], job: str = "worker") -> None:
    config = {"cluster": jobs, "task": {"type": job, "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))


@pytest.mark.parametrize(
    "jobs", [("worker", "worker"), ("chief", "worker"), ("master", "worker", "ps")], ids=lambda jobs: "+".join(jobs)
)
def test_several_workers_do_not_train_several_models(monkeypatch: pytest.MonkeyPatch, jobs: tuple[str, ...]) -> None:
    addresses: dict[str, list[str]] = {}
    for number, job in enumerate(jobs):
        addresses.setdefault(job, []).append(f"localhost:{2222 + number}")
    configured(monkeypatch, addresses)

    with pytest.raises(
        tf.errors.UnimplementedError, match=r"TF_CONFIG names 2 workers.*tf\.distribute\.MirroredStrategy"
    ):
        tf.distribute.MultiWorkerMirroredStrategy()


def test_one_worker_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    configured(monkeypatch, {"worker": ["localhost:2222"], "evaluator": ["localhost:2223"]})

    assert tf.distribute.MultiWorkerMirroredStrategy().num_replicas_in_sync == 1


def test_an_evaluator_works_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    configured(monkeypatch, {"worker": ["localhost:2222", "localhost:2223"]}, "evaluator")

    assert tf.distribute.MultiWorkerMirroredStrategy().num_replicas_in_sync == 1


def test_strategies_of_one_computer_do_not_read_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    configured(monkeypatch, {"worker": ["localhost:2222", "localhost:2223"]})

    assert tf.distribute.MirroredStrategy().num_replicas_in_sync == 1


def test_a_cluster_resolver_is_asked_instead() -> None:
    class Resolver:
        def cluster_spec(self) -> Any:
            return tf.compat.v1.train.ClusterSpec({"worker": ["a:2222", "b:2222", "c:2222"]})

    with pytest.raises(tf.errors.UnimplementedError, match="The cluster resolver names 3 workers"):
        tf.distribute.MultiWorkerMirroredStrategy(Resolver())


def resolver_of(jobs: dict[str, list[str]], task_type: str | None) -> Any:
    return tf.distribute.cluster_resolver.SimpleClusterResolver(tf.train.ClusterSpec(jobs), task_type=task_type)


@pytest.mark.parametrize("simulated", [False, True])
def test_one_of_several_processes_is_refused_however_it_says_so(
    simulated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = {"worker": ["a:2222", "b:2222"]}
    configured(monkeypatch, jobs)
    resolvers = [None, tf.distribute.cluster_resolver.TFConfigClusterResolver(), resolver_of(jobs, "worker")]
    with cluster(2, 1) if simulated else machine(1):
        for resolver in resolvers:
            with pytest.raises(tf.errors.UnimplementedError, match=r"names 2 workers, but .*simulate_cluster\(hosts=2"):
                tf.distribute.MultiWorkerMirroredStrategy(resolver)


@pytest.mark.parametrize(
    ("jobs", "task_type"),
    [
        (("worker", "ps"), "ps"),
        (("worker",), "trainer"),
        (("trainer",), None),
        (("chief",), "worker"),
    ],
)
def test_a_process_that_has_no_part_in_training_does_not_train(
    jobs: tuple[str, ...], task_type: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses = {job: [f"{job}:2222"] for job in jobs}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": addresses, "task": {"type": task_type, "index": 0}}))

    for resolver in (None, tf.distribute.cluster_resolver.TFConfigClusterResolver(), resolver_of(addresses, task_type)):
        with pytest.raises(ValueError, match="jobs"):
            tf.distribute.MultiWorkerMirroredStrategy(resolver)


def test_a_program_that_controls_all_workers_is_its_own_chief() -> None:
    with cluster(2, 1):
        resolver = tf.distribute.MultiWorkerMirroredStrategy().cluster_resolver

    assert (None, None) == (resolver.task_type, resolver.task_id)  # what guides ask before they save


def test_a_strategy_has_the_resolver_that_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    configured(monkeypatch, {"worker": ["localhost:2222"]})
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()

    assert tf.distribute.MultiWorkerMirroredStrategy(resolver).cluster_resolver is resolver
    assert ("worker", 0) == (resolver.task_type, resolver.task_id)
    assert tf.distribute.MirroredStrategy().cluster_resolver is None


@pytest.mark.parametrize("server", [tf.distribute.Server, tf.compat.v1.train.Server], ids=["distribute", "train"])
def test_a_server_of_several_tasks_says_what_there_is(server: Any) -> None:
    jobs = tf.train.ClusterSpec({"worker": ["a:2222", "b:2222"]})

    with pytest.raises(tf.errors.UnimplementedError, match=r"tf\.runtime\.simulate_cluster"):
        server(jobs, job_name="worker", task_index=0)


@pytest.mark.parametrize("server", [tf.distribute.Server, tf.compat.v1.train.Server], ids=["distribute", "train"])
def test_a_server_of_one_task_is_this_process(server: Any) -> None:
    one_task = tf.train.ClusterSpec({"worker": ["localhost:2222"]})

    for local in (server(one_task, job_name="worker", task_index=0), server.create_local_server()):
        with tf.Graph().as_default(), tf.compat.v1.Session(local.target) as session:
            assert 3 == session.run(tf.constant(3))
        with pytest.raises(tf.errors.UnimplementedError, match="only task of the cluster"):
            local.join()


@pytest.mark.parametrize("text", ["{", "[]", '{"cluster": 3}', '{"task": "worker"}'])
def test_a_configuration_that_cannot_be_read_says_its_form(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("TF_CONFIG", text)

    with pytest.raises(ValueError, match="TF_CONFIG must be JSON of the form"):
        tf.distribute.MultiWorkerMirroredStrategy()


@pytest.mark.parametrize("namespace", [tf.distribute, tf.distribute.experimental], ids=["distribute", "experimental"])
def test_servers_of_variables_say_what_there_is(namespace: Any) -> None:
    with pytest.raises(tf.errors.UnimplementedError, match=r"tf\.distribute\.MirroredStrategy"):
        namespace.ParameterServerStrategy(None)


def test_the_class_says_where_tensorflow_has_it_and_can_be_imported_from_there() -> None:
    strategy = tf.distribute.ParameterServerStrategy

    assert repr(strategy) == ("<class 'nbtf.python.distribute.parameter_server_strategy_v2.ParameterServerStrategyV2'>")
    assert strategy is pickle.loads(pickle.dumps(strategy))
