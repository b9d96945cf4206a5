"""How does nbtf talk to Dask's workers? Each is a task with one ordered connection for its work."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from nbtf._cluster.comms import PING, SERVE, CommConnection, PeerComms, Serving, packed, unpacked
from nbtf._cluster.dask_workers import DASK, Scheduler, ask_each, client_of, connect_soon
from nbtf._cluster.dask_workers import ask_workers as ask_workers  # re-exported for callers of `look.dask_engine`
from nbtf._cluster.dask_workers import find_scheduler as find_scheduler
from nbtf._cluster.dask_workers import new_credentials as new_credentials
from nbtf._cluster.dask_workers import scheduler_at as scheduler_at
from nbtf._cluster.dask_workers import wait_for_workers as wait_for_workers
from nbtf._cluster.engine import Address, Engine, Host, Listener
from nbtf._cluster.loop_thread import LoopThread
from nbtf._cluster.task_numbers import number_tasks
from nbtf._devices.names import task_name
from nbtf._locks import computed_once
from nbtf.errors import DeadlineExceededError, FailedPreconditionError, UnauthenticatedError, UnavailableError

_as_frame = DASK.protocol.to_serialize

_SOON = 0.5
"""Seconds to wait for the scheduler after a task was lost: the caller is waiting."""

_MOST_REQUESTS = 4096
"""Maximum number of requests of other tasks that may wait for one another; each has a thread."""

_PLUGIN, _SESSION = "nbtf", "nbtf_session"


# In the notebook


class DaskEngine(Engine):
    """The workers of a Dask cluster as tasks, with one connection to each."""

    name: str = "Dask"

    def __init__(
        self,
        scheduler: Scheduler,
        timeout: float = 10.0,
        heartbeat: float = Engine.heartbeat,
        deadline: float = Engine.deadline,
    ) -> None:
        """Creates the engine without contacting any process.

        Args:
          scheduler: scheduler of the cluster, from `find_scheduler`.
          timeout: seconds that the scheduler and each worker may take to answer.
          heartbeat: see `Engine`.
          deadline: see `Engine`.
        """
        self.scheduler = scheduler
        self.heartbeat, self.deadline = heartbeat, deadline
        self._timeout = timeout
        self._connections: set[CommConnection] = set()
        self._addresses: dict[str, Address] = {}
        self._watch: asyncio.Task[None] | None = None
        self._lost = False

    @computed_once
    def _thread(self) -> LoopThread:
        return LoopThread()

    def addresses(self) -> list[Address]:
        """Returns the tasks; see `Engine`.

        Raises:
          FailedPreconditionError: if a worker has no nbtf.
          UnavailableError: if a worker is lost during the first call.
          DeadlineExceededError: if a worker does not answer during the first call.
        """
        return self._thread.run(self._ask_addresses())

    async def _ask_addresses(self) -> list[Address]:
        if self._lost:
            raise self._scheduler_lost()
        is_first = not self._addresses
        async with client_of(self.scheduler, self._timeout) as (client, names):
            await self._begin_watch()
            tasks = number_tasks(names, {address: (task.job, task.number) for address, task in self._addresses.items()})
            new = {address: task for address, task in tasks.items() if address not in self._addresses}
            answers = await ask_each(client, install_task, new, self._timeout)
        for address, answer in answers.items():
            problem = answer.get("problem")
            if problem is None:
                self._addresses[address] = Address(*new[address], address, answer["incarnation"])
            elif not answer.get("silent"):
                raise FailedPreconditionError(
                    f"Worker {names[address]} at {address} cannot be a task: {problem}. All workers need the same "
                    "version of nbtf as this process."
                )
            elif is_first:
                error_class = UnavailableError if answer.get("lost") else DeadlineExceededError
                worker = f"worker {names[address]} at {address}"
                raise error_class(f"{task_name(*new[address])} is not available: {worker} cannot be a task: {problem}.")
        return sorted(task for address, task in self._addresses.items() if address in names)

    def connect(self, address: Address, listener: Listener) -> CommConnection:
        """Opens a session with a task; see `Engine`."""
        return self._thread.run(self._open(address, listener))

    async def _open(self, address: Address, listener: Listener) -> CommConnection:
        if self._lost:
            raise self._scheduler_lost()
        task = f"{task_name(address.job, address.number)} at {address.location}"
        arguments = self.scheduler.security.get_connection_args("client")
        try:
            comm = await connect_soon(address.location, arguments, self._timeout)
            await comm.write({"op": _SESSION, "incarnation": address.incarnation})
            answer = await asyncio.wait_for(comm.read(), self._timeout)
            pulse = await connect_soon(address.location, arguments, self._timeout)
        except DASK.comm.core.FatalCommClosedError as error:
            raise UnauthenticatedError(f"{task} rejects this certificate.") from error
        except TimeoutError as error:
            raise DeadlineExceededError(f"{task} did not answer within {self._timeout:g} s.") from error
        except OSError as error:
            raise await self.loss(f"{task} cannot be reached: {error}") from error
        if answer is None or answer["incarnation"] != address.incarnation:
            comm.abort()
            pulse.abort()
            raise UnavailableError(f"The task was restarted: another process is now at {address.location}.")
        connection = CommConnection(self, self._thread, comm, pulse, listener, _as_frame)
        self._connections.add(connection)
        return connection

    async def loss(self, reason: str) -> UnavailableError:
        """Returns the error for a lost connection, or the scheduler's error if the scheduler is lost as well."""
        if not self._lost:
            arguments = self.scheduler.security.get_connection_args("client")
            try:
                comm = await connect_soon(self.scheduler.address, arguments, _SOON)
                comm.abort()
            except (OSError, TimeoutError):
                self._lost = True
        return self._scheduler_lost() if self._lost else UnavailableError(reason)

    def _scheduler_lost(self) -> UnavailableError:
        return UnavailableError(
            f"The scheduler of the cluster, {self.scheduler.address}, is lost, and all tasks with it. Start a cluster, "
            "and connect to it with tf.config.experimental_connect_to_cluster."
        )

    async def _begin_watch(self) -> None:
        """Keeps a connection to the scheduler, to notice its end."""
        if self._watch is None:
            arguments = self.scheduler.security.get_connection_args("client")
            comm = await connect_soon(self.scheduler.address, arguments, self._timeout)
            self._watch = asyncio.ensure_future(self._watch_scheduler(comm))

    async def _watch_scheduler(self, comm: Any) -> None:
        with suppress(OSError):
            await comm.read()
        self._lost = True
        for connection in list(self._connections):
            connection.fail(self._scheduler_lost())

    def forget(self, connection: CommConnection) -> None:
        """Removes a connection that has ended."""
        self._connections.discard(connection)

    def close(self) -> None:
        """Closes all connections; the workers continue, and free what they keep for this controller."""
        if "_thread" in self.__dict__:  # the thread exists once a process was contacted
            self._thread.run(self._close())
            self._thread.close()
            del self._thread

    async def _close(self) -> None:
        for connection in list(self._connections):
            connection.fail(UnavailableError("its cluster was closed"))
        if self._watch is not None:
            self._watch.cancel()


# In a worker


async def install_task(job: str, number: int, dask_worker: Any = None) -> dict[str, Any]:
    """Makes a worker a task, unless it is one already; returns the task's incarnation.

    Args:
      job: name of the job.
      number: number of the task within the job.
      dask_worker: the worker; Dask adds it.
    """
    plugin = dask_worker.plugins.get(_PLUGIN)
    if plugin is None:
        plugin = TaskPlugin(job, number)
        await dask_worker.plugin_add(plugin=plugin, name=_PLUGIN, catch_errors=False)
    return {"incarnation": plugin.task.incarnation}


class TaskPlugin(DASK.WorkerPlugin):
    """Adds to a Dask worker a task, the connections of its controllers, and connections to other tasks."""

    def __init__(self, job: str, number: int) -> None:
        """Sets the task's name."""
        self._job, self._number = job, number

    async def setup(self, worker: Any) -> None:
        """Starts listening."""
        from nbtf._cluster.task import Task  # imported late: a controller does not need it

        self._worker, self._loop = worker, asyncio.get_running_loop()
        self._peers = PeerComms(self._loop, self._reach, _as_frame)
        # Requests of tasks may wait for one another.
        self._threads = ThreadPoolExecutor(_MOST_REQUESTS, "nbtf: answers tasks")
        self.task: Host = await asyncio.to_thread(Task, self._job, self._number, self._peers)
        worker.handlers[_SESSION] = self.session
        worker.handlers[SERVE] = self.serve
        worker.handlers[PING] = self.ping

    def teardown(self, worker: Any) -> None:
        """Ends all sessions."""
        self.task.close()
        self._peers.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def session(self, comm: Any, incarnation: str) -> Any:
        """Serves a controller until its connection ends."""
        await comm.write({"incarnation": self.task.incarnation})
        if incarnation == self.task.incarnation:
            session = await asyncio.to_thread(self.task.open)
            thread = ThreadPoolExecutor(1, "nbtf: works for a controller")
            try:
                await Serving(comm, session, thread, _as_frame).read()
            finally:
                await asyncio.to_thread(session.close)
                thread.shutdown(wait=False, cancel_futures=True)
        return DASK.core.Status.dont_reply

    async def ping(self) -> bool:
        """Gives a sign of life."""
        return True

    async def serve(self, comm: Any, head: bytes, frames: list[Any]) -> dict[str, Any]:
        """Answers another task."""
        request = unpacked({"head": head, "frames": frames})
        return packed(await self._loop.run_in_executor(self._threads, self.task.serve, request), _as_frame)

    async def _reach(self, location: str, seconds: float) -> Any:
        return await connect_soon(location, self._worker.security.get_connection_args("worker"), seconds)
