"""Which line of the user's program is running? Recorded cheaply, and looked up only on request."""

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
    """The running part of a program: a graph node by its name, a strategy replica by its number, or neither.

    `phase` and `layer` describe a training step. `holder` is the purpose of the results; see `_runtime/phases.py`.
    """

    call_sites: dict[int, CallSite]
    """Places where it ran, by instruction address; each place is a single object, however often it is passed."""
    call_site: CallSite | None = None
    """The place to report regardless of the caller: an op of a traced function keeps its place in every call."""

    def __init__(self, *names: str | int | None, **named: str | int | None) -> None:
        """Starts without places."""
        self.call_sites = {}


CallSite: TypeAlias = "tuple[CodeType | str | None, int, Part]"
"""A place in the user's program: the code object, the offset of the instruction, and the part that runs.

A place that was read from a file has the name of the source file and the line in place of the first two.

Python finds the line of an instruction by reading a table from its start, which takes 7 µs in a cell of 200 lines.
Only the code object is kept alive, no frame and no variables.
"""

NOWHERE = Part()
NO_PLACE: CallSite = None, 0, NOWHERE

_PACKAGE = __name__.partition(".")[0]
_IS_OURS: dict[str, bool] = {}
_LIBRARIES = {_PACKAGE}
"""The packages whose lines are not the user's: nbtf, and libraries that run on it."""
_IS_OF_LIBRARY: dict[str, bool] = {}


def find_call_site(position: Part, inner: int = 0) -> CallSite:
    """Returns the place of the nearest caller outside the package, and outside libraries that run on it.

    Args:
      position: the replica or the node that runs.
      inner: number of innermost frames that are known to belong to the package.
    """
    if position.call_site is not None:
        return position.call_site
    try:
        frame: Any = sys._getframe(1 + inner)
        while _IS_OF_LIBRARY[frame.f_globals["__name__"]]:
            frame = frame.f_back
    except (KeyError, AttributeError, ValueError):  # a module seen for the first time, or the end of the stack
        frame = _outside(sys._getframe(1))
        if frame is None:
            return None, 0, position
    code, instruction = frame.f_code, frame.f_lasti
    call_site = position.call_sites.get(id(code) + instruction)  # unique: an instruction lies inside its code object
    if call_site is None or call_site[0] is not code:
        if len(position.call_sites) >= _PLACES:
            position.call_sites.clear()
        call_site = position.call_sites[id(code) + instruction] = code, instruction, position
    return call_site


def _outside(frame: FrameType | None) -> FrameType | None:
    """Returns the first frame, from this one outwards, that belongs neither to the package nor to a library on it."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if not _IS_OF_LIBRARY.setdefault(module, module.partition(".")[0] in _LIBRARIES):
            return frame
        frame = frame.f_back
    return None


def skip_lines_of(*packages: str) -> None:
    """Makes the lines of packages that run on nbtf count as a library's, not as the user's."""
    _LIBRARIES.update(packages)
    _IS_OF_LIBRARY.clear()


def is_ours(frame: FrameType) -> bool:
    """Returns whether a frame belongs to the package."""
    module = str(frame.f_globals.get("__name__", ""))
    is_of_package = _IS_OURS.get(module)
    if is_of_package is None:
        is_of_package = _IS_OURS[module] = module.partition(".")[0] == _PACKAGE
    return is_of_package


_Lines: TypeAlias = "tuple[CodeType, list[int], list[int | None]]"
_LINES: dict[int, _Lines] = {}
_REMEMBERED = 256
"""Number of line tables kept; they keep their code alive."""
_PLACES = 4096
"""Number of places kept for each part; they keep their code alive as well."""


def site_of(call_site: CallSite) -> Site:
    """Returns the file and line of a place."""
    code, instruction, _ = call_site
    if code is None or isinstance(code, str):
        return None if code is None else (code, instruction)
    code_and_lines = _LINES.get(id(code))  # by address, since hashing a code object reads all of it
    if code_and_lines is None or code_and_lines[0] is not code:
        if len(_LINES) >= _REMEMBERED:
            _LINES.clear()
        table = list(code.co_lines())
        code_and_lines = _LINES[id(code)] = code, [start for start, _, _ in table], [line for _, _, line in table]
    _, starts, lines = code_and_lines
    line = lines[bisect_right(starts, instruction) - 1] if starts else None
    return code.co_filename, code.co_firstlineno if line is None else line


def file_and_line(site: Site) -> str:
    """Formats a place: `train.py, line 3`."""
    if site is None:
        return ""
    return f"{site[0].replace(chr(92), '/').rpartition('/')[2]}, line {site[1]}"


class Wording:
    """How texts name code lines; a notebook names its cells instead of their temporary files."""

    __slots__ = ("describe",)

    def __init__(self) -> None:
        """Starts with file and line."""
        self.describe: Callable[[Site], str] = file_and_line


WORDING = Wording()


def call_site() -> Site:
    """Returns file and line of the nearest caller outside the package."""
    return site_of(find_call_site(NOWHERE, 1))


def warn(text: str) -> None:
    """Warns with the user's file and line instead of ours."""
    warnings.warn_explicit(text, RuntimeWarning, *(call_site() or (_PACKAGE, 0)))
