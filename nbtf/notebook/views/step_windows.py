"""The part of a long recording's steps that a page replays, with a summary of the steps before it.

A step is an op or a copy, as a row of `steps.COLUMNS`; constants and copies of single values are not steps. The columns
of a recording (`Snapshot.work`) are read once per replay. The situation at any step follows from them by counting,
which takes a nanosecond per step: no states are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nbtf import runtime
from nbtf.notebook.device_names import short
from nbtf.notebook.stills.schedule import CONSTANT, SMALLEST_COPY
from nbtf.notebook.tables import one_line
from nbtf.notebook.views import steps

WINDOW = 750
"""Steps per answer: less than 100 KB."""

FULL_STEPS = 200
"""Number of steps in an answer before the requested one, because the replay may go back."""


class StepWindows:
    """The recorded steps from some event on, in windows that a page requests."""

    def __init__(
        self,
        snapshot: runtime.Snapshot,
        first: int,
        cells: Sequence[tuple[int, str]],
        code_line: Callable[[runtime.Site], str],
        since: float,
    ) -> None:
        """Reads the columns once.

        Args:
          snapshot: snapshot of the recorder, with the totals of the visible part.
          first: smallest number of an event that is shown.
          cells: first event number that each cell can have, and the name of the cell.
          code_line: formats a code line as text.
          since: when the view's clock began, in seconds since the epoch.
        """
        self._work = snapshot.work
        self._code_line = code_line
        self._since = since
        self.cut: bool = bool(snapshot.cut)
        is_shown = np.array([steps.is_step(fact.event) for fact in self._work.facts], bool)
        rows = np.flatnonzero(is_shown[self._work.fact] & (self._work.seq >= first))
        self._rows, self._facts, self._seq = rows, self._work.fact[rows], self._work.seq[rows]
        self._levels = snapshot.levels
        begins: list[int] = self._seq.searchsorted(np.array([seq for seq, _ in cells], np.int64)).tolist()
        self._cells = {begin: name for begin, (_, name) in zip(begins, cells, strict=True) if begin < len(rows)}

    def __len__(self) -> int:
        """Returns the number of steps."""
        return len(self._rows)

    def window(self, step: int) -> dict[str, Any]:
        """Returns the steps around a given step, and a summary of what happened before the first of them.

        Args:
          step: its number, from 0; the last step if there are fewer.

        Returns:
          `steps` with their `words`; `begin`, the number of the first, and `count`, how many there are in all; `cells`,
          by the numbers of their first steps; `cut`, whether earlier steps are no longer kept, and `known`, the
          milliseconds of the first kept one; `levels`, by device, as `[step, in use, pool]` for each change, starting
          before the first step; and `before`, what had run in the first step's cell, the newest last: `counts` as
          `[device, op, how often, why]`, `copies`, and the `small` among them.
        """
        begin = max(0, min(step - FULL_STEPS, len(self) - WINDOW))
        numbers, words = range(begin, min(begin + WINDOW, len(self))), steps.Words()
        rows = [self._row(at, words) for at in numbers]
        return {
            "begin": begin,
            "count": len(self),
            "cut": self.cut,
            "known": self._ms(int(self._rows[0])) if len(self) else 0,
            "cells": [[first, name] for first, name in self._cells.items()],
            "steps": rows,
            "words": words.all,
            "levels": {short(device): self._levels_in(device, numbers) for device in self._levels},
            "before": self._before(begin),
        }

    def _row(self, at: int, words: steps.Words) -> list[Any]:
        row = int(self._rows[at])
        fact = self._work.facts[int(self._facts[at])]
        event: Any = fact.event
        row_type, reason, device = steps.OP, None, event.target if isinstance(event, runtime.Copied) else event.device
        if isinstance(event, runtime.Copied):
            row_type, reason = steps.COPY, steps.copied_for(event, self._op_behind(row))
        elif fact.reason is not None:
            row_type = steps.FAILED if isinstance(event, runtime.OpPlaced) else steps.OP
            reason = steps.reason_in_words(event.op, event.device, fact.reason)
        level = self._level(device, int(self._seq[at]))
        timed = (int(self._seq[at]), self._ms(row), self._work.seconds[row])
        return steps.row_of(row_type, event, timed, reason, level, words, self._code_line)

    def _ms(self, row: int) -> int:
        return max(0, int((self._work.time[row] - self._since) * 1000))

    def _op_behind(self, row: int) -> str | None:
        """Returns the op that needed a copy: the next one on its line."""
        site = self._work.facts[int(self._work.fact[row])].event.site
        following: list[int] = self._work.fact[row + 1 : row + 1 + FULL_STEPS].tolist()
        for event in [self._work.facts[fact].event for fact in following]:
            if not isinstance(event, runtime.Copied) and event.op != CONSTANT and event.site == site:
                return event.op
        return None

    def _level(self, device: str, seq: int) -> tuple[int, int]:
        if device not in self._levels:
            return steps.NOBODY
        seqs, in_use, pool = self._levels[device]
        at = int(seqs.searchsorted(seq, "right")) - 1
        return (int(in_use[at]), int(pool[at])) if at >= 0 else steps.NOBODY

    def _levels_in(self, device: str, numbers: range) -> list[list[int]]:
        """Returns a device's memory before a range of steps, and at each change within it."""
        seqs, in_use, pool = self._levels[device]
        ends = self._seq[[max(0, numbers.start - 1), *numbers]] if numbers else self._seq[:0]
        if not numbers.start and len(ends):
            ends[0] -= 1
        at = seqs.searchsorted(ends, "right") - 1
        used = np.where(at >= 0, in_use[at], -1)
        pools = np.where(at >= 0, pool[at], -1)
        changed = np.flatnonzero(np.diff(used, prepend=-2) | np.diff(pools, prepend=-2))
        return [[int(step) - 1, int(used[step]), int(pools[step])] for step in changed]

    def _before(self, begin: int) -> dict[str, list[list[Any]]]:
        """Returns a summary of what ran in a step's cell before the step."""
        first = max((cell for cell in self._cells if cell <= begin), default=0)
        facts = self._facts[first:begin]
        times, last = np.bincount(facts, minlength=1), np.zeros(len(self._work.facts) + 1, np.int64)
        last[facts] = np.arange(len(facts))
        counts: dict[tuple[str, str, str], list[int]] = {}
        copies: dict[tuple[str, str], list[int]] = {}
        small: dict[tuple[str, str], list[int]] = {}
        for number in sorted(np.flatnonzero(times).tolist(), key=lambda number: last[number]):
            fact, count = self._work.facts[number], int(times[number])
            event = fact.event
            if isinstance(event, runtime.Copied):
                route = short(event.source), short(event.target)
                for sums in (copies, small) if event.nbytes < SMALLEST_COPY else (copies,):
                    _add(sums, route, count, count * event.nbytes)
            else:
                reason = (
                    "" if fact.reason is None else one_line(steps.reason_in_words(event.op, event.device, fact.reason))
                )
                _add(counts, (short(event.device), one_line(event.op), reason), count)
        return {
            "counts": [[device, op, count, reason] for (device, op, reason), (count,) in counts.items()],
            "copies": [[*route, *sums] for route, sums in copies.items()],
            "small": [[*route, *sums] for route, sums in small.items()],
        }


def _add(sums: dict[Any, list[int]], key: tuple[str, ...], *amounts: int) -> None:
    """Adds amounts to the sums of a key, and moves the key to the end."""
    sums[key] = [a + b for a, b in zip(sums.pop(key, [0] * len(amounts)), amounts, strict=True)]
