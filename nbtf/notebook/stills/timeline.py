"""Draws a recording's timeline: where the time went, and which device waited for which."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import floor, log10

from nbtf import runtime
from nbtf.notebook import catalogue
from nbtf.notebook.catalogue import filled
from nbtf.notebook.stills.device_facts import short_in_cluster
from nbtf.notebook.stills.flow import flowed
from nbtf.notebook.stills.glyphs import width_of
from nbtf.notebook.stills.lanes import (
    LaneDrawing,
    Scale,
    bytes_in_words,
    density_width,
    drawn_copies,
    seconds_in_words,
    shape_of,
)
from nbtf.notebook.stills.marks import WIDTH, Group, Line, Mark, Path, Picture, Rectangle, Text, framed
from nbtf.notebook.stills.reasons import reason_in_words
from nbtf.notebook.stills.schedule import MODELLED, Schedule, Trace, Work, is_host
from nbtf.notebook.stills.stacks import colouring, spans_of, stacked

_MARGIN = 16.0
_LABELS = 126.0
"""Minimum width of the column with the names of the lanes."""

_LANE, _BELOW_LANE, _HOST, _BELOW_HOST = 44.0, 26.0, 20.0, 22.0
_OVERVIEW = 44.0
_MOST_LANES = 16
_TRACES = 22.0
_MOST_REASONS = 3
"""Maximum number of repeated traces that the foot explains."""

_CAUSES = {"variables": "traceVariables", "replica": "traceReplica", "failure": "traceFailure"}
"""Texts for traces that no argument caused."""

Words = Mapping[str, str]
CodeLine = Callable[[runtime.Site], str]


def timeline(
    schedule: Schedule, width: float = WIDTH, words: Words | None = None, code_line: CodeLine = str
) -> Picture:
    """Returns a picture of what ran when, with a lane for each device.

    Args:
      schedule: the schedule of a recording, from `schedule_of`.
      width: in px; at least 480 are used.
      words: texts of the section `timeline`; None uses those of the environment's language.
      code_line: formats a line of the program as text.
    """
    return _Timeline(schedule, max(width, 480.0), words or catalogue.words("timeline"), code_line).picture()


class _Timeline:
    """Draws from the top down; `_y` is the current position."""

    def __init__(self, schedule: Schedule, width: float, words: Words, code_line: CodeLine) -> None:
        self._schedule, self._width, self._words, self._code_line = schedule, width, words, code_line
        self._lanes = schedule.lanes[:_MOST_LANES]
        self._clock = words[schedule.clock]
        self._colours = colouring(schedule)
        self._labels = {lane: self._label(lane) for lane in self._lanes}
        columns = [_MARGIN + text.width + 12 for texts in self._labels.values() for text in texts]
        self._right = width - _MARGIN
        columns += [_MARGIN + text.width + 12 for text in self._overview_labels()]
        self._scale = Scale(max(_LABELS, *columns), self._right, schedule.seconds)
        self._marks: list[Mark] = []
        self._y = 0.0

    def picture(self) -> Picture:
        """Returns the complete picture."""
        self._head()
        self._overview()
        self._body()
        self._foot()
        height = round(self._y + _MARGIN)
        return framed(self._width, height, self._title(), self._marks)

    def _title(self) -> str:
        seconds = seconds_in_words(self._schedule.seconds)
        lanes = "; ".join(
            f"{lane}: {', '.join(text.words for text in texts[1:])}"
            for lane, texts in self._labels.items()
            if not is_host(lane)
        )
        return filled(self._words["about"], seconds=seconds, clock=self._clock, lanes=lanes)

    # Head

    def _head(self) -> None:
        words = self._words
        title = Text(_MARGIN, 28, words["title"], size=15, weight=650)
        begin = title.x + title.width + 12
        state = Text(begin + 17, 27, words["ended"], "soft", 11, 600)
        self._marks += [
            title,
            Rectangle(begin, 14, state.width + 25, 18, stroke="line", radius=9, is_tag=True),
            Rectangle(begin + 7, 20, 6, 6, "line", radius=3, is_tag=True),
            state,
        ]
        self._y = 28.0
        keys = [(token, words[name]) for name, token in self._colours.keys()]
        if self._schedule.copies:
            keys.append(("cpyf", words["copy"]))
        honest = words["simulated" if self._schedule.clock == MODELLED else "real"]
        about = Text(begin + state.width + 37, 27, honest, "soft", required=True)
        end = about.x + about.width
        needed = sum(29 + width_of(name, 11) for _, name in keys) - 14
        if end + 20 + needed <= self._right:
            self._marks.append(about)
            self._keys(self._right - needed, keys)
            return
        if end <= self._right:
            self._marks.append(about)
        else:
            self._flow([Text(0, 0, honest, "soft", required=True)])
        self._y += 20
        self._keys(_MARGIN, keys)

    def _keys(self, x: float, keys: list[tuple[str, str]]) -> None:
        for token, name in keys:
            text = Text(x + 15, self._y - 1, name, "soft", 11)
            if text.x + text.width > self._right + 0.5:
                self._y += 18
                x = _MARGIN
                text = Text(x + 15, self._y - 1, name, "soft", 11)
            stroke = "cpy" if token == "cpyf" else ""
            self._marks += [Rectangle(x, self._y - 10, 10, 10, token, stroke, 0.8, 2), text]
            x = text.x + text.width + 14

    # Overview

    def _overview_labels(self) -> list[Text]:
        seconds = filled(self._words["span"], seconds=seconds_in_words(self._schedule.seconds), clock=self._clock)
        return [Text(_MARGIN, 0, self._words["whole"], "soft", 11), Text(_MARGIN, 0, seconds, size=11, weight=600)]

    def _overview(self) -> None:
        top, scale = self._y + 18, self._scale
        self._marks.append(Rectangle(scale.begin, top, scale.width, _OVERVIEW, "tint", radius=4))
        cards = [lane for lane in self._lanes if not is_host(lane)] or list(self._lanes)
        step = max(2.0, density_width(self._schedule, scale))
        row = (_OVERVIEW - 8) / max(len(cards), 1)
        for number, lane in enumerate(cards):
            y, height = top + 4 + number * row, max(row - 1, 1.0)
            spans = spans_of(self._schedule.ops_on(lane), self._schedule.copies_of(lane), self._colours)
            self._marks += stacked(spans, scale, y, height, step)
        first, second = self._overview_labels()
        for text, y in ((first, top + 19), (second, top + 34)):
            self._marks.append(Text(text.x, y, text.words, text.fill, text.size, text.weight))
        self._y = top + _OVERVIEW

    # Lanes

    def _body(self) -> None:
        self._traces()
        top, tops = self._y + 26, dict[str, float]()
        y = top + 8
        for lane in self._lanes:
            tops[lane] = y
            y += _HOST + _BELOW_HOST if is_host(lane) else _LANE + _BELOW_LANE
        bottom = y - 8
        self._axis(top, bottom)
        schedule, scale = self._schedule, self._scale
        step = density_width(schedule, scale)
        drawings = [LaneDrawing(schedule, lane, tops[lane], _height(lane), scale, step) for lane in self._lanes]
        for drawing in drawings:
            self._marks.append(drawing.ground())
            for text, below in zip(self._labels[drawing.device], (15, 31, 45), strict=False):
                self._marks.append(Text(text.x, drawing.y + below, text.words, text.fill, text.size, text.weight))
        self._marks += drawn_copies(schedule, drawings, scale, self._words)
        for drawing in drawings:
            self._marks += drawing.blocks(self._colours)
            if not is_host(drawing.device):
                self._marks += drawing.groups(self._colours, self._words, self._code_line)
        self._choose(drawings)
        self._exchanges(tops)
        self._y = bottom

    def _traces(self) -> None:
        """Adds a row of flags where functions were traced; flags without enough space have no name."""
        traces, end = self._schedule.traces, 0.0
        if traces:
            self._y += _TRACES
        for number, trace in enumerate(traces):
            x, y = self._scale.at(trace.start), self._y
            room = self._scale.at(traces[number + 1].start) - 6 if number + 1 < len(traces) else self._right
            flag = Path(((x - 4, y - 6), (x + 4, y - 6), (x, y)), "ink", closed=True)
            name = Text(x + 7, y, self._traced(trace), size=11)
            if name.x + name.width > self._right:
                name = Text(x - 7, y, name.words, size=11, anchor="end")
            fits = end <= name.begin and name.begin + name.width <= max(room, x)
            self._marks.append(Group((flag, name) if fits else (flag,), self._trace_sentence(trace)))
            end = max(x, name.begin + name.width if fits else 0.0) + 8

    def _traced(self, trace: Trace) -> str:
        return filled(self._words["trace" if trace.cause == "first" else "retrace"], name=trace.function)

    def _trace_sentence(self, trace: Trace) -> str:
        """Returns why a function was traced again."""
        name, words = self._traced(trace), self._words
        if trace.cause == "first":
            return name
        reasons = [
            filled(words["traceReason"], argument=argument, now=now, before=before)
            for argument, now, before in trace.differences
        ] or [words[_CAUSES[trace.cause]]]
        return filled(words["traceSentence"], name=name, why=", ".join(reasons))

    def _label(self, lane: str) -> list[Text]:
        name, schedule, words = (
            Text(_MARGIN, 0, short_in_cluster(lane), size=13, weight=650),
            self._schedule,
            self._words,
        )
        if is_host(lane):
            return [Text(_MARGIN, 0, f"{lane} {words['host']}", size=13, weight=650)]
        ops = filled(words["ops"], percent=schedule.share(schedule.ops_on(lane)))
        copies = filled(words["copies"], percent=schedule.share(schedule.copies_of(lane)))
        return [name, Text(_MARGIN, 0, ops, "soft", 11), Text(_MARGIN, 0, copies, "soft", 11)]

    def _axis(self, top: float, bottom: float) -> None:
        scale, step = self._scale, self._tick()
        end = 0.0
        for number in range(floor(scale.seconds / step) + 1 if step else 1):
            x = scale.at(number * step)
            words = seconds_in_words(number * step) if number else "0"
            half = width_of(words, 11) / 2
            text = Text(max(scale.begin, min(x, self._right - half) - half), top - 9, words, "soft", 11, fixed=True)
            self._marks.append(Line(x, top - 4, x, bottom))
            if text.begin >= end:
                self._marks.append(text)
                end = text.begin + text.width + 8

    def _tick(self) -> float:
        """Returns the seconds between two grid lines: 1, 2 or 5 of a unit, so that there are at most twelve."""
        if not self._scale.seconds:
            return 0.0
        shortest = self._scale.seconds / min(12.0, self._scale.width / 68)
        unit = 10.0 ** floor(log10(shortest))
        return next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= shortest * 0.999)

    def _choose(self, drawings: list[LaneDrawing]) -> None:
        longest = self._schedule.longest
        for drawing in drawings:
            if longest is not None and drawing.device == longest.device:
                x, end = self._scale.at(longest.start), self._scale.at(longest.end)
                width, height = end - x + 4, drawing.height + 4
                self._marks.append(Rectangle(x - 2, drawing.y - 2, width, height, "", "focus", 2, 4))

    def _exchanges(self, tops: Mapping[str, float]) -> None:
        host = next((lane for lane in self._lanes if is_host(lane)), None)
        exchanges = self._schedule.exchanges
        if host is None:
            return
        middle, key = tops[host] + _HOST / 2, "allReduce" if len(exchanges) == 1 else "allReduces"
        for exchange in exchanges:
            begin, end = self._scale.at(exchange.start), self._scale.at(exchange.end)
            percent = round(100 * (exchange.end - exchange.start) / (self._schedule.seconds or 1.0))
            figures = {"n": exchange.copies, "nbytes": bytes_in_words(exchange.nbytes), "percent": percent}
            words = filled(self._words[key], **figures)
            bracket = ((begin + 0.5, middle + 9), (begin + 0.5, middle), (end - 0.5, middle), (end - 0.5, middle + 9))
            marks: list[Mark] = [Path(bracket, stroke="cpy", stroke_width=1.5)]
            short = filled(self._words["exchange"], **figures)
            tries = (Text((begin + end) / 2, middle + 4, *label, 650, "middle") for label in _labels(words, short))
            text = next((text for text in tries if text.width + 20 < end - begin), None)
            if text is not None:
                marks += [Rectangle(text.begin - 6, middle - 9, text.width + 12, 18, "tint"), text]
            self._marks.append(Group(tuple(marks), words))

    # Foot

    def _foot(self) -> None:
        self._marks.append(Line(_MARGIN, self._y + 6, self._right, self._y + 6))
        self._y += 8
        longest = self._schedule.longest
        retraces = [trace for trace in self._schedule.traces if trace.cause != "first"]
        if retraces:
            self._flow([Text(0, 0, self._trace_sentence(trace)) for trace in retraces[:_MOST_REASONS]])
        if len(retraces) > _MOST_REASONS:
            self._flow([Text(0, 0, filled(self._words["moreTraces"], n=len(retraces) - _MOST_REASONS), "soft", 11)])
        if longest is not None:
            top = self._y
            self._flow(list(self._about(longest)), 30)
            self._flow(list(self._because(longest)), 30)
            token = self._colours.of(longest)
            self._marks.append(Rectangle(_MARGIN, top + 8, 5, self._y - top - 4, token, radius=2))
        self._flow([Text(0, 0, text, "soft", 11) for text in self._folded()], _MARGIN if longest is None else 30)

    def _about(self, work: Work) -> Iterator[Text]:
        yield Text(0, 0, work.op, size=13, weight=650, mono=True)
        yield Text(0, 0, work.device)
        if work.phase:
            of = filled(self._words["of"], phase=self._words[work.phase], layer=work.layer)
            yield Text(0, 0, of if work.layer else self._words[work.phase])
        if work.output is not None:
            yield Text(0, 0, f"{shape_of(work)} {work.output.dtype}, {bytes_in_words(work.output.nbytes)}")
        yield Text(0, 0, f"{seconds_in_words(work.seconds)} {self._clock}", required=True)

    def _because(self, work: Work) -> Iterator[Text]:
        if work.reason is not None:
            reason = reason_in_words(work.reason, work.op)
            yield Text(0, 0, filled(self._words["why"], why=reason))
        line = self._code_line(work.site) if work.site is not None else ""
        if line:
            yield Text(0, 0, line, "soft", 11, mono=True)

    def _folded(self) -> Iterator[str]:
        schedule, words = self._schedule, self._words
        yield filled(words["ran"], ops=schedule.executed, copies=schedule.copied)
        yield filled(words["folded"], **schedule.folded)
        if schedule.unclocked:
            yield filled(words["unclocked"], n=schedule.unclocked)
        if schedule.cut:
            yield filled(words["cut"], n=schedule.cut)
        if len(schedule.lanes) > len(self._lanes):
            yield filled(words["more"], n=len(schedule.lanes) - len(self._lanes))

    def _flow(self, texts: list[Text], begin: float = _MARGIN) -> None:
        """Adds texts on the next line, wrapped if necessary."""
        marks, self._y = flowed(texts, begin, self._right, self._y + 20)
        self._marks += marks


def _labels(words: str, short: str) -> Iterator[tuple[str, str, float]]:
    """Yields the possible labels of a bracket, with colour and size; the first that fits is used."""
    yield from ((words, "ink", 12.0), (words, "ink", 11.0), (short, "ink", 11.0))


def _height(lane: str) -> float:
    return _HOST if is_host(lane) else _LANE
