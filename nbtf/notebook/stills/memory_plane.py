"""Draws a device's memory: addresses over steps, the chunks of one step, and why a request failed."""

from __future__ import annotations

from dataclasses import replace

from nbtf._devices.sites import file_and_line
from nbtf._devices.sizes import gib, part_of
from nbtf.notebook.catalogue import filled
from nbtf.notebook.stills.flow import flowed, lines_of
from nbtf.notebook.stills.glyphs import width_of
from nbtf.notebook.stills.marks import WIDTH, Line, Mark, Path, Picture, Rectangle, Text, framed
from nbtf.notebook.stills.memory_axis import CodeLine, StepAxis
from nbtf.notebook.stills.memory_bands import GROUPS, LEFT, MARGIN, OF_GROUP, Band, Words, picture_words
from nbtf.notebook.stills.memory_chunks import HEIGHT, PALE, Scale, addresses, drawn_chunks, free_in_words, shortened
from nbtf.notebook.stills.memory_history import MemoryHistory, Refusal, rounded_up
from nbtf.notebook.stills.memory_refusal import Fits, hints, request_in_words, shortage_in_words, shortage_of
from nbtf.notebook.stills.palette import text_on

LEAST_WIDTH = 560.0
_SIDE = 176.0
"""Width of the cross-section with its names, in px."""

_WIDEST = "1021.5 MiB"
"""Enough space for any size, so that the text below keeps its position from step to step."""

_CURVE = 40.0


def memory_plane(
    history: MemoryHistory,
    width: float = WIDTH,
    step: int | None = None,
    fits: Fits | None = None,
    words: Words | None = None,
    code_line: CodeLine = file_and_line,
    explained: bool = True,
) -> Picture:
    """Returns a picture of memory over time, with the chunks after one step.

    Args:
      history: the history of one device.
      width: in px; at least 560 are used.
      step: the step whose chunks are shown; None shows the last one.
      fits: tries other limits and deletions for requests that failed.
      words: texts of the sections `timeline` and `memoryPicture`; None uses those of the environment's language.
      code_line: formats a line of the program as text.
      explained: whether to explain the last request that failed, below the plane.

    Raises:
      ValueError: if the step does not exist.
    """
    last = history.steps - 1
    if step is not None and not 0 <= step <= last:
        raise ValueError(f"Step {step} does not exist. Expected 0 to {last}.")
    shown_step = last if step is None else step
    plane = _Plane(history, max(width, LEAST_WIDTH), shown_step, fits, words or picture_words(), code_line)
    return plane.picture(explained)


class _Plane:
    """Draws from the top down, and inside the plane from back to front."""

    def __init__(
        self, history: MemoryHistory, width: float, step: int, fits: Fits | None, words: Words, code_line: CodeLine
    ) -> None:
        self._history, self._width, self._step, self._words = history, width, step, words
        self._fits, self._code_line = fits, code_line
        count = {"i": history.steps, "n": history.steps, "pieces": len(history.bands)}
        widest = filled(words["holes"], size=_WIDEST, largest=_WIDEST), filled(words["counted"], **count)
        self._side = width - MARGIN - max(_SIDE, *(width_of(text, 11, 600) for text in widest))
        self._right = self._side - 28
        self._limit = max(history.limit, history.top, 1)
        used = max((band.start + band.size for band in history.bands), default=0)
        self._high = self._limit if history.refusals or used * 2 > self._limit else rounded_up(used)
        self._axis = StepAxis(history, LEFT, self._right, self._high / HEIGHT)
        head, y = self._head()
        self._curve_top = y + 24
        facts, y = self._facts()
        self._scale = Scale(max(self._curve_top + 66, y + 8) + HEIGHT, self._high)
        self._figures = facts
        self._marks: list[Mark] = [*head, *self._curve()]

    def picture(self, explained: bool) -> Picture:
        """Returns the complete picture; `explained` adds the explanation of the last request that failed."""
        history, scale = self._history, self._scale
        self._frame()
        for band in history.bands:
            self._band(band)
        self._marks += self._axis.spans(history.spans, scale.bottom, self._words, self._code_line)
        height = round(self._foot(explained) + MARGIN)
        self._marks += self._figures
        self._scrubber()
        for refusal in history.refusals[-4:]:
            self._refusal(refusal)
        self._marks += drawn_chunks(history, self._step, scale, self._side, self._width - MARGIN, self._words)
        return framed(self._width, height, self._title(), self._marks)

    def _title(self) -> str:
        used = part_of(self._history.in_use[self._step], self._history.limit)
        about = filled(self._words["about"], name=self._history.short_name, used=used)
        return " ".join([about, *(shortage_in_words(each.event, self._words) for each in self._history.refusals[-1:])])

    def _head(self) -> tuple[list[Mark], float]:
        words, refused = self._words, bool(self._history.refusals)
        title = Text(MARGIN, 28, filled(words["memoryOf"], name=self._history.short_name), size=15, weight=650)
        begin, token = title.x + title.width + 12, "hot" if refused else "soft"
        state = Text(begin + 17, 27, words["outOfMemory" if refused else "ended"], token, 11, 600)
        pill = Rectangle(begin, 14, state.width + 25, 18, stroke="hot" if refused else "line", radius=9, is_tag=True)
        dot = Rectangle(begin + 7, 20, 6, 6, token, radius=3, is_tag=True)
        end, right = pill.x + pill.width + 12, self._width - MARGIN
        axes = Text(0, 0, words["axes"], "soft")
        below = end + axes.width > right
        marks, y = flowed([axes], MARGIN if below else end, right, 46 if below else 27)
        return [title, pill, dot, state, *marks], y + 1

    def _facts(self) -> tuple[list[Text], float]:
        """Returns the figures above the chunks, and the baseline of the last one."""
        words, history, right = self._words, self._history, self._width - MARGIN
        limit = words["limit"] if self._high == self._limit else filled(words["ofLimit"], limit=gib(self._limit))
        used = Text(0, 0, gib(history.in_use[self._step]), size=15, weight=650)
        count = {"i": self._step + 1, "n": history.steps, "pieces": len(history.alive(self._step))}
        rows = [
            [Text(0, 0, limit, "soft", 11)],
            [used, Text(0, 0, words["inUse"], "soft")],
            [Text(0, 0, free_in_words(history, self._step, words), "soft", 11)],
            [Text(0, 0, filled(words["counted"], **count), size=11, weight=600)],
        ]
        facts: list[Text] = []
        y = self._curve_top - 14
        for row in rows:
            texts, y = flowed(row, self._side, right, y + 18)
            facts += texts
        return facts, y

    def _curve(self) -> list[Mark]:
        low = self._curve_top + _CURVE
        points = [(LEFT, low)]
        for steps, begin, end in self._axis.columns():
            y = low - max(self._history.in_use[steps.start : steps.stop]) / self._high * _CURVE
            points += [(begin, y), (end, y)]
        return [
            Path((*points, (points[-1][0], low)), "tint2", closed=True),
            Path(tuple(points), stroke="soft", stroke_width=1.3),
            Line(LEFT, self._curve_top, self._right, self._curve_top, "soft", dashed=True),
            Text(LEFT - 8, self._curve_top + 4, gib(self._high), "soft", 11, anchor="end"),
            Text(LEFT - 8, low + 1, "0 B", "soft", 11, anchor="end"),
        ]

    def _frame(self) -> None:
        """Draws the device's pool, hatched, and the scale of the addresses."""
        scale = self._scale
        for each in self._history.extents:
            begin, end = self._axis.x(each.birth), self._axis.x(each.death)
            top, low = max(scale.y(each.start + each.size), scale.top), scale.y(each.start)
            self._marks.append(Rectangle(begin, top, end - begin, low - top, "hatch", opacity=0.45))
        self._marks.append(Rectangle(LEFT, scale.top, self._right - LEFT, HEIGHT, stroke="hair2"))
        self._marks += addresses(scale, LEFT - 8)

    def _band(self, band: Band) -> None:
        begin, end = self._axis.x(band.birth), self._axis.x(band.death)
        if band.size < self._scale.least or end - begin <= 0:
            return
        top, middle, low = self._scale.sides(band)
        x, token, width = begin + 0.4, OF_GROUP[band.group], max(end - begin - 0.8, 0.6)
        sizes = {"asked": gib(band.requested), "charged": gib(band.size)}
        title = filled(self._words["bandTitle"], name=band.about(self._words), **sizes)
        self._marks.append(Rectangle(x, top, width, low - top, "paper", title=title))
        if self._scale.is_pale(band):
            self._marks.append(Rectangle(x, top, width, middle - top, token, opacity=PALE))
        self._marks.append(Rectangle(x, middle, width, low - middle, token, radius=2 if width > 6 else 0))
        if low - middle > 12 and width > 36:
            name = shortened(band.title(self._words), width - 8)
            if name:
                self._marks.append(Text(begin + 5, (middle + low) / 2 + 4, name, text_on(token), 11, 600, mono=True))

    def _refusal(self, refusal: Refusal) -> None:
        """Draws a red line, and the request at its true height over the largest hole."""
        scale, (begin, end) = self._scale, (self._axis.x(refusal.step), self._axis.x(refusal.step + 1))
        self._marks.append(Line(begin, self._curve_top - 4, begin, scale.bottom, "hot", 1.6))
        if end - begin < 80:
            return
        words = self._words["outOfMemory"]
        width = width_of(words, 11, 650) + 14
        is_last = refusal == self._history.refusals[-1]
        if is_last or width <= end - begin:
            x, y = min(begin - 1, self._side - 8 - width), self._curve_top
            self._marks.append(Rectangle(x, y - 13, width, 17, "hot", radius=3, is_tag=True))
            self._marks.append(Text(x + 7, y, words, "paper", 11, 650))
        holes = self._history.holes(refusal.step) or [(0, 0)]
        start, size = max(holes, key=lambda hole: (hole[1], -hole[0]))
        height = min(refusal.event.nbytes / self._high * HEIGHT, HEIGHT)
        top = min(max(scale.y(start + size / 2) - height / 2, scale.top), scale.bottom - height)
        sides = begin + 5, top, end - begin - 10, height
        self._marks += [
            Rectangle(*sides, "paper", radius=3, opacity=0.93),
            Rectangle(*sides, stroke="hot", stroke_width=1.8, radius=3, dashed=True),
            *self._request(refusal, sides[0] + sides[2] / 2, top + height / 2, sides[2]),
        ]

    def _request(self, refusal: Refusal, x: float, y: float, width: float) -> list[Text]:
        """Returns the text on a request, which may be taller than the request, but stays within the plane."""
        text = filled(self._words["asked"], size=shortage_of(refusal.event).sizes["asked"])
        lines = [Text(x, 0, text, "hot", 11, 650, "middle", halo=True)]
        lines += [Text(x, 0, self._words["noHole"], "hot", 11, anchor="middle", halo=True)]
        width = max(width, *(width_of(word, 11, line.weight) for line in lines for word in line.words.split()))
        texts = [(text, words) for text in lines for words in lines_of(text, width)]
        below = 13 * (len(texts) - 1)
        first = min(max(y + 4 - below / 2, self._scale.top + 13), self._scale.bottom - 5 - below)
        return [
            replace(text, y=first + 13 * at, words=words, continues=at > 0) for at, (text, words) in enumerate(texts)
        ]

    def _scrubber(self) -> None:
        x, y = self._axis.middle(self._step), self._scale.bottom
        head = ((x - 6, y), (x + 6, y), (x + 6, y + 5), (x, y + 11), (x - 6, y + 5))
        self._marks += [Line(x, self._curve_top, x, y, "ink", 1.5), Path(head, "ink", closed=True)]

    def _foot(self, explained: bool) -> float:
        """Draws the legend and the explanation of a failed request; returns the lowest baseline."""
        history, y, x, right = self._history, self._scale.bottom + 40, LEFT, self._width - MARGIN
        drawn = [band for band in history.bands if band.size >= self._scale.least]
        groups = {band.group for band in drawn}
        entries = [(OF_GROUP[group], self._words[group], 1.0) for group in GROUPS if group in groups]
        pale = next((band for band in drawn if self._scale.is_pale(band)), None)
        entries += [(OF_GROUP[pale.group], self._words["beyond"], PALE)] if pale else []
        for token, name, opacity in [*entries, ("hatch", self._words["free"], 1.0)]:
            text = Text(0, 0, name, "soft", 11)
            if x + 15 + text.width > right:
                x, y = LEFT, y + 18
            stroke = "line" if token == "hatch" else ""
            self._marks.append(Rectangle(x, y - 9, 10, 10, token, stroke, radius=2, opacity=opacity))
            self._marks.append(Text(x + 15, y, text.words, "soft", 11))
            x += 29 + text.width
        folded = len(history.bands) - len(drawn)
        if folded:
            note = filled(self._words["foldedPieces"], n=folded, size=gib(int(self._scale.least)))
            y += 18 if x + width_of(note, 11) > right else 0
            self._marks.append(Text(right, y, note, "soft", 11, anchor="end"))
        return self._detail(history.refusals[-1], y + 12) if history.refusals and explained else y

    def _detail(self, refusal: Refusal, y: float) -> float:
        """Draws the error's sentences, the line, and what would have helped; returns the lowest baseline."""
        event, words = refusal.event, self._words
        rows = [Text(0, 0, words["outOfMemory"], size=13, weight=650)]
        rows += [Text(0, 0, request_in_words(event) + shortage_in_words(event, words))]
        rows += [Text(0, 0, line, "soft", 11, mono=True) for line in [self._code_line(event.site)] if line]
        rows += [Text(0, 0, hint, size=11, weight=600) for hint in hints(self._history, refusal, self._fits, words)]
        self._marks.append(Line(MARGIN, y, self._width - MARGIN, y))
        top = y + 12
        y += 7
        for row in rows:
            texts, y = flowed([row], MARGIN + 14, self._width - MARGIN, y + 18)
            self._marks += texts
        self._marks.append(Rectangle(MARGIN, top, 5, y + 4 - top, "hot", radius=2))
        return y
