"""The processes that `LocalCluster` starts: each runs a Dask scheduler or worker on this machine."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any

from nbtf._cluster.dask_workers import DASK
from nbtf._cluster.handshakes import limit_handshakes

_CLOSING = 1.0
"""Seconds that closing may take."""

_CHECK_PARENT = 1.0
"""Seconds between two checks whether the notebook's process is alive."""

_QUIET: Mapping[str, Any] = {
    "distributed.scheduler.http.routes": [],  # no dashboard, no metrics
    "distributed.worker.http.routes": [],
    "distributed.scheduler.work-stealing": False,
    "distributed.worker.memory.target": False,  # Dask must not spill tensors to disk
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
}


def serve(settings: Mapping[str, Any]) -> None:
    """Runs a scheduler or a worker until standard input closes or the notebook's process ends.

    Args:
      settings: `role`, `credentials`, and `parent` (process id of the notebook's process). A worker also has a `name`,
        and reads the `address` of the scheduler from the next line of standard input.
    """
    threading.Thread(target=_end_with, args=(settings["parent"],), daemon=True).start()
    answers = os.dup(1)
    os.dup2(2, 1)  # keeps standard output free for answers
    for name in ("distributed", "tornado", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    import_module("dask.config").set(_QUIET)
    security = DASK.Security(require_encryption=True, **settings["credentials"])
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(settings, security, answers))


async def _serve(settings: Mapping[str, Any], security: Any, answers: int) -> None:
    loop = asyncio.get_running_loop()
    listening: Mapping[str, Any] = {"security": security, "host": "127.0.0.1", "protocol": "tls://", "port": 0}
    local: Mapping[str, Any] = {"dashboard_address": "127.0.0.1:0", "dashboard": False}
    try:
        if settings["role"] == "scheduler":
            server: Any = await DASK.Scheduler(**listening, **local)
        else:
            line = await loop.run_in_executor(None, sys.stdin.readline)
            if not line:  # the notebook's process ended before the scheduler had an address
                return
            names: Mapping[str, Any] = {"name": settings["name"], "nthreads": 1, "memory_limit": 0}
            server = await DASK.Worker(json.loads(line)["address"], **names, **listening, **local)
    except Exception as error:
        _answer(answers, error=f"{type(error).__name__}: {error}")
        return
    limit_handshakes(server, lambda sentence: _answer(answers, warning=sentence))
    _answer(answers, address=server.address)
    closed = asyncio.ensure_future(_closed(server))
    threading.Thread(target=_read_on, args=(loop, closed), daemon=True).start()
    with suppress(asyncio.CancelledError):
        await closed
    with suppress(Exception):
        await asyncio.wait_for(server.close(), _CLOSING)
    os._exit(0)  # threads of sessions may work for long, and nothing needs their results


def _end_with(parent: int) -> None:
    """Ends this process when the notebook's process has ended.

    Standard input stays open if the notebook has forked a process that inherited its other end.
    """
    while os.getppid() == parent:
        time.sleep(_CHECK_PARENT)
    os._exit(0)


def _answer(descriptor: int, **fields: str) -> None:
    """Sends a line to the notebook's process."""
    with suppress(BrokenPipeError):  # that process has ended
        os.write(descriptor, f"{json.dumps(fields)}\n".encode())


async def _closed(server: Any) -> None:
    await server.finished()


def _read_on(loop: asyncio.AbstractEventLoop, closed: asyncio.Future[None]) -> None:
    """Waits until standard input closes: when the cluster is closed, or when the notebook's process ends."""
    sys.stdin.read()
    loop.call_soon_threadsafe(closed.cancel)
