"""The observer of PyTorch ops on the current thread, if the thread has one."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbtf._frameworks.torch.dispatch import Hearing


class _Thread(threading.local):
    """What is known of one thread."""

    def __init__(self) -> None:
        """Starts without observers."""
        self.hearings: dict[int, Hearing] = {}
        """By the identity of the PyTorch that they observe."""


_THREAD = _Thread()


def hearing_of_thread(torch: Any) -> Hearing | None:
    """Returns the observer of this thread, if it has one."""
    return _THREAD.hearings.get(id(torch))


def set_hearing(torch: Any, hearing: Hearing) -> None:
    """Makes an observer that of this thread."""
    _THREAD.hearings[id(torch)] = hearing
