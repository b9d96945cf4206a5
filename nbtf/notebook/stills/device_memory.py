"""Draws a device's memory: by address, stacked by group, as a treemap, and the chunks after the last step."""

from __future__ import annotations

from nbtf._devices.sites import file_and_line
from nbtf.notebook.stills.drawing import drawn
from nbtf.notebook.stills.marks import WIDTH, Picture
from nbtf.notebook.stills.memory_data import memory_data
from nbtf.notebook.stills.memory_history import CodeLine, MemoryHistory
from nbtf.notebook.stills.memory_refusal import Fits


def memory_plane(
    history: MemoryHistory,
    width: float = WIDTH,
    step: int | None = None,
    fits: Fits | None = None,
    code_line: CodeLine = file_and_line,
) -> Picture:
    """Returns a picture of memory over time, with the chunks after one step.

    Args:
      history: the history of one device.
      width: in px; at least 560 are used.
      step: the step whose chunks are shown; None shows the last one.
      fits: tries other limits and deletions for requests that failed.
      code_line: formats a line of the program as text.

    Raises:
      ValueError: if the step does not exist.
    """
    last = history.steps - 1
    if step is not None and not 0 <= step <= last:
        raise ValueError(f"Step {step} does not exist. Expected 0 to {last}.")
    return drawn("memoryPlane", memory_data(history, fits, code_line), width, last if step is None else step)


def memory_stack(history: MemoryHistory, width: float = WIDTH, code_line: CodeLine = file_and_line) -> Picture:
    """Returns a picture of the groups' bytes, stacked, with a list of them at the peak.

    Args:
      history: the history of one device.
      width: in px; at least 480 are used.
      code_line: formats a line of the program as text.
    """
    return drawn("memoryStack", memory_data(history, code_line=code_line), width)


def treemap(history: MemoryHistory, width: float = WIDTH, step: int | None = None) -> Picture:
    """Returns a picture of what holds a device's memory after a step.

    Args:
      history: the history of the device.
      width: in px; at least 320 are used.
      step: number of the step; None selects the one with the most memory in use.
    """
    return drawn("memoryTreemap", memory_data(history), width, history.peak if step is None else step)


def memory_chunks(history: MemoryHistory) -> Picture:
    """Returns a picture of the memory after the last step of a history.

    Args:
      history: the history of one device.
    """
    return drawn("memoryChunks", memory_data(history))
