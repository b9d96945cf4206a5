"""What does a page need of a recording to draw its timeline? Columns of numbers, and each text once."""

from __future__ import annotations

import sys
from array import array
from base64 import b64encode
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from nbtf import runtime
from nbtf.notebook.stills.decision import reason_in_words
from nbtf.notebook.stills.lanes import bytes_in_words, shape_of
from nbtf.notebook.stills.schedule import SHORTEST_OP, SMALLEST_COPY, Schedule, Work
from nbtf.notebook.stills.stacks import Colouring, colouring

CodeLine = Callable[[runtime.Site], str]
_Entry = TypeVar("_Entry", bound=Hashable)


@dataclass
class _Numbered(Generic[_Entry]):
    """Entries by number, each once."""

    numbers: dict[_Entry, int] = field(default_factory=dict[_Entry, int])

    def __getitem__(self, entry: _Entry) -> int:
        return self.numbers.setdefault(entry, len(self.numbers))


def timeline_data(schedule: Schedule, code_line: CodeLine, colours: Colouring | None = None) -> dict[str, Any]:
    """Returns what `static/timeline_scene.js` takes: some 33 letters for an op, 46 for a copy.

    Args:
      schedule: what ran and when.
      code_line: says a line of the program in words.
      colours: of the ops; those of the schedule when None.
    """
    colours = colours or colouring(schedule)
    sites, facts = _Numbered[Any](), _Numbered[Any]()
    by_lane = [schedule.ops_on(lane) for lane in schedule.lanes]
    ops = [work for works in by_lane for work in works]
    of_op = [facts[_entry(work, sites)] for work in ops]
    lanes = {name: number for number, name in enumerate(schedule.lanes)}
    copies = schedule.copies
    return {
        "clock": schedule.clock,
        "lanes": schedule.lanes,
        "counts": [len(works) for works in by_lane],
        "seconds": schedule.seconds,
        "executed": schedule.executed,
        "copied": schedule.copied,
        "cut": schedule.cut,
        "shortestOp": SHORTEST_OP,
        "smallestCopy": SMALLEST_COPY,
        "byPhase": colours.by_phase,
        "keys": colours.keys(),
        "exchanges": schedule.exchanges,
        "facts": [_fact(work, colours, sites) for work in _first_of_each(ops, of_op)],
        "lines": [code_line(site) for site in sites.numbers],
        "ops": {
            "start": packed("d", (work.start for work in ops)),
            "seconds": packed("d", (work.seconds for work in ops)),
            "fact": packed("I", of_op),
            "seq": packed("I", (work.seq for work in ops)),
        },
        "copies": {
            "source": packed("H", (lanes[copy.source] for copy in copies)),
            "target": packed("H", (lanes[copy.target] for copy in copies)),
            "start": packed("d", (copy.start for copy in copies)),
            "seconds": packed("d", (copy.seconds for copy in copies)),
            "nbytes": packed("d", (copy.nbytes for copy in copies)),
            "seq": packed("I", (copy.seq for copy in copies)),
        },
    }


def _entry(work: Work, sites: _Numbered[Any]) -> tuple[Any, ...]:
    """Returns what many ops have in common."""
    return work.op, work.phase, work.layer, work.output, work.reason, sites[work.site] if work.site else -1


def _first_of_each(ops: Iterable[Work], numbers: Iterable[int]) -> list[Work]:
    """Returns an op for each number, in their order."""
    first: dict[int, Work] = {}
    for work, number in zip(ops, numbers, strict=True):
        first.setdefault(number, work)
    return list(first.values())


def _fact(work: Work, colours: Colouring, sites: _Numbered[Any]) -> tuple[Any, ...]:
    output, shape = work.output, shape_of(work)
    result = f"{shape} {output.dtype}, {bytes_in_words(output.nbytes)}" if output is not None else ""
    reason_text = reason_in_words(work.reason, work.op) if work.reason is not None else ""
    site = sites[work.site] if work.site else -1
    return work.op, work.phase, work.layer, colours.of(work), shape, result, reason_text, site


def packed(form: str, numbers: Iterable[float]) -> str:
    """Returns numbers as a page's typed arrays read them: little-endian, in base64."""
    column = array(form, numbers)
    if sys.byteorder == "big":
        column.byteswap()
    return b64encode(column.tobytes()).decode("ascii")
