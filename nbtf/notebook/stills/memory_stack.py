"""How much does each group hold over time, and what is in use at the peak?"""

from __future__ import annotations

from nbtf._devices.sites import file_and_line
from nbtf._devices.sizes import gib
from nbtf.notebook.stills.marks import Line, Mark, Path, Picture, Rectangle, Text
from nbtf.notebook.stills.memory_axis import COLOURS, LEFT, MARGIN, CodeLine, StepAxis
from nbtf.notebook.stills.memory_history import GROUPS, MemoryHistory, rounded_up

WIDTH, HEIGHT = 960.0, 240.0
_SIDE = 198.0
_TOP = 60.0


def memory_stack(history: MemoryHistory, width: float = WIDTH, code_line: CodeLine = file_and_line) -> Picture:
    """Returns the bytes of each group, one above the other, and the list of them at the peak.

    Args:
      history: of one device.
      width: in px; at least 480 are used.
      code_line: says a line of the program in words.
    """
    width = max(width, 480.0)
    totals, right, peak = history.group_levels(), width - _SIDE - MARGIN, history.peak
    in_use = history.in_use[peak] if history.steps else 0
    high = rounded_up(max(in_use, 1))
    axis = StepAxis(history, LEFT, right, high / HEIGHT, [peak])
    marks = [Text(MARGIN, 28, f"Who holds {history.short_name}, over time", size=15, weight=650)]
    marks += _scale(high, right) + _areas(history, totals, axis, high)
    marks += axis.spans(history.spans, _TOP + HEIGHT, code_line)
    begin = axis.x(peak)
    words = Text(begin, _TOP - 12, f"peak {gib(in_use)}", size=12, weight=650)
    x = min(max(begin - words.width / 2, LEFT), right - words.width)
    marks += [Line(begin, _TOP - 8, begin, _TOP + HEIGHT, "ink", 1.3), Text(x, _TOP - 12, words.words, weight=650)]
    marks += _list(totals[peak] if totals else {}, in_use, right + 20, width - MARGIN)
    height = _TOP + HEIGHT + 36
    frame = Rectangle(0.5, 0.5, width - 1, height - 1, stroke="hair", radius=8)
    return Picture(width, height, f"{history.short_name}: at most {gib(in_use)} in use", (frame, *marks))


def _scale(high: int, right: float) -> list[Mark]:
    marks: list[Mark] = []
    for quarter in range(5):
        y, address = _TOP + HEIGHT * (4 - quarter) / 4, high * quarter // 4
        label = Text(LEFT - 8, y + 4, gib(address) if address else "0 B", "soft", 11, anchor="end")
        marks += [Line(LEFT, y, right, y), label]
    return marks


def _areas(history: MemoryHistory, totals: list[dict[str, int]], axis: StepAxis, high: int) -> list[Mark]:
    """Returns an area for each group; a column shows its step of the highest use."""
    columns = axis.columns() if totals else []
    tops = [(max(steps, key=lambda step: history.in_use[step]), begin, end) for steps, begin, end in columns]
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
        marks.append(Path((*upper, *reversed(lower)), COLOURS[group], closed=True, title=group))
    return marks


def _list(totals: dict[str, int], in_use: int, left: float, right: float) -> list[Mark]:
    """Returns what the groups hold at the peak."""
    y = _TOP + 6
    marks: list[Mark] = [Text(left, y, "at the peak", "soft", 11)]
    for group in reversed(GROUPS):
        y += 22
        figure = Text(right, y, gib(totals.get(group, 0)), weight=600, anchor="end")
        marks += [Rectangle(left, y - 9, 10, 10, COLOURS[group], radius=2), Text(left + 16, y, group), figure]
    total = Text(right, y + 26, gib(in_use), weight=650, anchor="end")
    return [*marks, Line(left, y + 8, right, y + 8), Text(left, y + 26, "in use"), total]
