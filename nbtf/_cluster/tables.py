"""A task's tensors for one controller, by number, with failures in place of missing ones."""

from __future__ import annotations

from threading import Condition  # noqa: TID251  # built on a lock from `_locks`
from time import monotonic
from typing import NamedTuple

from nbtf import errors
from nbtf._locks import new_lock
from nbtf._runtime.execute import FAILURES, is_of_cluster
from nbtf._runtime.tensor import Tensor
from nbtf.errors import (
    AbortedError,
    CancelledError,
    InternalError,
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    UnavailableError,
)


class Failure(NamedTuple):
    """Why a tensor is missing: class and text of an error, and the op that failed first, with its number.

    `of_cluster` is true if the failure began in the cluster, whose message names the task, and not in a kernel.
    """

    error: str
    message: str
    op: str = ""
    number: int = -1
    device: int = 0
    site: str = ""
    of_cluster: bool = False

    @property
    def is_dropped(self) -> bool:
        """Whether the program was interrupted before the task started the op."""
        return self.of_cluster and self.error == CancelledError.__name__

    @property
    def follows_loss(self) -> bool:
        """Whether an input was lost with another task."""
        return self.of_cluster and self.error in (UnavailableError.__name__, AbortedError.__name__)


def failure_of(error: Exception) -> Failure:
    """Returns an error as plain data, with a class from `tf.errors`."""
    if isinstance(error, OpError):
        error_class = next(each for each in type(error).__mro__ if getattr(errors, each.__name__, None) is each)
        return Failure(error_class.__name__, error.message, of_cluster=is_of_cluster(error))
    if isinstance(error, MemoryError):
        return Failure(ResourceExhaustedError.__name__, str(error) or "this machine has no memory left")
    if isinstance(error, FAILURES):
        return Failure(InvalidArgumentError.__name__, str(error))
    return Failure(InternalError.__name__, f"{type(error).__name__}: {error}")


def error_of(failure: Failure, text: str) -> OpError:
    """Returns the error as an exception, with a text around its message."""
    error_class: type[OpError] = getattr(errors, failure.error)
    return error_class(None, None, text)


class Table:
    """The tensors of one session. Its own thread fills it; threads that serve other tasks wait for a number."""

    def __init__(self) -> None:
        """Starts empty."""
        self._values: dict[int, Tensor | Failure] = {}
        self._changed = Condition(new_lock())
        self._next = 0
        self._closed = False

    def __len__(self) -> int:
        """Returns the number of entries."""
        return len(self._values)

    def tensors(self) -> list[tuple[int, Tensor]]:
        """Returns all tensors with their numbers."""
        return [(number, value) for number, value in list(self._values.items()) if isinstance(value, Tensor)]

    def set(self, number: int, value: Tensor | Failure) -> None:
        """Stores a tensor or a failure, and wakes the threads that wait for it."""
        with self._changed:
            if not self._closed:
                self._values[number] = value
            self._next = max(self._next, number + 1)
            self._changed.notify_all()

    def get(self, number: int) -> Tensor | Failure:
        """Returns the entry of a number."""
        value = self._values.get(number)
        if value is None:
            return Failure(InternalError.__name__, f"No tensor has the number {number}.", of_cluster=True)
        return value

    def wait(self, number: int, seconds: float) -> Tensor | Failure | None:
        """Returns the entry of a number, or None if it is missing after `seconds`."""
        until = monotonic() + seconds
        with self._changed:
            while number not in self._values and number >= self._next and not self._closed:
                left = until - monotonic()
                if left <= 0 or not self._changed.wait(left):
                    break
            value = self._values.get(number)
        if value is None and (number < self._next or self._closed):
            return Failure(AbortedError.__name__, "The tensor was freed.", of_cluster=True)
        return value

    def drop(self, number: int) -> None:
        """Removes an entry."""
        with self._changed:
            self._values.pop(number, None)

    def close(self) -> None:
        """Forgets all."""
        with self._changed:
            self._closed = True
            values, self._values = self._values, {}
            self._changed.notify_all()
        values.clear()
