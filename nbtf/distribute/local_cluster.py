"""`tf.distribute.LocalCluster`: how does one computer become a cluster of real processes?"""

from __future__ import annotations

import os
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from nbtf._cluster.look import dask_engine
from nbtf._devices.machines import SIMULATED_GPUS, simulated_machine
from nbtf._runtime.arguments import check_number, check_whole
from nbtf._runtime.cluster_spec import ClusterSpec
from nbtf.distribute.resolver import ClusterResolver

if TYPE_CHECKING:
    from nbtf._cluster.processes import ChildProcess

_TASKS_PER_CORE = 8
"""More processes than that, each of some 100 MiB, would rather wait for each other than work."""


class LocalCluster(ClusterResolver):
    """Processes on this computer that are tasks of a cluster, with simulated GPUs each.

    Real processes: `tf.config.experimental_connect_to_cluster(cluster)` makes their devices available. They listen on
    the loopback interface alone, and speak by TLS, with certificates that are made for this cluster and kept in memory.
    They end with `close`, at the end of a `with`, or when this process ends.

    Args:
      worker: how many tasks the job `worker` has.
      gpus: how many simulated GPUs each task has; None for what its environment has.
      chief: how many tasks the job `chief` has, 0 or 1.
      ps: how many tasks the job `ps` has.
      model: of the simulated GPUs, as for `tf.runtime.simulate_gpus`.
      memory: of each of them, likewise.
      heartbeat: after so many seconds without a sign of life a task is lost; one whose process ends is so at once.
      timeout: how many seconds the processes may take to start.

    Raises:
      ImportError: Dask's `distributed` or `cryptography` is not installed.
      TypeError: a number of tasks is none.
      ValueError: a number makes no sense, or is more than this computer should start.
      UnavailableError: a process has not started.
      DeadlineExceededError: a process takes too long.

    >>> tf.distribute.LocalCluster(worker=0)
    Traceback (most recent call last):
    ...
    ValueError: A cluster needs 1 task at least; got chief=0, worker=0, ps=0.
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
        """Starts the processes, and waits for them."""
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
        from nbtf._cluster.processes import ChildProcess  # late: a page without a server has no processes

        return ChildProcess(name, settings | {"credentials": self._credentials}, self._environ)

    @property
    def scheduler_address(self) -> str:
        """Where Dask's scheduler listens, for a `distributed.Client` that has the `security`, too."""
        return self._address

    @property
    def security(self) -> Any:
        """The certificates, for Dask's `Client`; they print as nothing."""
        return self._dask.scheduler_at(self._address, self._credentials).security

    @property
    def pids(self) -> dict[str, int]:
        """The numbers of the processes, by the names of their tasks: `worker-0`."""
        return {name: process.pid for name, process in self._processes.items()}

    def engine(self) -> Any:
        """Returns what carries messages to the tasks, for `tf.config.experimental_connect_to_cluster`.

        Raises:
          ValueError: the cluster is closed.
        """
        if not self._address:
            raise ValueError("This cluster is closed. Start another: tf.distribute.LocalCluster(worker=2, gpus=2).")
        scheduler = self._dask.scheduler_at(self._address, self._credentials)
        engine = self._dask.DaskEngine(scheduler, heartbeat=self._heartbeat)
        self._engines.append(engine)
        return engine

    def replace(self, task: str) -> None:
        """Starts a new process for a task, which has lost its own, or loses it now.

        Tensors that the old one had are gone; `tf.config.experimental_connect_to_cluster` finds the new one.

        Args:
          task: its job and number: `"worker-1"`.

        Raises:
          ValueError: there is no such task.
        """
        if task not in self._processes:
            raise ValueError(f"There is no task {task!r}; expected one of {', '.join(self._processes)}.")
        self._processes[task].kill()
        process = self._processes[task] = self._begin(task, {"role": "worker", "name": task})
        process.tell({"address": self._address})
        process.answer(time.monotonic() + self._timeout)

    def cluster_spec(self) -> ClusterSpec:
        """Returns the jobs; their tasks are named by where their processes are: `localhost` and a process number."""
        jobs: dict[str, list[str]] = {}
        for name, pid in self.pids.items():
            jobs.setdefault(name.partition("-")[0], []).append(f"localhost:{pid}")
        return ClusterSpec(jobs)

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Returns the address of a task, that of the scheduler where none is named; see `ClusterResolver`."""
        return self._address if task_type is None else super().master(task_type, task_id, rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """Returns how many simulated GPUs each task has; see `ClusterResolver`."""
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
        """Closes it."""
        self.close()

    def __repr__(self) -> str:
        """Returns what it is; nothing that opens it."""
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
    """Returns how many tasks each job has, where a computer like this one can be such a cluster."""
    text = ", ".join(f"{job}={count}" for job, count in counts.items())
    total = sum(check_whole(count, job) for job, count in counts.items())
    limit = max(16, _TASKS_PER_CORE * (os.cpu_count() or 1))
    if min(counts.values()) < 0 or not total:
        raise ValueError(f"A cluster needs 1 task at least; got {text}.")
    if counts["chief"] > 1:
        raise ValueError(f"A cluster has 1 chief at most; got {text}.")
    if total > limit:
        raise ValueError(
            f"Each task is a process, and this computer should have {limit} at most; got {text}. For more, "
            f"tf.runtime.simulate_cluster(hosts={min(total, 1024)}, gpus=1) needs no processes."
        )
    return counts
