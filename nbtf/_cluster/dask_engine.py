"""How does nbtf speak to Dask? The only file that imports `distributed`.

Tried with the releases 2024.8.0 and 2026.8.0.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, NamedTuple, TypeVar

import distributed
from distributed.comm.core import CommClosedError, FatalCommClosedError

from nbtf._cluster import courier
from nbtf.errors import OpError, UnauthenticatedError, UnavailableError

T = TypeVar("T")

_CLOSING = 2.0
"""Seconds that it may take to say goodbye to a scheduler."""

_LOOPBACK = ("127.", "localhost", "[::1]", "::1")


class Scheduler(NamedTuple):
    """Where a cluster's scheduler is, and by which certificates it is spoken to; these are never shown."""

    address: str
    security: Any

    def __repr__(self) -> str:
        """Returns the address alone."""
        return f"Scheduler({self.address!r})"


def find_scheduler(cluster: Any, allow_insecure: bool = False) -> Scheduler:
    """Returns the scheduler of a cluster.

    Args:
      cluster: an address, Dask's `Client`, or one of its clusters such as `LocalCluster`.
      allow_insecure: whether an address without TLS on another machine will do.

    Raises:
      TypeError: it is none of these.
      ValueError: an address that is not encrypted leads to another machine.
    """
    if isinstance(cluster, str):
        return Scheduler(_checked(cluster, allow_insecure), distributed.Security())  # of Dask's configuration
    if isinstance(cluster, distributed.Client):
        scheduler: Any = cluster.scheduler
        if scheduler is None:
            raise ValueError(f"This client is closed: {cluster!r}.")
        return Scheduler(str(scheduler.address), cluster.security)
    address = getattr(cluster, "scheduler_address", None)
    if not isinstance(address, str):
        raise TypeError(
            'Expected the address of a Dask scheduler such as "tls://10.0.0.1:8786", a distributed.Client, or a '
            f"cluster that has a scheduler_address; got {type(cluster).__name__}."
        )
    return Scheduler(address, getattr(cluster, "security", None) or distributed.Security())


def _checked(address: str, allow_insecure: bool) -> str:
    scheme, separator, location = address.partition("://")
    if not separator or not location:
        raise ValueError(f'The address of a scheduler is {address!r}; expected one such as "tls://10.0.0.1:8786".')
    if scheme != "tls" and not location.startswith(_LOOPBACK) and scheme != "inproc" and not allow_insecure:
        raise ValueError(
            f"{address} is not encrypted, and leads to another machine: who can listen there can run code here. Start "
            "the scheduler with TLS (https://distributed.dask.org/en/stable/tls.html), or say allow_insecure=True."
        )
    return address


def in_words(error: BaseException, address: str, timeout: float) -> OpError:
    """Returns the error of ours that says why a scheduler could not be spoken to."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, FatalCommClosedError):
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, TypeError):
        return UnauthenticatedError(
            f"The scheduler {address} expects certificates, and there are none here: pass the cluster or its client, "
            "or name them in Dask's configuration (distributed.comm.tls).",
        )
    if cause is not None:
        return UnauthenticatedError(f"The scheduler {address} refuses this certificate, or its own is not trusted.")
    if isinstance(error, CommClosedError):
        return UnauthenticatedError(
            f"The scheduler {address} closed the connection at once: it expects TLS, or another certificate."
        )
    return UnavailableError(f"No scheduler answers at {address} within {timeout:g} s.")


# A look at a cluster


class WorkerAnswer(NamedTuple):
    """A worker by name and address, and what it has said."""

    worker: str
    address: str
    facts: Mapping[str, Any]


def ask_workers(
    cluster: Any, version: str, packed: Callable[[], bytes], seconds: float, timeout: float, allow_insecure: bool
) -> list[WorkerAnswer]:
    """Returns what each worker of a cluster tells; why not, under `problem`.

    Args:
      cluster: for `find_scheduler`.
      version: of nbtf here.
      packed: returns nbtf for workers that have none.
      seconds: how long a worker may look for holders.
      timeout: how many seconds a worker may take to answer, and the scheduler as well.
      allow_insecure: for `find_scheduler`.

    Raises:
      UnavailableError: the scheduler does not answer.
      UnauthenticatedError: a certificate was refused.
    """
    scheduler = find_scheduler(cluster, allow_insecure)
    return _run_aside(lambda: _ask_workers(scheduler, version, packed, seconds, timeout))


def _run_aside(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Runs a coroutine in a loop of its own: that of a notebook's kernel runs already, on this thread."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(asyncio.run(work()))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="nbtf: asks a cluster", daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


async def _ask_workers(
    scheduler: Scheduler, version: str, packed: Callable[[], bytes], seconds: float, timeout: float
) -> list[WorkerAnswer]:
    address = scheduler.address
    client: Any = distributed.Client(
        address, security=scheduler.security, timeout=timeout, asynchronous=True, set_as_default=False
    )
    try:
        await client
        identity: Mapping[str, Any] = await asyncio.wait_for(client.scheduler.identity(), timeout)
        names = {each: str(facts.get("name", each)) for each, facts in identity["workers"].items()}
        tell = _by_value(courier, "tell")
        facts_by_address = await _ask(client, tell, list(names), (version, None, seconds), timeout)
        without = [each for each, answer in facts_by_address.items() if answer.get("needs")]
        if without:
            facts_by_address |= await _ask(client, tell, without, (version, packed(), seconds), timeout)
        return [WorkerAnswer(names[each], each, facts_by_address[each]) for each in names]
    except (OSError, TimeoutError, TypeError) as error:
        raise in_words(error, address, timeout) from error
    finally:
        await client.close(_CLOSING)


async def _ask(
    client: Any, tell: Callable[..., Any], workers: list[str], arguments: tuple[Any, ...], timeout: float
) -> dict[str, Mapping[str, Any]]:
    """Returns what each worker answers in time: one that is stopped, or cut off, keeps nobody waiting."""
    tasks = {each: asyncio.ensure_future(client.run(tell, *arguments, workers=[each])) for each in workers}
    if tasks:
        await asyncio.wait(tasks.values(), timeout=timeout)
    answers: dict[str, Mapping[str, Any]] = {}
    for each, task in tasks.items():
        if not task.done():
            task.cancel()
            answers[each] = {"problem": f"it has not answered within {timeout:g} s"}
        elif (error := task.exception()) is not None:
            answers[each] = {"problem": f"{type(error).__name__}: {error}"}
        else:
            answers[each] = task.result().get(each) or {"problem": "it left the cluster meanwhile"}
    return answers


def _by_value(module: Any, name: str) -> Callable[..., Any]:
    """Returns a function of a module that needs nothing but the standard library, to be sent as its code.

    Pickle sends the names of functions; of one whose module nobody can import, it sends the code.
    """
    namespace: dict[str, Any] = {"__name__": f"{module.__name__}_by_value"}
    exec(compile(inspect.getsource(module), f"<{module.__name__}>", "exec"), namespace)
    return namespace[name]
