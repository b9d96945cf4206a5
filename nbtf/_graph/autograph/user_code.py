"""Adds the user's lines of code to errors that occur while a function is traced."""

from __future__ import annotations

import functools
import linecache
from collections.abc import Callable
from types import TracebackType
from typing import Any

from nbtf._devices.sites import is_ours
from nbtf.errors import OpError

_TEXT = "in user code:\n\n{lines}\n"


def in_user_code(converted: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a converted function whose errors name the lines of the user's code."""

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return converted(*args, **kwargs)
        except Exception as error:
            explained = explain(error)
            if explained is None:
                raise
            raise explained from None

    return call


def explain(error: Exception) -> Exception | None:
    """Returns an error of the same class with the user's lines in its text; None if they are already there."""
    if hasattr(error, "ag_error_metadata") or str(error).startswith("in user code:"):
        return None
    frames = _user_frames(error.__traceback__)
    text = f"{type(error).__name__}: {error}"
    lines = [*frames, "", *[f"    {line}" for line in text.splitlines()]]
    return _with_text(error, _TEXT.format(lines="\n".join(lines)))


def _user_frames(step: TracebackType | None) -> list[str]:
    """Returns the user's lines; the lines of a block are attributed to the function that contains it."""
    frames: list[tuple[str, str]] = []
    while step is not None:
        frame, code = step.tb_frame, step.tb_frame.f_code
        if not is_ours(frame):
            name = frames.pop()[0] if code.co_name.startswith("ag__") and frames else code.co_name
            source = linecache.getline(code.co_filename, step.tb_lineno, frame.f_globals).strip()
            frames.append(
                (name, f'    File "{code.co_filename}", line {step.tb_lineno}, in {name}  *\n        {source}')
            )
        step = step.tb_next
    return [text for _, text in frames]


def _with_text(error: Exception, text: str) -> Exception | None:
    error_class = type(error)
    try:
        explained = error_class(error.node_def, error.op, text) if isinstance(error, OpError) else error_class(text)
    except Exception:  # the class takes other arguments
        return None
    return explained.with_traceback(error.__traceback__)
