"""The horizontal axis of a memory history: the position of each step, and the labels below."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from nbtf import runtime
from nbtf.notebook.stills.glyphs import fitted
from nbtf.notebook.stills.marks import Line, Mark, Rectangle, Text
from nbtf.notebook.stills.memory_bands import Words
from nbtf.notebook.stills.memory_history import MemoryHistory, Span
from nbtf.notebook.stills.palette import OF_PHASE

CodeLine = Callable[[runtime.Site], str]

_REFUSAL = 112.0
"""Width of a failed request in px, enough to read its size."""


class StepAxis:
    """Columns of equal width, wider only for failures: one for each step that changes a piece of some minimum size."""

    def __init__(
        self, history: MemoryHistory, left: float, right: float, least_width: float, visible_steps: Sequence[int] = ()
    ):
        """Computes the layout of the steps.

        Args:
          history: the history of the steps.
          left: left edge of the first column, in px.
          right: right edge of the last column, in px.
          least_width: minimum size of a piece in bytes; smaller ones get no columns.
          visible_steps: steps that get columns whatever they change.
        """
        self.left: float = left
        self.right: float = right
        steps = max(history.steps, 1)
        refused = {refusal.step for refusal in history.refusals}
        begins = {0, *refused, *(step + 1 for step in refused), *visible_steps}
        begins |= {step for band in history.bands if band.size >= least_width for step in (band.birth, band.death)}
        self.firsts: list[int] = sorted(step for step in begins if 0 <= step < steps)
        share = min(_REFUSAL * len(refused) / (right - left), 0.5)
        ordinary = max(len(self.firsts) - len(refused), 1)
        weights = [share / len(refused) if step in refused else (1 - share) / ordinary for step in self.firsts]
        scale = (right - left) / sum(weights)
        self._edges = [left]
        for weight in weights:
            self._edges.append(self._edges[-1] + weight * scale)
        self._steps = steps

    def x(self, step: int) -> float:
        """Returns the left edge of a step's column in px; for the number of steps, the end of the axis."""
        if step >= self._steps:
            return self.right
        return self._edges[bisect_right(self.firsts, step) - 1]

    def middle(self, step: int) -> float:
        """Returns the px at which a step is marked in its column, which it may share."""
        first, last, left, right = next(
            (steps.start, steps.stop, left, right) for steps, left, right in self.columns() if step in steps
        )
        return left + (right - left) * (step - first + 0.5) / (last - first)

    def columns(self) -> list[tuple[range, float, float]]:
        """Returns the steps of each column, with its left and right edge in px."""
        edges = zip(self.firsts, [*self.firsts[1:], self._steps], self._edges, self._edges[1:], strict=False)
        return [(range(first, end), left, right) for first, end, left, right in edges]

    def spans(self, spans: Sequence[Span], y: float, words: Words, code_line: CodeLine) -> list[Mark]:
        """Returns the labels below the axis: phases, or lines of the program."""
        marks: list[Mark] = []
        merged: list[Span] = []
        for span in spans:  # a span without width shares its neighbour's label
            if merged and self.x(span.end) - self.x(span.first) < 1:
                merged[-1] = merged[-1]._replace(end=span.end)
            elif merged and (span.phase, span.site) == (merged[-1].phase, merged[-1].site):
                merged[-1] = merged[-1]._replace(end=span.end)
            else:
                merged.append(span)
        for span in merged:
            begin, end = self.x(span.first), self.x(span.end)
            if span.phase:
                marks.append(Rectangle(begin + 0.5, y + 3, end - begin - 1, 4, OF_PHASE[span.phase], radius=2))
                name = Text((begin + end) / 2, y + 20, words[span.phase], "soft", 11, anchor="middle", fixed=True)
                marks += [name] if name.width <= end - begin - 4 else []
            elif span.site is not None:
                line = fitted(code_line(span.site), end - begin - 8, 11)
                text = Text(begin + 4, y + 20, line, "soft", 11, fixed=True)
                marks += [Line(begin, y, begin, y + 8, "line"), *([text] if line else [])]
        return marks
