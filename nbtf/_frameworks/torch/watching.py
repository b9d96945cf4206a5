"""Records the ops of PyTorch for a while."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, cast

from nbtf._frameworks.base import Listening, cautious
from nbtf._frameworks.torch.card_memory import CardMemory
from nbtf._frameworks.torch.compiled import tell_of_compiled_calls
from nbtf._frameworks.torch.dispatch import RECORDING, Hearing
from nbtf._frameworks.torch.hearing import (
    begin_hearing,
    can_note,
    end_hearing,
    hear_whole_thread,
    stay_heard,
)
from nbtf._frameworks.torch.thread_observer import hearing_of_thread


class TorchListening(Listening):
    """Records ops on this thread, on threads that start meanwhile, and in the backward passes that they start."""

    def __init__(self, torch: Any) -> None:
        """Stores PyTorch's module."""
        self._torch = torch
        self._own: Hearing | None = None
        self._undo: list[Callable[[], object]] = []

    def start(self) -> None:
        """Starts recording.

        Raises:
          RuntimeError: if this release of PyTorch does not expose what a record needs.
        """
        if not can_note(self._torch):
            version = getattr(self._torch, "__version__", "?")
            raise RuntimeError(f"PyTorch {version} cannot be watched: it does not expose the running node of autograd.")
        _stop_in_children()
        hearing = self._own = begin_hearing(self._torch)
        self._undo.append(lambda: end_hearing(self._torch, hearing))
        RECORDING.wanted += 1
        self._undo.append(_want_no_longer)
        if RECORDING.wanted == 1:
            RECORDING.hooks = [*_tell_of_modules(self._torch), tell_of_compiled_calls(self._torch)]
            RECORDING.begin_card = CardMemory(self._torch).start
            hearing.forget_interrupted()

    def join(self) -> None:
        """Records this thread until it ends."""
        self._join()

    @cautious(lambda: None)
    def _join(self) -> None:
        hear_whole_thread(self._torch)

    def renew(self) -> None:
        """Enters the mode again if an interrupt has removed it, and discards what the interrupt has left behind."""
        if self._own is not None and self._own is hearing_of_thread(self._torch):
            stay_heard(self._torch, self._own)

    def stop(self) -> None:
        """Stops recording, in reverse order."""
        while self._undo:
            self._undo.pop()()


def _want_no_longer() -> None:
    RECORDING.wanted -= 1
    if not RECORDING.wanted:
        RECORDING.begin_card = None
    while RECORDING.hooks and not RECORDING.wanted:
        RECORDING.hooks.pop()()


@cache
def _stop_in_children() -> None:
    """Stops recording in forked processes, such as those of a DataLoader, whose records could not be read."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: setattr(RECORDING, "wanted", 0))


def _tell_of_modules(torch: Any) -> list[Callable[[], object]]:
    """Registers hooks that notify a thread's observer of the running modules; returns functions that remove them."""
    hooks, is_compiling = torch.nn.modules.module, torch.compiler.is_compiling

    def begin(module: Any, inputs: Any) -> None:
        if not is_compiling():
            hearing = hearing_of_thread(torch)
            if hearing is not None:
                hearing.modules.begin(module)

    def end(module: Any, inputs: Any, outputs: Any) -> None:
        if not is_compiling():
            hearing = hearing_of_thread(torch)
            if hearing is not None:
                hearing.modules.end(module)

    return [
        hooks.register_module_forward_pre_hook(begin).remove,
        hooks.register_module_forward_hook(end, always_call=True).remove,
        _without_warning(),
    ]


def _without_warning() -> Callable[[], object]:
    """Suppresses PyTorch's warning about these hooks, which do nothing during compilation."""
    warnings.filterwarnings("ignore", r"Using `torch\.compile\(module\)` when there are global hooks", UserWarning)
    own_filter = warnings.filters[0]

    def undo() -> None:
        with suppress(ValueError):  # it started inside `warnings.catch_warnings`, which has ended
            cast("list[Any]", warnings.filters).remove(own_filter)

    return undo
