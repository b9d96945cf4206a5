"""How are the scheduler and the workers of a Dask cluster asked? The only file that imports `distributed`.

Tried with the release 2026.8.0.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

import distributed
from distributed.comm.core import CommClosedError, FatalCommClosedError

from nbtf._cluster import courier
from nbtf._cluster.loop_thread import LoopThread
from nbtf.errors import (
    DeadlineExceededError,
    OpError,
    UnauthenticatedError,
    UnavailableError,
)

DASK: Any = distributed
"""The library, for where it says nothing of types, and for those who have it from here."""

_CLOSING = 2.0
"""Seconds that it may take to say goodbye to a scheduler."""

_KNOCK = 0.1
"""Seconds that a connection may take before somebody looks whether anyone is there."""

_LOOK_AGAIN = 0.2
"""Seconds after which the scheduler is asked whether those that have not answered are still there."""

_CALLS = "tf.runtime.look_at_cluster or tf.distribute.cluster_resolver.DaskClusterResolver"
_SAFE_SCHEMES = ("tls", "inproc")


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
      allow_insecure: whether an address without TLS is accepted.

    Raises:
      TypeError: it is none of these.
      ValueError: if an address without TLS is not allowed.
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


def new_credentials() -> dict[str, str]:
    """Returns certificates that only one cluster has."""
    security: Any = DASK.Security.temporary()
    values = {name: getattr(security, name) for name in security.__slots__ if name.startswith("tls_")}
    return {name: value for name, value in values.items() if isinstance(value, str)}


def scheduler_at(address: str, credentials: Mapping[str, str]) -> Scheduler:
    """Returns the scheduler of a cluster with certificates of its own."""
    return Scheduler(address, distributed.Security(require_encryption=True, **credentials))


def _checked(address: str, allow_insecure: bool) -> str:
    scheme, separator, location = address.partition("://")
    if not separator or not location:
        raise ValueError(f'The address of a scheduler is {address!r}; expected one such as "tls://10.0.0.1:8786".')
    if scheme not in _SAFE_SCHEMES and not allow_insecure:
        raise ValueError(
            f"The address {address!r} does not use TLS. Any program that listens there, even on this computer, "
            "can run code in this process. Expected an address that begins with tls://. Start the scheduler with TLS "
            "(https://distributed.dask.org/en/stable/tls.html), pass Dask's client or cluster, or, if you trust every "
            f"program at that address, pass allow_insecure=True to {_CALLS}."
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
    loop = LoopThread()
    try:
        return loop.run(_ask_workers(scheduler, version, packed, seconds, timeout))
    finally:
        loop.close()


async def _ask_workers(
    scheduler: Scheduler, version: str, packed: Callable[[], bytes], seconds: float, timeout: float
) -> list[WorkerAnswer]:
    async with client_of(scheduler, timeout) as (client, names):
        tell = _by_value(courier, "tell")
        facts = await ask_each(client, tell, dict.fromkeys(names, (version, None, seconds)), timeout)
        without = [address for address, answer in facts.items() if answer.get("needs")]
        if without:
            facts |= await ask_each(client, tell, dict.fromkeys(without, (version, packed(), seconds)), timeout)
    return [WorkerAnswer(name, address, facts[address]) for address, name in names.items()]


def wait_for_workers(scheduler: Scheduler, count: int, timeout: float) -> None:
    """Waits until a cluster has so many workers.

    Args:
      scheduler: of the cluster.
      count: of the workers.
      timeout: how many seconds they may take.

    Raises:
      DeadlineExceededError: they have not come.
    """
    client: Any = distributed.Client(scheduler.address, security=scheduler.security, set_as_default=False)
    try:
        client.wait_for_workers(count, timeout)
    except TimeoutError as error:
        came = len(client.scheduler_info()["workers"])
        raise DeadlineExceededError(
            f"{came} of {count} workers have come to {scheduler.address} within {timeout:g} s."
        ) from error
    finally:
        client.close()


@asynccontextmanager
async def client_of(scheduler: Scheduler, timeout: float) -> AsyncGenerator[tuple[Any, Mapping[str, str]]]:
    """Yields a client, which never is the user's, and the names of the workers by address."""
    client: Any = distributed.Client(
        scheduler.address, security=scheduler.security, timeout=timeout, asynchronous=True, set_as_default=False
    )
    try:
        await client
        identity: Mapping[str, Any] = await asyncio.wait_for(client.scheduler.identity(), timeout)
        yield client, {address: str(facts.get("name", address)) for address, facts in identity["workers"].items()}
    except (OSError, TimeoutError, TypeError) as error:
        raise in_words(error, scheduler.address, timeout) from error
    finally:
        await client.close(_CLOSING)


async def ask_each(
    client: Any, function: Callable[..., Any], arguments: Mapping[str, tuple[Any, ...]], timeout: float
) -> dict[str, Mapping[str, Any]]:
    """Returns what each worker answers in time: one that is stopped, or cut off, keeps nobody waiting.

    Args:
      client: speaks for us.
      function: is called on each worker.
      arguments: of the call, by the worker's address.
      timeout: in seconds.
    """
    tasks = {
        address: asyncio.ensure_future(client.run(function, *values, workers=[address]))
        for address, values in arguments.items()
    }
    gone = await _wait_for(client, tasks, timeout)
    answers: dict[str, Mapping[str, Any]] = {}
    for address, task in tasks.items():
        if not task.done():
            task.cancel()
            problem = "its process has ended" if address in gone else f"it has not answered within {timeout:g} s"
            answers[address] = {"problem": problem, "silent": True, "lost": address in gone}
        elif (error := task.exception()) is not None:
            is_lost = isinstance(error, OSError)
            answers[address] = {"problem": f"{type(error).__name__}: {error}", "silent": is_lost, "lost": is_lost}
        else:
            answers[address] = task.result().get(address) or {
                "problem": "it left the cluster meanwhile",
                "silent": True,
                "lost": True,
            }
    return answers


async def _wait_for(client: Any, tasks: Mapping[str, asyncio.Future[Any]], timeout: float) -> set[str]:
    """Waits for what workers were asked; returns those whose process ended meanwhile, of which the scheduler hears."""
    waiting: set[str] = set(tasks)
    gone: set[str] = set()
    with suppress(TimeoutError):  # a scheduler that is stopped does not answer either
        async with asyncio.timeout(timeout):
            while waiting:
                await asyncio.wait([tasks[address] for address in waiting], timeout=_LOOK_AGAIN)
                waiting = {address for address in waiting if not tasks[address].done()}
                if waiting:
                    present: Mapping[str, Any] = (await client.scheduler.identity())["workers"]
                    gone |= {address for address in waiting if address not in present}
                    waiting -= gone
    return gone


def _by_value(module: Any, name: str) -> Callable[..., Any]:
    """Returns a function of a module that needs nothing but the standard library, to be sent as its code.

    Pickle sends the names of functions; of one whose module nobody can import, it sends the code.
    """
    namespace: dict[str, Any] = {"__name__": f"{module.__name__}_by_value"}
    exec(compile(inspect.getsource(module), f"<{module.__name__}>", "exec"), namespace)
    return namespace[name]


async def connect_soon(address: str, connection_args: Mapping[str, Any], timeout: float) -> Any:
    """Returns a connection; soon the error that nobody listens there, which Dask itself tries for long.

    Raises:
      OSError: nobody listens there, or the certificate was refused.
      TimeoutError: it takes too long.
    """
    attempt = asyncio.ensure_future(DASK.core.connect(address, timeout=timeout, **connection_args))
    try:
        async with asyncio.timeout(timeout):
            while not (await asyncio.wait({attempt}, timeout=_KNOCK))[0]:
                await _knock(address)
            return attempt.result()
    finally:
        attempt.cancel()


async def _knock(address: str) -> None:
    """Raises an `OSError` where nobody listens at an address."""
    scheme, _, location = address.partition("://")
    if scheme in ("tcp", "tls"):
        host, _, port = location.rpartition(":")
        _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
        writer.close()
