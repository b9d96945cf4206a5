"""Draws how much memory each group holds over time, and what is in use at the peak."""

from __future__ import annotations

from dataclasses import replace

from nbtf._devices.sites import file_and_line
from nbtf._devices.sizes import gib
from nbtf.notebook.catalogue import filled
from nbtf.notebook.stills.marks import Line, Mark, Path, Picture, Rectangle, Text, framed
from nbtf.notebook.stills.memory_axis import CodeLine, StepAxis
from nbtf.notebook.stills.memory_bands import COLOURS, GROUPS, LEFT, MARGIN, Words, picture_words
from nbtf.notebook.stills.memory_history import MemoryHistory, rounded_up

WIDTH, HEIGHT = 960.0, 240.0
_SIDE = 198.0
_TOP = 60.0


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
    composition = _composition(totals[peak], in_use, words)
    side = max(_SIDE, *(46 + name.width + figure.width for _, name, figure in composition))
    right, high = width - side - MARGIN, rounded_up(max(in_use, 1))
    axis = StepAxis(history, LEFT, right, high / HEIGHT, [peak])
    title = Text(MARGIN, 28, filled(words["whoOverTime"], name=history.short_name), size=15, weight=650)
    marks: list[Mark] = [title, *_scale(high, right), *_areas(history, totals, axis, high, words)]
    marks += axis.spans(history.spans, _TOP + HEIGHT, words, code_line)
    begin = axis.x(peak)
    top = Text(0, _TOP - 12, filled(words["peak"], size=gib(in_use)), weight=650)
    x = min(max(begin - top.width / 2, LEFT), right - top.width)
    marks += [Line(begin, _TOP - 8, begin, _TOP + HEIGHT, "ink", 1.3), replace(top, x=x)]
    marks += _list(composition, words, right + 20, width - MARGIN)
    height = _TOP + HEIGHT + 36
    about = filled(words["stackAbout"], name=history.short_name, size=gib(in_use))
    return framed(width, height, about, marks)


def _scale(high: int, right: float) -> list[Mark]:
    marks: list[Mark] = []
    for quarter in range(5):
        y, address = _TOP + HEIGHT * (4 - quarter) / 4, high * quarter // 4
        label = Text(LEFT - 8, y + 4, gib(address) if address else "0 B", "soft", 11, anchor="end")
        marks += [Line(LEFT, y, right, y), label]
    return marks


def _areas(history: MemoryHistory, totals: list[dict[str, int]], axis: StepAxis, high: int, words: Words) -> list[Mark]:
    """Returns an area for each group; a column shows the step of its highest use."""
    tops = [(max(steps, key=lambda step: history.in_use[step]), begin, end) for steps, begin, end in axis.columns()]
    base = [0] * len(tops)
    marks: list[Mark] = []
    for group in GROUPS:
        low = [_TOP + HEIGHT * (1 - nbytes / high) for nbytes in base]
        base = [nbytes + totals[step][group] for nbytes, (step, _, _) in zip(base, tops, strict=True)]
        if not any(totals[step][group] for step, _, _ in tops):
            continue
        upper: list[tuple[float, float]] = []
        lower: list[tuple[float, float]] = []
        for nbytes, bottom, (_, begin, end) in zip(base, low, tops, strict=True):
            y = _TOP + HEIGHT * (1 - nbytes / high)
            upper += [(begin, y), (end, y)]
            lower += [(begin, bottom), (end, bottom)]
        marks.append(Path((*upper, *reversed(lower)), COLOURS[group], closed=True, title=words[group]))
    return marks


def _composition(totals: dict[str, int], in_use: int, words: Words) -> list[tuple[str, Text, Text]]:
    """Returns token, name and figure of each group, and of the total."""
    rows = [(COLOURS[group], Text(0, 0, words[group]), totals[group]) for group in reversed(GROUPS)]
    rows.append(("", Text(0, 0, words["inUse"], weight=650), in_use))
    return [
        (token, name, Text(0, 0, gib(nbytes) if nbytes else "0 B", weight=600, anchor="end"))
        for token, name, nbytes in rows
    ]


def _list(composition: list[tuple[str, Text, Text]], words: Words, left: float, right: float) -> list[Mark]:
    """Returns the list of what the groups hold at the peak."""
    y = _TOP + 6
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
