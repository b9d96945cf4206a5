"""How does a notebook show the traceback of an error? Without the frames of libraries, and the important line first."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from nbtf import debugging
from nbtf._counts import counted

_LIBRARIES = ("nbtf", "torch")
"""Packages whose frames are folded: their lines show how they work, not what the program did."""


def shorten_tracebacks(shell: Any, is_chosen: Callable[[BaseException], bool]) -> Callable[[], None]:
    """Shortens the tracebacks of chosen errors that a shell shows; returns the function that ends this.

    `tf.debugging.disable_traceback_filtering()` shows every frame, as in TensorFlow.

    Args:
      shell: IPython's shell.
      is_chosen: returns whether an error's traceback is shortened.
    """
    formatter = shell.InteractiveTB
    full = formatter.structured_traceback

    def shortened(etype: Any, error: Any, traceback: Any = None, *arguments: Any, **options: Any) -> list[str]:
        if not (isinstance(error, BaseException) and is_chosen(error)):
            return full(etype, error, traceback, *arguments, **options)
        is_filtered = debugging.is_traceback_filtering_enabled()
        frames, folded = _without_libraries(traceback) if is_filtered else (traceback, 0)
        lines = list(full(etype, error, frames, *arguments, **options))
        text, reordered = str(error), in_order(str(error))
        lines = [line.replace(text, reordered) for line in lines]
        if folded and len(lines) > 1:  # a minimal report has no frames
            lines.insert(-1, f"[{counted(folded, 'frame of a library is', 'frames of libraries are')} not shown]\n")
        return lines

    formatter.structured_traceback = shortened

    def undo() -> None:
        if formatter.__dict__.get("structured_traceback") is shortened:
            del formatter.structured_traceback

    return undo


def in_order(text: str) -> str:
    r"""Returns a message with nbtf's sentence before TensorFlow's, which begins with names of internal functions.

    >>> in_order("{{function_node F}} OOM when allocating [Op:Fill]\nGPU:0: 8 MiB requested.\nWhat holds it:")
    'GPU:0: 8 MiB requested.\n{{function_node F}} OOM when allocating [Op:Fill]\nWhat holds it:'
    """
    first, newline, remainder = text.partition("\n")
    if not (first.startswith("{{function_node") and newline):
        return text
    sentence, newline, details = remainder.partition("\n")
    return f"{sentence}\n{first}{newline}{details}"


def _without_libraries(traceback: TracebackType | None) -> tuple[TracebackType | None, int]:
    """Returns a traceback without the frames of libraries, and their number; the original if no other frame is left."""
    entries: list[TracebackType] = []
    entry = traceback
    while entry is not None:
        entries.append(entry)
        entry = entry.tb_next
    visible = [each for each in entries if not _is_of_library(each)]
    if len(visible) < 2:  # the first is IPython's own
        return traceback, 0
    shortened: TracebackType | None = None
    for each in reversed(visible):
        shortened = TracebackType(shortened, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return shortened, len(entries) - len(visible)


def _is_of_library(entry: TracebackType) -> bool:
    name = entry.tb_frame.f_globals.get("__name__")
    return isinstance(name, str) and name.partition(".")[0] in _LIBRARIES
