"""How many processes share the work? Strategies for several say that they are not there yet."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sized
from typing import Any

from nbtf._runtime.arguments import check_has
from nbtf.distribute.strategy import Strategy
from nbtf.errors import UnimplementedError

TRAINING_JOBS = ("chief", "master", "worker")
"""Jobs whose tasks train the same model together. Source: `tf.distribute` 2.21, `multi_worker_util.worker_count`."""

WAY_OUT = (
    "nbtf works in one process: each worker would train a model of its own. Take tf.distribute.MirroredStrategy(), "
    "which uses all GPUs of this computer."
)


def check_single_worker(cluster_resolver: Any = None) -> None:
    """Refuses a cluster of several workers.

    Args:
      cluster_resolver: has a `cluster_spec()`; the variable `TF_CONFIG` says it when None.

    Raises:
      ValueError: `TF_CONFIG` is not JSON of the form `{"cluster": {"worker": [...]}, "task": {...}}`.
      UnimplementedError: there are several workers.
    """
    jobs = _jobs_of(cluster_resolver) if cluster_resolver is not None else _configured_jobs()
    count = sum(len(tasks) for job, tasks in jobs.items() if job in TRAINING_JOBS)
    if count > 1:
        source = "TF_CONFIG" if cluster_resolver is None else "The cluster resolver"
        raise UnimplementedError(
            f"{source} names {count} workers, but {WAY_OUT} A program for one worker runs without TF_CONFIG."
        )


def _jobs_of(cluster_resolver: Any) -> Mapping[str, Sized]:
    spec = check_has(cluster_resolver, "cluster_spec", "cluster_resolver", "a cluster resolver").cluster_spec()
    return dict(spec.as_dict() if hasattr(spec, "as_dict") else spec)


def _configured_jobs() -> Mapping[str, Sized]:
    """Returns the jobs of this process's cluster; none for a task that only evaluates, which works alone."""
    text = os.environ.get("TF_CONFIG") or "{}"
    try:
        config: dict[str, dict[str, Any]] = json.loads(text)
        jobs, task = config.get("cluster") or {}, config.get("task") or {}
        if task.get("type") == "evaluator":
            return {}
        return {job: list(tasks) for job, tasks in jobs.items()}
    except (ValueError, AttributeError, TypeError) as error:
        form = '{"cluster": {"worker": ["host:port"]}, "task": {"type": "worker", "index": 0}}'
        raise ValueError(f"TF_CONFIG must be JSON of the form {form}. Got {text!r}") from error


class ParameterServerStrategyV2(Strategy):
    """Trains one model with several workers, its variables on servers of their own: not there yet.

    Raises:
      UnimplementedError: always, with what there is instead.
    """

    __module__ = (
        "nbtf.python.distribute.parameter_server_strategy_v2"  # from where it can be imported, as in TensorFlow
    )

    def __init__(self, cluster_resolver: Any = None, variable_partitioner: Any = None) -> None:
        """Says what to use instead."""
        raise UnimplementedError(f"ParameterServerStrategy needs several processes, but {WAY_OUT}")


ParameterServerStrategy = ParameterServerStrategyV2
