"""The observer of PyTorch ops on the current thread, if the thread has one."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbtf._frameworks.torch.dispatch import Hearing

_THREAD = threading.local()


def hearing_of_thread(torch: Any) -> Hearing | None:
    """Returns the observer of this thread, if it has one."""
    return _THREAD.__dict__.get(f"{id(torch)}")


def set_hearing(torch: Any, hearing: Hearing) -> None:
    """Makes an observer that of this thread."""
    _THREAD.__dict__[f"{id(torch)}"] = hearing
