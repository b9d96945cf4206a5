"""How are tasks tested without other processes? As threads of this process, each with its own devices.

Faults of processes and networks can be simulated: `kill`, `stop` (like SIGSTOP) and `resume`, `cut` and `mend` (the
network), `start` in the place of a lost task, and faults of messages chosen by a seed.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from time import monotonic, sleep
from typing import Any

from nbtf._cluster.engine import Address, Connection, Engine, Host, Listener, Message
from nbtf._cluster.faults import Faults
from nbtf._cluster.task import Task
from nbtf._devices.machines import Simulated, simulated_machine
from nbtf._devices.names import task_name
from nbtf._locks import new_event, new_lock
from nbtf.errors import UnavailableError

_STEP = 0.005


class _Process:
    """A task and its simulated state."""

    def __init__(self, job: str, number: int, host: Host) -> None:
        self.job, self.number, self.host = job, number, host
        self.location = f"inproc://{job}-{number}/{host.incarnation}"
        self.killed = new_event()
        self.stopped = self.is_cut = False
        self.connections: list[_ThreadConnection] = []

    @property
    def address(self) -> Address:
        return Address(self.job, self.number, self.location, self.host.incarnation)

    @property
    def silent(self) -> bool:
        """Whether the task is silent."""
        return self.stopped or self.is_cut


class InProcessEngine(Engine):
    """Tasks that are threads of this process, for tests and for trying out errors.

    >>> engine = InProcessEngine({"worker": 2}, gpus=1)
    >>> [address.job for address in engine.addresses()]
    ['worker', 'worker']
    >>> engine.close()
    """

    name = "in process"

    def __init__(
        self,
        tasks: Mapping[str, int],
        gpus: int = 0,
        machine: Simulated | None = None,
        faults: Faults | None = None,
        heartbeat: float = 5.0,
        deadline: float = 3600.0,
    ) -> None:
        """Starts tasks.

        Args:
          tasks: number of tasks of each job.
          gpus: number of simulated GPUs of each task.
          machine: simulated machine of each task; overrides `gpus`.
          faults: probability of message faults; none by default.
          heartbeat: seconds without a sign of life after which a task is lost; see `Engine`.
          deadline: seconds to wait for an answer; see `Engine`.
        """
        self.heartbeat, self.deadline = heartbeat, deadline
        self._machine = machine or simulated_machine(gpus)
        self._faults = faults or Faults()
        self._processes: dict[tuple[str, int], _Process] = {}
        self._by_location: dict[str, _Process] = {}
        self._opened = 0
        for job, count in tasks.items():
            for number in range(count):
                self.start(job, number)

    def engine(self) -> Engine:
        """Returns the engine itself, which is its own resolver."""
        return self

    def start(self, job: str, number: int) -> None:
        """Starts a task, possibly in the place of a lost one."""
        peers = _Peers(self)
        process = _Process(job, number, Task(job, number, peers, self._machine, {}))
        peers.process = process
        self._processes[job, number] = self._by_location[process.location] = process

    def addresses(self) -> Sequence[Address]:
        """Returns the running tasks."""
        return [process.address for _, process in sorted(self._processes.items()) if not process.killed.is_set()]

    def connect(self, address: Address, listener: Listener) -> Connection:
        """Opens a session with a task, on a thread."""
        process = self._by_location.get(address.location)
        if process is None or process.killed.is_set() or process.silent:
            name = task_name(address.job, address.number)
            raise UnavailableError(f"{name} cannot be reached at {address.location}.")
        self._opened += 1
        connection = _ThreadConnection(
            process, listener, self._faults, f"{address.job} {address.number} {self._opened}"
        )
        process.connections.append(connection)
        return connection

    def close(self) -> None:
        """Ends all tasks."""
        for job, number in list(self._processes):
            self._end(self._processes[job, number])

    # Simulated faults of processes and networks

    def kill(self, job: str, number: int) -> None:
        """Ends a task like `kill -9`: its connections close at once."""
        process = self._processes[job, number]
        process.killed.set()
        for connection in process.connections:
            connection.break_off("the process has closed the connection: it was killed")

    def stop(self, job: str, number: int) -> None:
        """Stops a task like SIGSTOP: it falls silent without an error."""
        self._processes[job, number].stopped = True

    def resume(self, job: str, number: int) -> None:
        """Resumes a stopped task."""
        self._processes[job, number].stopped = False

    def cut(self, job: str, number: int) -> None:
        """Cuts the network to a task."""
        self._processes[job, number].is_cut = True

    def mend(self, job: str, number: int) -> None:
        """Restores the network to a task."""
        self._processes[job, number].is_cut = False

    def _end(self, process: _Process) -> None:
        process.killed.set()
        for connection in process.connections:
            connection.close()
        process.host.close()

    def process_at(self, location: str) -> _Process | None:
        """Returns the task at a location."""
        return self._by_location.get(location)


class _ThreadConnection(Connection):
    """A thread that runs batches in order."""

    def __init__(self, process: _Process, listener: Listener, faults: Faults, name: str) -> None:
        self._process, self._listener = process, listener
        self._there, self._back = faults.plan(f"{name} there"), faults.plan(f"{name} back")
        self._batches: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._over = False
        self._telling = new_lock()
        self._session: Any = process.host.open()
        self._handled = 0
        threading.Thread(target=self._work, name=f"task {name}", daemon=True).start()

    def send(self, batch: Message) -> None:
        """Puts a batch into the thread's queue."""
        if not self._over and not self._process.is_cut:
            self._batches.put(batch)

    def ping(self) -> None:
        """Notifies the listener of a sign of life, unless the task is stopped or cut off."""
        if not self._over and not self._process.silent:
            self._listener.alive()

    def urge(self, request: Message) -> None:
        """Makes the task answer on another thread, as soon as it is not stopped."""
        if not self._over and not self._process.is_cut:
            if self._process.stopped:
                threading.Thread(target=self._serve_late, args=(request,), daemon=True).start()
            else:
                self._process.host.serve(request)

    def _serve_late(self, request: Message) -> None:
        self._wait(0.0)
        self._process.host.serve(request)

    def close(self) -> None:
        """Ends the thread."""
        self._over = True
        self._batches.put(None)
        self._session.close()

    def break_off(self, text: str) -> None:
        """Closes the connection from the other side."""
        if not self._over:
            self.close()
            with self._telling:
                self._listener.lost(UnavailableError(text))

    def _work(self) -> None:
        while True:
            batch = self._batches.get()
            if batch is None or self._over:
                return
            for _ in range(self._copies(self._there)):
                self._wait(self._there.delay())
                try:
                    answer = self._session.handle(batch)
                except BaseException as error:
                    self.break_off(f"its thread ended with {type(error).__name__}: {error}")
                    raise
                for _ in range(self._copies(self._back)):
                    self._wait(self._back.delay())
                    with self._telling:
                        if not self._over and not self._process.is_cut:
                            self._listener.answered(answer)

    def _copies(self, plan: Any) -> int:
        """Returns how often a message arrives; the first messages, which introduce both sides, always arrive once."""
        self._handled += 1
        return 1 if self._handled <= 2 else plan.copies()

    def _wait(self, seconds: float) -> None:
        """Waits for the delay of a message, and while the task is stopped."""
        if seconds:
            sleep(seconds)
        while self._process.stopped and not self._over:
            sleep(_STEP)


class _Peers:
    """Connections between tasks."""

    process: _Process

    def __init__(self, engine: InProcessEngine) -> None:
        self._engine = engine

    def fetch(self, location: str, request: Message, seconds: float, is_lost: Callable[[], bool]) -> Message:
        """Makes the other task answer, on its own thread."""
        source = self._engine.process_at(location)
        if source is None or source.killed.is_set():
            raise ConnectionError(f"no process answers at {location}")
        until = monotonic() + seconds
        while source.silent or self.process.is_cut:  # messages to a stopped process wait for it
            if source.killed.wait(_STEP) or is_lost():
                raise ConnectionError("it was killed, or its loss was reported")
            if monotonic() > until:
                raise TimeoutError("it is silent")
        answer = source.host.serve(request)
        if source.killed.is_set():
            raise ConnectionError("it closed the connection before it answered")
        return answer
