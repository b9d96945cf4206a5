"""Records each call of a function compiled by PyTorch as one op, because the compiler generated its contents."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter, time
from typing import Any, NamedTuple

from nbtf._frameworks.importing import on_import
from nbtf._frameworks.torch.thread_observer import hearing_of_thread
from nbtf._record.rows import next_number

_MODULE = "torch._dynamo.eval_frame"
_CALL = "compile_wrapper"
"""The function of that module that surrounds each call of a compiled function, in PyTorch 2.1 and later."""


class Region(NamedTuple):
    """A running call: the frame around it, and its state at the start."""

    frame: Any
    first: int
    began_at: float
    started: float
    following: int
    """The number that the next node of autograd's graph would have had."""


def tell_of_compiled_calls(torch: Any) -> Callable[[], object]:
    """Records each call of a compiled function as one op from now on, or from the import of the compiler on.

    Args:
      torch: PyTorch's module.

    Returns:
      A function that stops this.
    """
    if _MODULE in sys.modules:
        return _replace(torch, sys.modules[_MODULE])
    undo: list[Callable[[], object]] = []
    begin, call_off = on_import(_MODULE, lambda: undo.append(_replace(torch, sys.modules[_MODULE])))
    undo.append(call_off)
    begin()

    def end() -> None:
        while undo:
            undo.pop()()

    return end


def _replace(torch: Any, evaluation: Any) -> Callable[[], object]:
    """Wraps the compiler's own switches, which run when a call starts and ends."""
    begin_compiled = getattr(evaluation, "_callback_from_stance", None)
    switch = getattr(evaluation, "_maybe_set_eval_frame", None)
    if begin_compiled is None or switch is None:
        return lambda: None

    def callback(*args: Any) -> Any:
        frame: Any = sys._getframe(1)
        if frame.f_code.co_name == _CALL:
            _begin(torch, frame)
        return begin_compiled(*args)

    def switch_frame(*args: Any) -> Any:
        frame: Any = sys._getframe(1)
        if frame.f_code.co_name == _CALL:
            _end(torch, frame)
        return switch(*args)  # must be the last call here, because any code after it would be compiled

    evaluation._callback_from_stance, evaluation._maybe_set_eval_frame = callback, switch_frame

    def undo() -> None:
        if evaluation._callback_from_stance is callback:
            evaluation._callback_from_stance = begin_compiled
        if evaluation._maybe_set_eval_frame is switch_frame:
            evaluation._maybe_set_eval_frame = switch

    return undo


def _begin(torch: Any, frame: Any) -> None:
    hearing = hearing_of_thread(torch)
    if hearing is not None and not hearing.regions:
        following = torch.autograd._get_sequence_nr()
        hearing.regions.append(Region(frame, next_number(), time(), perf_counter(), following))
        hearing.is_entering = True


def _end(torch: Any, frame: Any) -> None:
    """Records that a call starts, and later that it has ended."""
    hearing = hearing_of_thread(torch)
    if hearing is None or not hearing.regions or hearing.regions[-1].frame is not frame:
        return
    if hearing.is_entering:
        hearing.is_entering = False
        return
    region = hearing.regions.pop()
    with suppress(Exception):  # an error here must not reach the user's program
        hearing.note_region(region)
