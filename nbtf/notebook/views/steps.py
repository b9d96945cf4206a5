"""Events as rows of a view: one for each op, one for each copy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from nbtf import runtime
from nbtf.notebook.device_names import short
from nbtf.notebook.stills.schedule import CONSTANT
from nbtf.notebook.tables import one_line

COLUMNS = tuple("kind seq ms op device target why code out nbytes in_use pool seconds modelled node".split())
MOST = 200
"""Maximum number of rows in a state."""

NEWEST = 20
"""Maximum number of rows while a cell runs; a loop makes thousands between two messages."""

EVENTS = 1000
"""Events to read: an op has four with what it frees, a copy three, so these are enough for all rows."""

NEWEST_EVENTS = 200
"""Events to read while a cell runs."""

SINGLE = 4
"""Size of a Python value whose copy to or from a device is not a step: a single number."""

OP, COPY, FAILED = 0, 1, 2
NOBODY = (-1, -1)
"""Placeholder for memory in use and pool if no event reported them."""

REMEMBERED = 4096
"""Texts in each cache: more than a state shows, so that a view costs little while a loop runs."""


def is_step(event: runtime.Event) -> bool:
    """Returns whether an op or a copy is a step: constants are not, nor are single numbers that are copied."""
    if isinstance(event, runtime.Copied):
        return event.kind == "move" or event.nbytes > SINGLE
    return not isinstance(event, runtime.OpExecuted | runtime.OpPlaced) or event.op != CONSTANT


class Words:
    """Texts by number, each stored once and cut to the length that a view shows."""

    def __init__(self, previous: Words | None = None) -> None:
        """Starts with the texts that an earlier state used; they keep their numbers."""
        self.all: list[str] = [] if previous is None else list(previous.all)
        self._numbers: dict[str, int] = (
            {} if previous is None else {text: previous._numbers[text] for text in previous._used}
        )
        self._free = sorted({*range(len(self.all))}.difference(self._numbers.values()), reverse=True)
        self._used: set[str] = set()

    def of(self, text: str | None) -> int:
        """Returns the number of a text; -1 for none."""
        if text is None:
            return -1
        self._used.add(text)
        number = self._numbers.get(text)
        if number is None:
            if not self._free:
                self._free.append(len(self.all))
                self.all.append("")
            number = self._numbers[text] = self._free.pop()
            self.all[number] = one_line(text)
        return number


@lru_cache(REMEMBERED)
def reason_in_words(op: str, device: str, reason: runtime.Reason) -> str:
    """Returns why an op was placed on its device, without naming the device."""
    return runtime.in_words(op, device, reason).partition(": ")[2]


@lru_cache(REMEMBERED)
def described(shape: tuple[int, ...], dtype: str) -> str:
    """Returns shape and dtype as views show them: `[2,2] float32`."""
    return f"[{','.join(map(str, shape))}] {dtype}"


class _Step(NamedTuple):
    """An op or a copy: the event that reported its end, or its beginning if it has no end."""

    seq: int
    row_type: int
    event: Any
    reason: str | None
    memory: tuple[int, int]


class _Story:
    """Groups the events of each op. Events of several threads may alternate; code lines distinguish them."""

    def __init__(self) -> None:
        self.steps: list[_Step] = []
        self._waiting: dict[tuple[str, str, runtime.Site], list[runtime.OpPlaced]] = {}
        self._doing: dict[runtime.Site, str] = {}
        self._copies: dict[tuple[str, runtime.Site], int] = {}
        self._memory: dict[tuple[str, runtime.Site], tuple[int, int]] = {}

    def take(self, event: Any) -> None:
        event_class = event.__class__
        if event_class is runtime.OpPlaced:
            self._begin(event)
        elif event_class is runtime.OpExecuted:
            self._end(event)
        elif event_class is runtime.Copied:
            self._copies[event.target, event.site] = len(self.steps)
            # Its allocation was reported before, except on a real card.
            memory = NOBODY if event.kind == "read" else self._memory.pop((event.target, event.site), NOBODY)
            self.steps.append(_Step(event.seq, COPY, event, copied_for(event, self._doing.get(event.site)), memory))
        elif event_class is runtime.Allocated:
            self._allocated(event)

    def finish(self) -> list[_Step]:
        """Adds the ops without an end: they failed. Ops that are still running are not recorded yet."""
        for placed in chain.from_iterable(self._waiting.values()):
            reason = reason_in_words(placed.op, placed.device, placed.reason)
            self.steps.append(_Step(placed.seq, FAILED, placed, reason, NOBODY))
        self.steps.sort(key=lambda step: step.seq)
        return self.steps

    def _begin(self, event: Any) -> None:
        self._waiting.setdefault((event.op, event.device, event.site), []).append(event)
        self._doing[event.site] = event.op

    def _end(self, event: Any) -> None:
        placed = self._waiting.get((event.op, event.device, event.site))
        memory = self._memory.pop((event.device, event.site), NOBODY)
        self._doing.pop(event.site, None)
        if placed:  # otherwise it was placed before the events that are read
            reason = reason_in_words(event.op, event.device, placed.pop().reason)
            self.steps.append(_Step(event.seq, OP, event, reason, memory))

    def _allocated(self, event: Any) -> None:
        memory = (event.in_use, event.pool)
        copy = self._copies.pop((event.device, event.site), None)
        if copy is None:
            self._memory[event.device, event.site] = memory
        else:
            self.steps[copy] = self.steps[copy]._replace(memory=memory)


def copied_for(event: Any, op: str | None) -> str | None:
    """Returns why a value was copied, as text; `op` is the op on its line, if any."""
    if event.node:
        return {"move": "input of ", "upload": "value of ", "read": "fetched: "}[event.kind] + event.node
    if event.kind == "move":
        return None if op is None else f"input of {op}"
    return "a Python value" if event.kind == "upload" else "read by Python"


def steps(
    events: Iterable[runtime.Event],
    words: Words,
    code_line: Callable[[runtime.Site], str],
    since: float,
    limit: int = MOST,
) -> tuple[list[list[Any]], bool]:
    """Returns the last rows, oldest first, in the order of `COLUMNS`, and whether earlier rows were left out.

    Constants have no rows.

    Args:
      events: in the order in which they occurred.
      words: table of texts; rows hold their numbers.
      code_line: formats a code line as text.
      since: when the view's clock began, in seconds since the epoch.
      limit: maximum number of rows.
    """
    story = _Story()
    for event in events:
        story.take(event)
    every = [step for step in story.finish() if is_step(step.event)]
    return [_row(step, words, code_line, since) for step in every[-limit:]], len(every) > limit


def _row(step: _Step, words: Words, code_line: Callable[[runtime.Site], str], since: float) -> list[Any]:
    event: Any = step.event
    seconds = getattr(event, "seconds", 0.0)
    timed = (event.seq, max(0, int((event.time - since) * 1000)), seconds)
    return row_of(step.row_type, event, timed, step.reason, step.memory, words, code_line)


def row_of(
    row_type: int,
    event: Any,
    timed: tuple[int, int, float],
    reason: str | None,
    memory: tuple[int, int],
    words: Words,
    code_line: Callable[[runtime.Site], str],
) -> list[Any]:
    """Returns a step in the order of `COLUMNS`.

    Args:
      row_type: `OP`, `COPY` or `FAILED`.
      event: the event that reported it, or a similar one.
      timed: its number, its time in milliseconds since the view's clock began, and its duration in seconds.
      reason: as text.
      memory: bytes in use and in the pool afterwards.
      words: table of texts.
      code_line: formats a code line as text.
    """
    of, (seq, ms, seconds) = words.of, timed
    op, device, target, out, nbytes, modelled = "copy", "", None, None, 0, False
    if row_type == COPY:
        device, target, nbytes, modelled = event.source, short(event.target), event.nbytes, event.modelled
    else:
        op, device = event.op, event.device
    if row_type == OP:
        out = "; ".join([described(output.shape, output.dtype) for output in event.outputs]) or None
        nbytes, modelled = sum([output.nbytes for output in event.outputs]), event.timing == "modelled"
    return [
        row_type,
        seq,
        ms,
        of(op),
        of(short(device)),
        of(target),
        of(reason),
        of(code_line(event.site) or None),
        of(out),
        nbytes,
        *memory,
        float(f"{seconds:.3g}"),  # three digits are enough; all of them would double the size of the message
        int(modelled),
        of(event.node),
    ]
