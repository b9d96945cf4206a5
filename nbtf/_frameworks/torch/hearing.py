"""Starts and stops the observers of PyTorch ops on each thread."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any
from weakref import WeakSet

from nbtf._frameworks.torch.dispatch import Hearing
from nbtf._frameworks.torch.thread_observer import hearing_of_thread, set_hearing

OF_THREADS: WeakSet[Hearing] = WeakSet()
"""The observers of threads that started in a block. Some threads continue after it and count for later blocks."""


def can_note(torch: Any) -> bool:
    """Returns whether this release of PyTorch exposes what a record needs."""
    internals, autograd = getattr(torch, "_C", None), getattr(torch, "autograd", None)
    return (
        hasattr(internals, "_current_autograd_node")
        and hasattr(autograd, "_get_sequence_nr")
        and hasattr(torch, "get_default_device")
    )


@cache
def _mode_class(base: type[Any]) -> Callable[[Any, bool], Hearing]:
    """Returns the class of the modes, which is created here because its base class is PyTorch's."""
    return type("HearingMode", (Hearing, base), {})


def begin_hearing(torch: Any) -> Hearing:
    """Starts the observer of this thread, shared by all callers; each of them must end it."""
    modes = torch.utils._python_dispatch
    hearing = hearing_of_thread(torch)
    if hearing is None or hearing.torch is not torch:
        hearing = _mode_class(modes.TorchDispatchMode)(torch, can_note(torch))
        set_hearing(torch, hearing)
    hearing.users += 1
    _enter(modes, hearing)
    return hearing


def stay_heard(torch: Any, hearing: Hearing) -> None:
    """Continues after an interrupt, which may have removed the mode and left modules open."""
    _enter(torch.utils._python_dispatch, hearing)
    hearing.forget_interrupted()


def _enter(modes: Any, hearing: Hearing) -> None:
    if hearing not in _stack(modes):
        mode: Any = hearing
        mode.__enter__()


def hear_whole_thread(torch: Any) -> Hearing:
    """Observes this thread, which has just started, until it ends."""
    hearing = hearing_of_thread(torch) or begin_hearing(torch)
    OF_THREADS.add(hearing)
    return hearing


def end_hearing(torch: Any, hearing: Hearing) -> None:
    """Ends one use of the observer on this thread; modes that the user entered since then stay."""
    hearing.users -= 1
    if not hearing.users:
        hearing.forget_interrupted()
    modes = torch.utils._python_dispatch
    stack = _stack(modes)
    if hearing.users or hearing not in stack:
        return  # another caller uses it, or it is on the stack of another thread
    entered_since = stack[stack.index(hearing) + 1 :]
    for _ in entered_since:
        modes._pop_mode()
    mode: Any = hearing
    mode.__exit__(None, None, None)
    for each in entered_since:
        modes._push_mode(each)


def is_heard(torch: Any, hearing: Hearing) -> bool:
    """Returns whether the observer is still active on this thread; an interrupt may have removed it."""
    return hearing in _stack(torch.utils._python_dispatch)


def _stack(modes: Any) -> list[Any]:
    return [mode for mode in modes._get_current_dispatch_mode_stack() if getattr(mode, "_mode_key", None) is None]
