"""What happens to a program that wants several processes?"""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

import nbtf as tf


def configured(monkeypatch: pytest.MonkeyPatch, cluster: dict[str, list[str]], job: str = "worker") -> None:
    config = {"cluster": cluster, "task": {"type": job, "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))


@pytest.mark.parametrize(
    "jobs", [("worker", "worker"), ("chief", "worker"), ("master", "worker", "ps")], ids=lambda jobs: "+".join(jobs)
)
def test_several_workers_do_not_train_several_models(monkeypatch: pytest.MonkeyPatch, jobs: tuple[str, ...]) -> None:
    cluster: dict[str, list[str]] = {}
    for number, job in enumerate(jobs):
        cluster.setdefault(job, []).append(f"localhost:{2222 + number}")
    configured(monkeypatch, cluster)

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
