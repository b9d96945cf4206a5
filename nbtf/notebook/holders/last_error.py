"""Finds the objects that the last uncaught error keeps alive, and forgets the error.

An error has a traceback with the frames of all functions that it passed through, and those have their local variables.
Python and IPython keep the last error for post-mortem debugging.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any

from nbtf.notebook.holders.introspection import attributes_of, class_dict, running_frames

_NAMES = ("last_type", "last_value", "last_traceback", "last_exc")
"""Where Python keeps it, in `sys`."""

_SUSPENDING = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def references(shell: Any) -> list[tuple[str, object]]:
    """Returns every reference to the last error that Python and IPython keep, with its place."""
    errors: list[tuple[str, object]] = [(name, getattr(sys, name)) for name in _NAMES if hasattr(sys, name)]
    last = shell.last_execution_result
    for names in (*_handlers(shell), {} if last is None else attributes_of(last) or {}):
        errors += [(name, value) for name, value in names.items() if _tells_of_an_error(value)]
    return errors


def frames(shell: Any) -> list[FrameType]:
    """Returns the frames whose variables are released when the last error is forgotten.

    Frames that are still running are not included, nor are generators' frames: clearing a suspended one would end it.
    """
    running = {id(frame) for frame in running_frames()}
    by_id: dict[int, FrameType] = {}
    for traceback in _tracebacks(value for _, value in references(shell)):
        frame = traceback.tb_frame
        if not frame.f_code.co_flags & _SUSPENDING and id(frame) not in running:
            by_id[id(frame)] = frame
    return list(by_id.values())


def forget(shell: Any) -> bool:
    """Forgets the last error, so that `%tb` and `%debug` no longer find it. Returns whether there was one."""
    was_there = any(value is not None for _, value in references(shell))
    for frame in frames(shell):
        with suppress(RuntimeError):  # the frame may be running after all
            frame.clear()
        if sys.version_info < (3, 13):
            _ = frame.f_locals  # refreshes IPython's view of the variables, which are now gone
    for name in _NAMES:
        if hasattr(sys, name):
            delattr(sys, name)
    for handler in _handlers(shell):
        for name in [name for name, value in handler.items() if _tells_of_an_error(value)]:
            handler[name] = None
    last = shell.last_execution_result
    if last is not None and not last.success:  # the user may hold this object, so it is not changed
        shell.last_execution_result = type(last)(last.info)
    return was_there


def _handlers(shell: Any) -> Iterator[dict[str, Any]]:
    """Yields the attributes of IPython's objects that show errors and keep the last one."""
    for owner in (shell.InteractiveTB, shell.SyntaxTB):
        names = attributes_of(owner)
        if names is not None:
            yield names


def _tells_of_an_error(value: object) -> bool:
    return issubclass(type(value), BaseException | TracebackType)


def _tracebacks(errors: Iterable[object]) -> Iterator[TracebackType]:
    """Yields all tracebacks of errors, of their causes, and of errors that were being handled."""
    waiting, seen_ids = list(errors), set[int]()
    while waiting:
        error = waiting.pop()
        if error is None or id(error) in seen_ids:
            continue
        seen_ids.add(id(error))
        if type(error) is TracebackType:
            yield error
            waiting.append(error.tb_next)
        elif issubclass(type(error), BaseException):
            waiting += [_of_errors[name].__get__(error) for name in ("__traceback__", "__cause__", "__context__")]
            if issubclass(type(error), BaseExceptionGroup):
                waiting += class_dict(BaseExceptionGroup)["exceptions"].__get__(error)


_of_errors = class_dict(BaseException)
