"""`tf.distribute.LocalCluster`: real processes on this machine as a cluster."""

from __future__ import annotations

import os
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from nbtf._cluster.look import dask_engine
from nbtf._devices.machines import SIMULATED_GPUS, simulated_machine
from nbtf._own_name import own_name
from nbtf._runtime.arguments import check_number, check_whole
from nbtf._runtime.cluster_spec import ClusterSpec
from nbtf.distribute.resolver import ClusterResolver

if TYPE_CHECKING:
    from nbtf._cluster.processes import ChildProcess

_TASKS_PER_CORE = 8
"""Maximum number of processes in a cluster; each needs about 100 MiB, and more would mostly wait for one another."""


class LocalCluster(ClusterResolver):
    """Processes on this machine that are tasks of a cluster, each with simulated GPUs.

    `tf.config.experimental_connect_to_cluster(cluster)` makes their devices available. The processes listen only on the
    loopback interface and use TLS, with certificates that exist only in memory and only for this cluster. They end with
    `close`, at the end of a `with` block, or when this process ends.

    Args:
      worker: number of tasks of the job `worker`.
      gpus: number of simulated GPUs per task; None uses the environment of the task.
      chief: number of tasks of the job `chief`, 0 or 1.
      ps: number of tasks of the job `ps`.
      model: model of the simulated GPUs, as for `tf.runtime.simulate_gpus`.
      memory: memory of each simulated GPU, as for `tf.runtime.simulate_gpus`.
      heartbeat: seconds without a sign of life after which a task is lost. A task whose process ends is lost at once.
      timeout: seconds that the processes may take to start.

    Raises:
      ImportError: if Dask's `distributed` or `cryptography` is not installed.
      TypeError: if a number of tasks is not an integer.
      ValueError: if a number is negative, or larger than this machine should start.
      UnavailableError: if a process did not start.
      DeadlineExceededError: if a process takes too long to start.

    >>> tf.distribute.LocalCluster(worker=0)
    Traceback (most recent call last):
    ...
    ValueError: A cluster needs at least 1 task. Got chief=0, worker=0, ps=0.
    """

    def __init__(
        self,
        worker: int = 2,
        gpus: int | None = None,
        *,
        chief: int = 0,
        ps: int = 0,
        model: str | None = None,
        memory: float | str | None = None,
        heartbeat: float = 5.0,
        timeout: float = 120.0,
    ) -> None:
        """Starts the processes and waits for them."""
        self._counts = _checked_counts(chief=chief, worker=worker, ps=ps)
        machine = None if gpus is None else simulated_machine(gpus, model, memory)
        self._environ = {} if machine is None else {SIMULATED_GPUS: machine.text()}
        self._gpus, self._heartbeat, self._timeout = (
            gpus,
            _seconds(heartbeat, "heartbeat"),
            _seconds(timeout, "timeout"),
        )
        self._dask = dask_engine()
        self._credentials: dict[str, str] = self._dask.new_credentials()
        self._processes: dict[str, ChildProcess] = {}
        self._engines: list[Any] = []
        self._address = ""
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        deadline = time.monotonic() + self._timeout
        names = [f"{job}-{number}" for job, count in self._counts.items() for number in range(count)]
        self._scheduler = self._begin("scheduler", {"role": "scheduler"})
        for name in names:
            self._processes[name] = self._begin(name, {"role": "worker", "name": name})
        self._address = str(self._scheduler.answer(deadline)["address"])
        for name in names:
            self._processes[name].tell({"address": self._address})
        for name in names:
            self._processes[name].answer(deadline)

    def _begin(self, name: str, settings: dict[str, Any]) -> ChildProcess:
        from nbtf._cluster.processes import ChildProcess  # imported late: a browser has no processes

        return ChildProcess(name, settings | {"credentials": self._credentials}, self._environ)

    @property
    def scheduler_address(self) -> str:
        """The address of the Dask scheduler, for a `distributed.Client` with the same `security`."""
        return self._address

    @property
    def security(self) -> Any:
        """The certificates for a Dask `Client`; their printed form is empty."""
        return self._dask.scheduler_at(self._address, self._credentials).security

    @property
    def pids(self) -> dict[str, int]:
        """The process ids, by task name, such as `worker-0`."""
        return {name: process.pid for name, process in self._processes.items()}

    def engine(self) -> Any:
        """Returns the engine for `tf.config.experimental_connect_to_cluster`, which carries messages to the tasks.

        Raises:
          ValueError: if the cluster is closed.
        """
        if not self._address:
            raise ValueError("This cluster is closed. Start a new one: tf.distribute.LocalCluster(worker=2, gpus=2).")
        scheduler = self._dask.scheduler_at(self._address, self._credentials)
        engine = self._dask.DaskEngine(scheduler, heartbeat=self._heartbeat)
        self._engines.append(engine)
        return engine

    def replace(self, task: str) -> None:
        """Starts a new process for a task, and ends its current process if that still runs.

        Tensors of the old process are lost. `tf.config.experimental_connect_to_cluster` connects to the new one.

        Args:
          task: job and number of the task, such as `"worker-1"`.

        Raises:
          ValueError: if the cluster has no such task.
        """
        if task not in self._processes:
            raise ValueError(f"Unknown task {task!r}. Expected one of {', '.join(self._processes)}.")
        self._processes[task].kill()
        process = self._processes[task] = self._begin(task, {"role": "worker", "name": task})
        process.tell({"address": self._address})
        process.answer(time.monotonic() + self._timeout)

    def cluster_spec(self) -> ClusterSpec:
        """Returns the jobs; the address of a task is `localhost` and its process id."""
        jobs: dict[str, list[str]] = {}
        for name, pid in self.pids.items():
            jobs.setdefault(name.partition("-")[0], []).append(f"localhost:{pid}")
        return ClusterSpec(jobs)

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Returns the address of a task, or of the scheduler if no task is named; see `ClusterResolver`."""
        return self._address if task_type is None else super().master(task_type, task_id, rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """Returns the number of simulated GPUs of each task; see `ClusterResolver`."""
        return {"GPU": self._gpus} if self._gpus else {}

    def close(self) -> None:
        """Ends the processes; may be called twice."""
        processes = [*self._processes.values(), *([self._scheduler] if hasattr(self, "_scheduler") else [])]
        for engine in self._engines:
            engine.close()
        self._engines.clear()
        for process in processes:
            process.end()
        for process in processes:
            process.wait()
        self._processes.clear()
        self._address = ""

    def __enter__(self) -> Self:
        """Returns itself."""
        return self

    def __exit__(
        self, error_class: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the cluster."""
        self.close()

    def __repr__(self) -> str:
        """Returns a description without credentials."""
        if not self._address:
            return "LocalCluster(closed)"
        counts = ", ".join(f"{job}={count}" for job, count in self._counts.items() if count)
        gpus = "" if self._gpus is None else f", gpus={self._gpus} (simulated)"
        return f"LocalCluster({counts}{gpus}, {self._address})"


def _seconds(value: float, argument: str) -> float:
    seconds = float(check_number(value, argument))
    if not seconds > 0:
        raise ValueError(f"`{argument}` must be more than 0 seconds. Got {value}.")
    return seconds


def _checked_counts(**counts: int) -> dict[str, int]:
    """Returns the number of tasks per job, after checking that this computer can run such a cluster."""
    text = ", ".join(f"{job}={count}" for job, count in counts.items())
    total = sum(check_whole(count, job) for job, count in counts.items())
    limit = max(16, _TASKS_PER_CORE * (os.cpu_count() or 1))
    if min(counts.values()) < 0 or not total:
        raise ValueError(f"A cluster needs at least 1 task. Got {text}.")
    if counts["chief"] > 1:
        raise ValueError(f"A cluster has at most 1 chief. Got {text}.")
    if total > limit:
        raise ValueError(
            f"Each task is a process, and this computer should run at most {limit}. Got {text}. For more tasks, "
            f"{own_name()}.runtime.simulate_cluster(hosts={min(total, 1024)}, gpus=1) needs no processes."
        )
    return counts
