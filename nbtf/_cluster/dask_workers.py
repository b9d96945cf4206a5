"""Requests to the scheduler and the workers of a Dask cluster. Only this file imports `distributed`.

Tested with release 2026.8.0.
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
"""The library, for its untyped parts and for modules that get it from here."""

_CLOSING = 2.0
"""Seconds that closing a connection to a scheduler may take."""

_KNOCK = 0.1
"""Seconds without a connection after which the address is probed."""

_LOOK_AGAIN = 0.2
"""Seconds after which the scheduler is asked whether silent workers still exist."""

_CALLS = "tf.runtime.look_at_cluster or tf.distribute.cluster_resolver.DaskClusterResolver"
_SAFE_SCHEMES = ("tls", "inproc")


class Scheduler(NamedTuple):
    """The address of a cluster's scheduler, and the certificates for it, which are never shown."""

    address: str
    security: Any

    def __repr__(self) -> str:
        """Returns only the address."""
        return f"Scheduler({self.address!r})"


def find_scheduler(cluster: Any, allow_insecure: bool = False) -> Scheduler:
    """Returns the scheduler of a cluster.

    Args:
      cluster: address, Dask `Client`, or Dask cluster such as `LocalCluster`.
      allow_insecure: whether an address without TLS is accepted; False by default.

    Raises:
      TypeError: if `cluster` is none of these.
      ValueError: if an address without TLS is not allowed.
    """
    if isinstance(cluster, str):
        return Scheduler(_checked(cluster, allow_insecure), distributed.Security())  # the configured one
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
    """Returns new certificates for one cluster."""
    security: Any = DASK.Security.temporary()
    values = {name: getattr(security, name) for name in security.__slots__ if name.startswith("tls_")}
    return {name: value for name, value in values.items() if isinstance(value, str)}


def scheduler_at(address: str, credentials: Mapping[str, str]) -> Scheduler:
    """Returns the scheduler of a cluster with its own certificates."""
    return Scheduler(address, distributed.Security(require_encryption=True, **credentials))


def _checked(address: str, allow_insecure: bool) -> str:
    scheme, separator, location = address.partition("://")
    if not separator or not location:
        raise ValueError(f'The address of a scheduler is {address!r}; expected one such as "tls://10.0.0.1:8786".')
    if scheme not in _SAFE_SCHEMES and not allow_insecure:
        raise ValueError(
            f"The address {address!r} does not use TLS. Any program that listens there, even on this machine, "
            "can run code in this process. Expected an address that begins with tls://. Start the scheduler with TLS "
            "(https://distributed.dask.org/en/stable/tls.html), pass Dask's client or cluster, or, if you trust every "
            f"program at that address, pass allow_insecure=True to {_CALLS}."
        )
    return address


def in_words(error: BaseException, address: str, timeout: float) -> OpError:
    """Returns nbtf's error for a scheduler that could not be contacted."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, FatalCommClosedError):
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, TypeError):
        return UnauthenticatedError(
            f"The scheduler {address} expects certificates, and none are configured: pass the cluster or its client, "
            "or name them in Dask's configuration (distributed.comm.tls).",
        )
    if cause is not None:
        return UnauthenticatedError(f"The scheduler {address} rejects this certificate, or its own is not trusted.")
    if isinstance(error, CommClosedError):
        return UnauthenticatedError(
            f"The scheduler {address} closed the connection at once: it expects TLS, or another certificate."
        )
    return UnavailableError(f"No scheduler answered at {address} within {timeout:g} s.")

    # Inspecting a cluster


class WorkerAnswer(NamedTuple):
    """The name and address of a worker, and its answer."""

    worker: str
    address: str
    facts: Mapping[str, Any]


def ask_workers(
    cluster: Any, version: str, packed: Callable[[], bytes], seconds: float, timeout: float, allow_insecure: bool
) -> list[WorkerAnswer]:
    """Returns each worker's report, or under `problem` the reason why it sent none.

    Args:
      cluster: see `find_scheduler`.
      version: version of nbtf in this process.
      packed: function that returns nbtf's modules for workers without nbtf.
      seconds: longest search for holders on a worker, in seconds.
      timeout: seconds that the scheduler and each worker may take to answer.
      allow_insecure: see `find_scheduler`.

    Raises:
      UnavailableError: if the scheduler does not answer.
      UnauthenticatedError: if a certificate was rejected.
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
    """Waits until a cluster has a number of workers.

    Args:
      scheduler: scheduler of the cluster.
      count: number of workers.
      timeout: longest wait, in seconds.

    Raises:
      DeadlineExceededError: if fewer workers have connected by then.
    """
    client: Any = distributed.Client(scheduler.address, security=scheduler.security, set_as_default=False)
    try:
        client.wait_for_workers(count, timeout)
    except TimeoutError as error:
        came = len(client.scheduler_info()["workers"])
        raise DeadlineExceededError(
            f"{came} of {count} workers connected to {scheduler.address} within {timeout:g} s."
        ) from error
    finally:
        client.close()


@asynccontextmanager
async def client_of(scheduler: Scheduler, timeout: float) -> AsyncGenerator[tuple[Any, Mapping[str, str]]]:
    """Yields a new client, never the user's, and the names of the workers by address."""
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
    """Returns each worker's answer; a stopped or disconnected worker delays no other.

    Args:
      client: client that sends the requests.
      function: function to call on each worker.
      arguments: arguments of the call, by the worker's address.
      timeout: longest wait, in seconds.
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
            problem = "its process has ended" if address in gone else f"it did not answer within {timeout:g} s"
            answers[address] = {"problem": problem, "silent": True, "lost": address in gone}
        elif (error := task.exception()) is not None:
            is_lost = isinstance(error, OSError)
            answers[address] = {"problem": f"{type(error).__name__}: {error}", "silent": is_lost, "lost": is_lost}
        else:
            answers[address] = task.result().get(address) or {
                "problem": "it left the cluster during the request",
                "silent": True,
                "lost": True,
            }
    return answers


async def _wait_for(client: Any, tasks: Mapping[str, asyncio.Future[Any]], timeout: float) -> set[str]:
    """Waits for the workers' answers; returns the workers whose process ended meanwhile, as the scheduler reports."""
    waiting: set[str] = set(tasks)
    gone: set[str] = set()
    with suppress(TimeoutError):  # a stopped scheduler does not answer either
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
    """Returns a function of a module that needs only the standard library, in a form that is sent as code.

    Pickle sends functions by name, except for a function of a module that cannot be imported, which it sends as code.
    """
    namespace: dict[str, Any] = {"__name__": f"{module.__name__}_by_value"}
    exec(compile(inspect.getsource(module), f"<{module.__name__}>", "exec"), namespace)
    return namespace[name]


async def connect_soon(address: str, connection_args: Mapping[str, Any], timeout: float) -> Any:
    """Returns a connection, or raises soon if no program listens there; Dask itself retries for long.

    Raises:
      OSError: if no program listens there, or a certificate was rejected.
      TimeoutError: if it takes too long.
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
    """Raises an `OSError` if no program listens at an address."""
    scheme, _, location = address.partition("://")
    if scheme in ("tcp", "tls"):
        host, _, port = location.rpartition(":")
        _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
        writer.close()
