"""Which line of the user's program is running? Taken down at once in no time, looked up when someone asks."""

from __future__ import annotations

import sys
import warnings
from bisect import bisect_right
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NamedTuple, TypeAlias

Site: TypeAlias = "tuple[str, int] | None"
"""File name and line of the code that caused something."""


class _Names(NamedTuple):
    node: str | None = None
    replica: int | None = None
    phase: str = ""
    layer: str = ""
    holder: str = "temporary"


class Part(_Names):
    """What the program runs: a node of a graph by its name, the replica of a strategy by its number, or neither.

    `phase` and `layer` are of a training step, and `holder` says what results are kept for; see `_runtime/phases.py`.
    """

    call_sites: dict[int, CallSite]
    """Where it ran, by the address of the instruction: each place is one object, however often it is passed."""
    call_site: CallSite | None = None
    """The place that counts, whoever calls: that of an op of a traced function, in each call of the function."""

    def __init__(self, *names: str | int | None, **named: str | int | None) -> None:
        """Begins without places."""
        self.call_sites = {}


CallSite: TypeAlias = "tuple[CodeType | None, int, Part]"
"""A place in the user's program: code, number of the instruction, and what runs besides it.

Python finds the line of an instruction by reading a table from its start: 7 µs in a cell of 200 lines. The code itself
is all that is kept alive, no frame and no variable.
"""

NOWHERE = Part()
NO_PLACE: CallSite = None, 0, NOWHERE

_PACKAGE = __name__.partition(".")[0]
_IS_OURS: dict[str, bool] = {}


def find_call_site(position: Part, inner: int = 0) -> CallSite:
    """Returns the place of the nearest caller outside the package.

    Args:
      position: the replica or the node that runs.
      inner: how many of the innermost frames are known to be of the package.
    """
    if position.call_site is not None:
        return position.call_site
    try:
        frame: Any = sys._getframe(1 + inner)
        while _IS_OURS[frame.f_globals["__name__"]]:
            frame = frame.f_back
    except (KeyError, AttributeError, ValueError):  # a module seen for the first time, or the end of the stack
        frame = _outside(sys._getframe(1))
        if frame is None:
            return None, 0, position
    code, instruction = frame.f_code, frame.f_lasti
    call_site = position.call_sites.get(id(code) + instruction)  # instructions stand inside their code
    if call_site is None or call_site[0] is not code:
        if len(position.call_sites) >= _PLACES:
            position.call_sites.clear()
        call_site = position.call_sites[id(code) + instruction] = code, instruction, position
    return call_site


def _outside(frame: FrameType | None) -> FrameType | None:
    """Returns the first frame from this one on that is not of the package."""
    while frame is not None:
        if not is_ours(frame):
            return frame
        frame = frame.f_back
    return None


def is_ours(frame: FrameType) -> bool:
    """Tells whether a frame is of the package."""
    module = str(frame.f_globals.get("__name__", ""))
    is_of_package = _IS_OURS.get(module)
    if is_of_package is None:
        is_of_package = _IS_OURS[module] = module.partition(".")[0] == _PACKAGE
    return is_of_package


_Lines: TypeAlias = "tuple[CodeType, list[int], list[int | None]]"
_LINES: dict[int, _Lines] = {}
_REMEMBERED = 256
"""Tables of lines kept; they keep their code alive."""
_PLACES = 4096
"""Places kept of each part; likewise."""


def site_of(call_site: CallSite) -> Site:
    """Returns file and line of a place."""
    code, instruction, _ = call_site
    if code is None:
        return None
    code_and_lines = _LINES.get(id(code))  # not by the code itself: its hash reads all of it
    if code_and_lines is None or code_and_lines[0] is not code:
        if len(_LINES) >= _REMEMBERED:
            _LINES.clear()
        table = list(code.co_lines())
        code_and_lines = _LINES[id(code)] = code, [start for start, _, _ in table], [line for _, _, line in table]
    _, starts, lines = code_and_lines
    line = lines[bisect_right(starts, instruction) - 1] if starts else None
    return code.co_filename, code.co_firstlineno if line is None else line


def file_and_line(site: Site) -> str:
    """Returns where some code is: `train.py, line 3`."""
    if site is None:
        return ""
    return f"{site[0].replace(chr(92), '/').rpartition('/')[2]}, line {site[1]}"


class Wording:
    """How texts tell code lines; a notebook knows its cells by better names than those of files."""

    __slots__ = ("describe",)

    def __init__(self) -> None:
        """Begins with file and line."""
        self.describe: Callable[[Site], str] = file_and_line


WORDING = Wording()


def call_site() -> Site:
    """Returns file and line of the nearest caller outside the package."""
    return site_of(find_call_site(NOWHERE, 1))


def warn(text: str) -> None:
    """Warns, naming the user's line and not ours."""
    warnings.warn_explicit(text, RuntimeWarning, *(call_site() or (_PACKAGE, 0)))
