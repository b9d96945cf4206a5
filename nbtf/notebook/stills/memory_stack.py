"""Draws how much memory each group holds over time, and what is in use at the peak."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from nbtf._devices.sites import file_and_line
from nbtf._devices.sizes import gib
from nbtf.notebook.catalogue import filled
from nbtf.notebook.stills.glyphs import fitted
from nbtf.notebook.stills.marks import WIDTH, Line, Mark, Path, Picture, Rectangle, Text, framed
from nbtf.notebook.stills.memory_axis import CodeLine, StepAxis
from nbtf.notebook.stills.memory_bands import GROUPS, LEFT, MARGIN, OF_GROUP, Words, picture_words
from nbtf.notebook.stills.memory_history import MemoryHistory, rounded_up

HEIGHT = 240.0
SIDE = 198.0
TOP = 60.0
LONGEST_NAME = 190.0
"""Width of the longest name in the list, in px."""


def memory_stack(
    history: MemoryHistory,
    width: float = WIDTH,
    words: Words | None = None,
    code_line: CodeLine = file_and_line,
) -> Picture:
    """Returns a picture of the groups' bytes, stacked, with a list of them at the peak.

    Args:
      history: the history of one device.
      width: in px; at least 480 are used.
      words: texts of the sections `timeline` and `memoryPicture`; None uses those of the environment's language.
      code_line: formats a line of the program as text.
    """
    width, words, peak = max(width, 480.0), words or picture_words(), history.peak
    totals, in_use = history.group_levels(), history.in_use[peak]
    rows = [(OF_GROUP[group], words[group], totals[peak][group]) for group in reversed(GROUPS)]
    composition = composed(rows, in_use, words)
    side = max(SIDE, *(46 + name.width + figure.width for _, name, figure in composition))
    right, high = width - side - MARGIN, rounded_up(max(in_use, 1))
    axis = StepAxis(history, LEFT, right, high / HEIGHT, [peak])
    title = Text(MARGIN, 28, filled(words["whoOverTime"], name=history.short_name), size=15, weight=650)
    marks: list[Mark] = [title, *scale_of(high, right), *_areas(history, totals, axis, high, words)]
    marks += axis.spans(history.spans, TOP + HEIGHT, words, code_line)
    begin = axis.x(peak)
    top = Text(0, TOP - 12, filled(words["peak"], size=gib(in_use)), weight=650)
    x = min(max(begin - top.width / 2, LEFT), right - top.width)
    marks += [Line(begin, TOP - 8, begin, TOP + HEIGHT * (1 - in_use / high), "ink", 1.3), replace(top, x=x)]
    marks += listed(composition, words, right + 20, width - MARGIN)
    height = TOP + HEIGHT + 36
    about = filled(words["stackAbout"], name=history.short_name, size=gib(in_use))
    return framed(width, height, about, marks)


def scale_of(high: int, right: float) -> list[Mark]:
    """Returns the lines and sizes of the scale."""
    marks: list[Mark] = []
    for quarter in range(5):
        y, address = TOP + HEIGHT * (4 - quarter) / 4, high * quarter // 4
        label = Text(LEFT - 8, y + 4, gib(address) if address else "0 B", "soft", 11, anchor="end")
        marks += [Line(LEFT, y, right, y), label]
    return marks


def _areas(history: MemoryHistory, totals: list[dict[str, int]], axis: StepAxis, high: int, words: Words) -> list[Mark]:
    """Returns an area for each group; a column shows the step of its highest use."""
    tops = [(max(steps, key=lambda step: history.in_use[step]), begin, end) for steps, begin, end in axis.columns()]
    sides = [(begin, end) for _, begin, end in tops]
    groups = [(OF_GROUP[group], words[group], [totals[step][group] for step, _, _ in tops]) for group in GROUPS]
    return stacked_areas(groups, sides, high)


def stacked_areas(
    groups: Iterable[tuple[str, str, Sequence[int]]], sides: Sequence[tuple[float, float]], high: int
) -> list[Mark]:
    """Returns an area for each group with any bytes.

    Args:
      groups: token, name and bytes in each column, from the bottom of the stack.
      sides: left and right edge of each column, in px.
      high: the bytes at the upper end of the scale.
    """
    base = [0] * len(sides)
    marks: list[Mark] = []
    for token, name, levels in groups:
        low = [TOP + HEIGHT * (1 - nbytes / high) for nbytes in base]
        base = [nbytes + level for nbytes, level in zip(base, levels, strict=True)]
        if not any(levels):
            continue
        upper: list[tuple[float, float]] = []
        lower: list[tuple[float, float]] = []
        for nbytes, bottom, (begin, end) in zip(base, low, sides, strict=True):
            y = TOP + HEIGHT * (1 - nbytes / high)
            upper += [(begin, y), (end, y)]
            lower += [(begin, bottom), (end, bottom)]
        marks.append(Path((*upper, *reversed(lower)), token, closed=True, title=name))
    return marks


def composed(groups: Iterable[tuple[str, str, int]], in_use: int, words: Words) -> list[tuple[str, Text, Text]]:
    """Returns token, name and figure of each group that has any bytes, and of the total."""
    rows = [(token, Text(0, 0, fitted(name, LONGEST_NAME)), nbytes) for token, name, nbytes in groups if nbytes]
    rows.append(("", Text(0, 0, words["inUse"], weight=650), in_use))
    return [
        (token, name, Text(0, 0, gib(nbytes) if nbytes else "0 B", weight=600, anchor="end"))
        for token, name, nbytes in rows
    ]


def listed(composition: list[tuple[str, Text, Text]], words: Words, left: float, right: float) -> list[Mark]:
    """Returns the list of what the groups hold at the peak."""
    y = TOP + 6
    marks: list[Mark] = [Text(left, y, words["atPeak"], "soft", 11)]
    for token, name, figure in composition:
        y += 22
        if token:
            marks.append(Rectangle(left, y - 9, 10, 10, token, radius=2))
        else:
            marks.append(Line(left, y - 14, right, y - 14))
            y += 4
        marks += [replace(name, x=left + (16 if token else 0), y=y), replace(figure, x=right, y=y)]
    return marks
