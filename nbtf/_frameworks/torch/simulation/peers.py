"""Which of the processes that run a distributed program have ended? Errors of process groups name them.

Each process holds a listening socket, which the operating system closes when the process ends, however it ends. The
addresses are exchanged through the store of the process group.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from inspect import signature
from time import monotonic, sleep
from typing import Any

from nbtf._frameworks.torch.simulation.replacing import Replacements

_HOST = "127.0.0.1"
_PATIENCE = 1.0
"""Seconds after which a process that still answers is alive: connections of an ending process close one by one."""
_PAUSE = 0.02
_ANSWER = 0.5
"""Seconds within which the operating system of this computer accepts or refuses a connection."""
_NEW_GROUP = "_new_process_group_helper"


class Peers:
    """The processes of the default process group."""

    def __init__(self) -> None:
        """Starts without other processes."""
        self._listener: socket.socket | None = None
        self._addresses: Sequence[tuple[str, int]] = ()
        self._rank = 0
        self._error: str | None = None

    def keep_error(self, error: BaseException) -> None:
        """Keeps the error of an operation, because some works end without raising it."""
        self._error = str(error)

    def raise_error(self) -> None:
        """Raises the error that was kept, if there is one.

        Raises:
          RuntimeError: if an operation has failed since the last call.
        """
        if self._error is not None:
            text, self._error = self._error, None
            raise RuntimeError(text)

    def install(self, distributed: Any, replacements: Replacements) -> None:
        """Exchanges addresses whenever a default process group is created.

        Args:
          distributed: the module `torch.distributed.distributed_c10d`.
          replacements: records the original attributes for removal.
        """
        create: Callable[..., Any] = getattr(distributed, _NEW_GROUP)
        parameters = signature(create)

        def create_and_meet(*args: Any, **kwargs: Any) -> Any:
            arguments = parameters.bind(*args, **kwargs).arguments
            if arguments["global_ranks_in_group"]:  # a part of the default group, whose processes have met
                return create(*args, **kwargs)
            self._error = None
            rank, size = arguments["group_rank"], arguments["group_size"]
            store = distributed.PrefixStore(f"nbtf/{arguments['group_name']}", arguments["store"])
            store.set(str(rank), self._own_address())
            result = create(*args, **kwargs)  # returns when all processes have come so far
            self._rank = rank
            self._addresses = [_parsed(store.get(str(peer))) for peer in range(size)]
            return result

        wait: Callable[..., Any] = distributed.Work.wait

        def wait_and_raise(work: Any, *args: Any, **kwargs: Any) -> Any:
            """Waits until the operation has ended, and raises its error."""
            result = wait(work, *args, **kwargs)
            self.raise_error()
            return result

        replacements.set(distributed, _NEW_GROUP, create_and_meet)
        replacements.set(distributed.Work, "wait", wait_and_raise)

    def lost(self) -> str:
        """Returns a sentence about the processes that have ended; an empty string if there are none."""
        end = monotonic() + _PATIENCE
        while True:
            ranks = [str(rank) for rank in range(len(self._addresses)) if rank != self._rank and self._has_ended(rank)]
            if ranks:
                if len(ranks) == 1:
                    return f"the process of rank {ranks[0]} has ended."
                return f"the processes of ranks {', '.join(ranks)} have ended."
            if monotonic() > end:
                return ""
            sleep(_PAUSE)

    def _has_ended(self, rank: int) -> bool:
        """Returns whether the operating system refuses connections to a process of this computer."""
        name, port = self._addresses[rank]
        if name != socket.gethostname():
            return False
        try:
            socket.create_connection((_HOST, port), _ANSWER).close()
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
        return False

    def _own_address(self) -> str:
        if self._listener is None:
            self._listener = socket.create_server((_HOST, 0))
            if hasattr(os, "register_at_fork"):  # a child would keep the socket open after this process has ended
                os.register_at_fork(after_in_child=self._close)
        return f"{socket.gethostname()}:{self._listener.getsockname()[1]}"

    def _close(self) -> None:
        if self._listener is not None:
            self._listener.close()
        self._listener, self._addresses = None, ()


def _parsed(address: bytes) -> tuple[str, int]:
    name, _, port = address.decode().rpartition(":")
    return name, int(port)
