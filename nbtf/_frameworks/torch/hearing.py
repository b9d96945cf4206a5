"""Who hears the ops of a thread of PyTorch, from when to when?"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Any
from weakref import WeakSet

from nbtf._frameworks.torch.dispatch import Hearing

OF_THREADS: WeakSet[Hearing] = WeakSet()
"""What hears threads that began in a block. Some threads go on after it, and are then heard for the next blocks."""

_THREAD = threading.local()


def can_note(torch: Any) -> bool:
    """Tells whether this release of PyTorch tells what a note needs."""
    internals, autograd = getattr(torch, "_C", None), getattr(torch, "autograd", None)
    return (
        hasattr(internals, "_current_autograd_node")
        and hasattr(autograd, "_get_sequence_nr")
        and hasattr(torch, "get_default_device")
    )


@cache
def _mode_class(base: type[Any]) -> Callable[[Any, bool], Hearing]:
    """Returns the class of the modes. It is made here: whoever has no PyTorch has no such class."""
    return type("HearingMode", (Hearing, base), {})


def hearing_of_thread(torch: Any) -> Hearing | None:
    """Returns what hears this thread, if anything does."""
    return _THREAD.__dict__.get(f"{id(torch)}")


def begin_hearing(torch: Any) -> Hearing:
    """Has this thread heard, once however many want it; each of them ends it."""
    modes = torch.utils._python_dispatch
    hearing = hearing_of_thread(torch)
    if hearing is None or hearing.torch is not torch:
        hearing = _mode_class(modes.TorchDispatchMode)(torch, can_note(torch))
        _THREAD.__dict__[f"{id(torch)}"] = hearing
    hearing.users += 1
    _enter(modes, hearing)
    return hearing


def stay_heard(torch: Any, hearing: Hearing) -> None:
    """Has this thread heard on after an interrupt, which may have taken away the mode, and left modules open."""
    _enter(torch.utils._python_dispatch, hearing)
    hearing.forget_interrupted()


def _enter(modes: Any, hearing: Hearing) -> None:
    if hearing not in _stack(modes):
        mode: Any = hearing
        mode.__enter__()


def hear_whole_thread(torch: Any) -> Hearing:
    """Has this thread, which has just begun, heard until it ends."""
    hearing = hearing_of_thread(torch) or begin_hearing(torch)
    OF_THREADS.add(hearing)
    return hearing


def end_hearing(torch: Any, hearing: Hearing) -> None:
    """Ends what was begun, on this thread; modes that the user has entered since, and not left, stay."""
    hearing.users -= 1
    if not hearing.users:
        hearing.forget_interrupted()
    modes = torch.utils._python_dispatch
    stack = _stack(modes)
    if hearing.users or hearing not in stack:
        return  # somebody else wants it, or it is on the stack of another thread
    entered_since = stack[stack.index(hearing) + 1 :]
    for _ in entered_since:
        modes._pop_mode()
    mode: Any = hearing
    mode.__exit__(None, None, None)
    for each in entered_since:
        modes._push_mode(each)


def is_heard(torch: Any, hearing: Hearing) -> bool:
    """Tells whether it still hears this thread: an interrupt may have taken it away."""
    return hearing in _stack(torch.utils._python_dispatch)


def _stack(modes: Any) -> list[Any]:
    return [mode for mode in modes._get_current_dispatch_mode_stack() if getattr(mode, "_mode_key", None) is None]
