"""Who holds a device's memory, and why does a request not fit? Addresses over steps, and the chunks of a step."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from nbtf._devices.exhausted import shortage
from nbtf._devices.sites import file_and_line
from nbtf._devices.sizes import gib, part_of
from nbtf.notebook.stills.glyphs import fitted, width_of
from nbtf.notebook.stills.marks import Line, Mark, Path, Picture, Rectangle, Text
from nbtf.notebook.stills.memory_axis import COLOURS, LEFT, MARGIN, CodeLine, StepAxis
from nbtf.notebook.stills.memory_history import GROUPS, Band, MemoryHistory, Refusal, rounded_up
from nbtf.notebook.stills.palette import text_on

WIDTH, HEIGHT = 960.0, 330.0
_SIDE = 176.0
"""Px of the cross-section with its names."""

_BAR = 46.0
_CURVE_TOP, _CURVE, _TOP = 52.0, 40.0, 118.0

Fits = Callable[[int], bool]
"""Whether all requests would fit into so many bytes."""

_TRIES = 16


def memory_plane(
    history: MemoryHistory,
    width: float = WIDTH,
    step: int | None = None,
    fits: Fits | None = None,
    code_line: CodeLine = file_and_line,
) -> Picture:
    """Returns what was where in memory, and the chunks after a step.

    Args:
      history: of one device.
      width: in px; at least 560 are used.
      step: whose chunks are shown; the last one when None.
      fits: tries another limit, for what was refused.
      code_line: says a line of the program in words.

    Raises:
      ValueError: there is no such step.
    """
    last = max(history.steps - 1, 0)
    if step is not None and not 0 <= step <= last:
        raise ValueError(f"step must be 0 to {last}, got {step}")
    return _Plane(history, max(width, 560.0), last if step is None else step, fits, code_line).picture()


class _Plane:
    """Draws from back to front."""

    def __init__(self, history: MemoryHistory, width: float, step: int, fits: Fits | None, code_line: CodeLine) -> None:
        self._history, self._width, self._step, self._fits, self._code_line = history, width, step, fits, code_line
        self._right = width - _SIDE - 44
        self._side = self._right + 28
        self._bottom = _TOP + HEIGHT
        self._limit = max(history.limit, history.top, 1)
        used = max((band.start + band.size for band in history.bands), default=0)
        self._high = self._limit if history.refusals or used * 2 > self._limit else rounded_up(used)
        self._least = self._high / HEIGHT
        self._axis = StepAxis(history, LEFT, self._right, self._least, [step])
        self._marks: list[Mark] = []

    def picture(self) -> Picture:
        """Returns all of it."""
        self._head()
        self._curve()
        self._frame()
        for band in self._history.bands:
            self._band(band)
        self._marks += self._axis.spans(self._history.spans, self._bottom, self._code_line)
        for refusal in self._history.refusals[-4:]:
            self._refusal(refusal)
        self._cross_section()
        self._scrubber()
        height = self._foot()
        frame = Rectangle(0.5, 0.5, self._width - 1, height - 1, stroke="hair", radius=8)
        return Picture(self._width, height, self._title(), (frame, *self._marks))

    def _y(self, address: float) -> float:
        return self._bottom - address / self._high * HEIGHT

    def _title(self) -> str:
        in_use = self._history.in_use[self._step] if self._history.steps else 0
        return f"Memory of {self._history.short_name}: {part_of(in_use, self._history.limit)} in use. {self._why()}"

    def _why(self) -> str:
        """Returns the error's own sentence of the last refusal."""
        if not self._history.refusals:
            return ""
        event = self._history.refusals[-1].event
        reason = shortage(event.nbytes, event.limit, event.in_use, event.pool, event.largest_free)
        return f"{gib(event.nbytes)} asked for, in use {part_of(event.in_use, event.limit)}.{reason}"

    def _head(self) -> None:
        title = Text(MARGIN, 28, f"Memory of {self._history.short_name}", size=15, weight=650)
        refused = bool(self._history.refusals)
        begin, token = title.x + title.width + 12, "hot" if refused else "soft"
        state = Text(begin + 17, 27, "out of memory" if refused else "ended", token, 11, 600)
        more = Text(state.x + state.width + 20, 27, "address × steps (not to scale), bytes exact", "soft")
        pill = Rectangle(begin, 14, state.width + 25, 18, stroke="hot" if refused else "line", radius=9)
        dot = Rectangle(begin + 7, 20, 6, 6, token, radius=3)
        self._marks += [title, pill, dot, state, more]

    def _curve(self) -> None:
        history, low = self._history, _CURVE_TOP + _CURVE
        points = [(LEFT, low)]
        for steps, begin, end in self._axis.columns() if history.steps else ():
            y = low - max(history.in_use[steps.start : steps.stop]) / self._high * _CURVE
            points += [(begin, y), (end, y)]
        self._marks += [
            Path((*points, (points[-1][0], low)), "tint2", closed=True),
            Path(tuple(points), stroke="soft", stroke_width=1.3),
            Line(LEFT, _CURVE_TOP, self._right, _CURVE_TOP, "soft", dashed=True),
            Text(LEFT - 8, _CURVE_TOP + 4, gib(self._high), "soft", 11, anchor="end"),
            Text(LEFT - 8, low + 1, "0 B", "soft", 11, anchor="end"),
            Text(self._side, _CURVE_TOP + 4, self._limit_in_words(), "soft", 11),
        ]
        in_use, pool = (history.in_use[self._step], history.pool[self._step]) if history.steps else (0, 0)
        figure = Text(self._side, _CURVE_TOP + 22, gib(in_use), size=15, weight=650)
        holes = history.holes(self._step)
        free = f"free {gib(pool - in_use)}, largest {gib(max(size for _, size in holes))}" if holes else "nothing free"
        self._marks += [
            figure,
            Text(figure.x + figure.width + 6, figure.y, "in use", "soft"),
            Text(self._side, _CURVE_TOP + 39, free, "soft", 11),
        ]

    def _limit_in_words(self) -> str:
        return "limit" if self._high == self._limit else f"of {gib(self._limit)}"

    def _frame(self) -> None:
        """Draws what the device has taken, hatched, and the scale of the addresses."""
        for each in self._history.extents:
            begin, end = self._axis.x(each.birth), self._axis.x(each.death)
            top = max(self._y(each.start + each.size), _TOP)
            self._marks.append(Rectangle(begin, top, end - begin, self._y(each.start) - top, "hatch", opacity=0.45))
        self._marks.append(Rectangle(LEFT, _TOP, self._right - LEFT, HEIGHT, stroke="hair2"))
        for quarter in range(5):
            address = self._high * quarter // 4
            words = gib(address) if address else "0 B"
            self._marks.append(Text(LEFT - 8, self._y(address) + 4, words, "soft", 11, anchor="end"))

    def _band(self, band: Band) -> None:
        begin, end = self._axis.x(band.birth), self._axis.x(band.death)
        if band.size < self._least or end - begin <= 0:
            return
        asked = min(band.requested, band.size)
        top, middle, low = (self._y(band.start + size) for size in (band.size, asked, 0))
        token, width = COLOURS[band.group], max(end - begin - 0.8, 0.6)
        title = f"{_who(band)}: {gib(band.requested)} asked for, {gib(band.size)} charged"
        self._marks.append(Rectangle(begin + 0.4, top, width, low - top, "paper", title=title))
        if middle - top >= 1:
            self._marks.append(Rectangle(begin + 0.4, top, width, middle - top, token, opacity=0.35))
        self._marks.append(Rectangle(begin + 0.4, middle, width, low - middle, token, radius=2 if width > 6 else 0))
        if low - middle > 12 and width > 36:
            words = _fitting(band.name, width - 8)
            if words:
                y = (middle + low) / 2 + 4
                self._marks.append(Text(begin + 5, y, words, text_on(token), 11, 600, mono=True))

    def _refusal(self, refusal: Refusal) -> None:
        """Draws a red line, and the request at its true height over the largest hole."""
        begin, end = self._axis.x(refusal.step), self._axis.x(refusal.step + 1)
        self._marks.append(Line(begin, _CURVE_TOP - 4, begin, self._bottom, "hot", 1.6))
        if end - begin < 80:
            return
        label = Text(begin + 6, _CURVE_TOP, "out of memory", "paper", 11, 650)
        self._marks += [Rectangle(begin - 1, _CURVE_TOP - 13, label.width + 14, 17, "hot", radius=3), label]
        holes = self._history.holes(refusal.step) or [(0, 0)]
        start, size = max(holes, key=lambda hole: (hole[1], -hole[0]))
        height = refusal.event.nbytes / self._high * HEIGHT
        top = min(max(self._y(start + size / 2) - height / 2, _TOP), max(self._bottom - height, _TOP))
        x, width, shown = begin + 5, end - begin - 10, min(height, HEIGHT)
        self._marks += [
            Rectangle(x, top, width, shown, "paper", radius=3, opacity=0.93),
            Rectangle(x, top, width, shown, stroke="hot", stroke_width=1.8, radius=3, dashed=True),
        ]
        words = f"{gib(refusal.event.nbytes)} asked for"
        middle, y = x + width / 2, top + shown / 2
        if width_of("no hole is as large", 11) <= width and shown >= 28:
            self._marks.append(Text(middle, y + 13, "no hole is as large", "hot", 11, anchor="middle"))
            y -= 6
        if width_of(words, 11, 650) <= width:
            self._marks.append(Text(middle, y + 4, words, "hot", 11, 650, "middle", halo=True))

    def _cross_section(self) -> None:
        """Draws every chunk of the step, and names those that have room for it."""
        bands, x = self._history.alive(self._step), self._side
        count = f"step {self._step + 1} of {self._history.steps} · {len(bands)} pieces"
        self._marks.append(Text(x, _TOP - 8, count, size=11, weight=600))
        labels: list[tuple[float, float, str, str, str]] = []
        for start, size in self._history.holes(self._step):
            top, low = max(self._y(start + size), _TOP), self._y(start)
            hole = Rectangle(x, top, _BAR, low - top, "hatch", opacity=0.45, title=f"free: {size:,} B")
            self._marks.append(hole)
            labels.append(((top + low) / 2, low - top, "free", gib(size), "soft"))
        for band in bands:
            asked = min(band.requested, band.size)
            top, middle, low = (self._y(band.start + size) for size in (band.size, asked, 0))
            token = COLOURS[band.group]
            self._marks.append(Rectangle(x, top, _BAR, low - top, "paper", title=f"{_who(band)}: {band.size:,} B"))
            if middle - top >= 1:
                self._marks.append(Rectangle(x, top, _BAR, middle - top, token, opacity=0.35))
            gap = 0.4 if low - middle > 2 else 0.0
            self._marks.append(Rectangle(x, middle + gap, _BAR, low - middle - 2 * gap, token))
            labels.append(((middle + low) / 2, low - middle, band.name, gib(band.requested), "ink"))
        self._marks.append(Rectangle(x, _TOP, _BAR, HEIGHT, stroke="line"))
        self._name_chunks(labels)

    def _name_chunks(self, labels: list[tuple[float, float, str, str, str]]) -> None:
        """Writes names and sizes; the larger of two that are too close."""
        taken: list[float] = []
        for y, height, name, size, token in sorted(labels, key=lambda label: -label[1]):
            if height < 4 or any(abs(y - other) < 13 for other in taken):
                continue
            taken.append(y)
            figure = Text(self._width - MARGIN, y + 4, size, "soft", 11, anchor="end")
            words = _fitting(name, figure.begin - 8 - (self._side + _BAR + 7))
            self._marks.append(figure)
            if words:
                text = Text(self._side + _BAR + 7, y + 4, words, token, 11, 400 if token == "soft" else 500, mono=True)
                self._marks.append(text)

    def _scrubber(self) -> None:
        at = [(begin + end) / 2 for steps, begin, end in self._axis.columns() if self._step in steps]
        x, y = at[0] if self._step < self._history.steps - 1 else self._right - 2, self._bottom
        head = ((x - 6, y), (x + 6, y), (x + 6, y + 5), (x, y + 11), (x - 6, y + 5))
        self._marks += [Line(x, _CURVE_TOP, x, y, "ink", 1.5), Path(head, "ink", closed=True)]

    def _foot(self) -> float:
        """Draws the legend and the sentence of a refusal; returns the height of the picture."""
        history, y, x = self._history, self._bottom + 40, LEFT
        groups = {band.group for band in history.bands if band.size >= self._least}
        keys = [(COLOURS[group], group) for group in GROUPS if group in groups]
        folded = [band for band in history.bands if band.size < self._least]
        for token, words in [*keys, ("hatch", "free")]:
            if x + 15 + width_of(words, 11) > self._width - MARGIN:
                x, y = LEFT, y + 18
            text = Text(x + 15, y, words, "soft", 11)
            stroke = "line" if token == "hatch" else ""
            self._marks += [Rectangle(x, y - 9, 10, 10, token, stroke, radius=2), text]
            x = text.x + text.width + 14
        if folded:
            note = f"{len(folded)} pieces under {gib(int(self._least))} folded"
            if x + width_of(note, 11) > self._width - MARGIN:
                y += 18
            self._marks.append(Text(self._width - MARGIN, y, note, "soft", 11, anchor="end"))
        if history.refusals:
            y = self._detail(history.refusals[-1], y + 12)
        return round(y + MARGIN)

    def _detail(self, refusal: Refusal, y: float) -> float:
        event, inner = refusal.event, self._width - 2 * MARGIN - 14
        asked = "" if event.label is None else f"{event.label.op} {list(event.label.shape)}: "
        line = self._code_line(event.site)
        would = self._would_fit(event.limit)
        rows = [("OutOfMemory", 13.0, 650), *((row, 12.0, 400) for row in _wrapped(asked + self._why(), inner))]
        if line:
            rows.append((fitted(line, inner, 11), 11.0, 400))
        if would:
            rows.append((would, 11.0, 600))
        self._marks.append(Line(MARGIN, y, self._width - MARGIN, y))
        self._marks.append(Rectangle(MARGIN, y + 12, 5, 17 * len(rows), "hot", radius=2))
        for at, (words, size, weight) in enumerate(rows):
            self._marks.append(Text(MARGIN + 14, y + 24 + 17 * at, words, size=size, weight=weight))
        return y + 12 + 17 * len(rows)

    def _would_fit(self, limit: int) -> str:
        """Returns from which limit on all would fit, tried and not guessed."""
        if self._fits is None:
            return ""
        step = 1 << max(20, (limit // 32 - 1).bit_length())
        for number in range(1, _TRIES + 1):
            if self._fits(limit + number * step):
                before = gib(limit + (number - 1) * step)
                return f"would fit from {gib(limit + number * step)} ({before}: no)"
        return f"would not fit into {gib(limit + _TRIES * step)} either"


def _who(band: Band) -> str:
    shape = "" if band.label is None else f" {list(band.label.shape)}"
    return f"{band.name}{shape} ({band.group})"


def _fitting(name: str, width: float) -> str:
    """Returns a name, or the first part of it that fits; an ellipsis comes after four letters at least."""
    fit = partial(fitted, width=width, size=11, weight=600, mono=True)
    first = name.split(" · ")[0]
    return name if fit(name) == name else first if fit(first) == first else fit(name)


def _wrapped(words: str, width: float) -> list[str]:
    """Returns lines that are no wider than so many px."""
    lines: list[str] = []
    for word in words.split():
        if lines and width_of(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
