"""The data from which a page draws a recording: its timeline as columns of numbers, and the facts of its device map."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtf import runtime
from nbtf.notebook.stills.lane_groups import lane_groups
from nbtf.notebook.stills.op_colours import Colouring, colouring
from nbtf.notebook.stills.quantities import bytes_in_words
from nbtf.notebook.stills.reasons import reason_in_words
from nbtf.notebook.stills.schedule import SHORTEST_OP, SMALLEST_COPY, Pieces, Schedule, Work

CodeLine = Callable[[runtime.Site], str]


def timeline_data(schedule: Schedule, code_line: CodeLine, colours: Colouring | None = None) -> dict[str, Any]:
    """Returns the input of `static/timeline_scene.js`: about 33 characters per op, 46 per copy.

    Args:
      schedule: what ran and when.
      code_line: formats a line of the program as text.
      colours: colours of the ops; None uses those of the schedule.
    """
    colours = colours or colouring(schedule)
    ops, copies, by_lane = schedule.ops, schedule.copies, [schedule.ops_on(lane) for lane in schedule.lanes]
    sites, facts = dict[runtime.Site, int](), dict[tuple[Any, ...], int]()
    positions = np.zeros(len(ops.facts), np.int64)
    for at in np.flatnonzero(np.bincount(ops.fact)).tolist():
        positions[at] = facts.setdefault(_fact(ops.facts[at], colours, sites), len(facts))

    def column(form: str, of_op: Callable[[Pieces[Work]], Any]) -> str:
        return packed(form, np.concatenate([of_op(works) for works in by_lane] or [np.zeros(0)]))

    return {
        "clock": schedule.clock,
        "lanes": schedule.lanes,
        "groups": lane_groups(schedule.lanes),
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
        "traces": [[trace.start, trace.function, trace.cause, trace.differences] for trace in schedule.traces],
        "facts": [*facts],
        "lines": [code_line(site) for site in sites],
        "ops": {
            "start": column("d", lambda works: works.start),
            "seconds": column("d", lambda works: works.seconds),
            "fact": column("I", lambda works: positions[works.fact]),
            "seq": column("I", lambda works: works.seq),
        },
        "copies": {
            "source": packed("H", schedule.lanes_of_copies[0]),
            "target": packed("H", schedule.lanes_of_copies[1]),
            "start": packed("d", copies.start),
            "seconds": packed("d", copies.seconds),
            "nbytes": packed("d", copies.of_each(lambda copy: copy.nbytes, np.float64)),
            "seq": packed("I", copies.seq),
        },
    }


def _fact(work: Work, colours: Colouring, sites: dict[runtime.Site, int]) -> tuple[Any, ...]:
    output, shape = work.output, _shape_of(work)
    result = f"{shape} {output.dtype}, {bytes_in_words(output.nbytes)}" if output is not None else ""
    reason_text = reason_in_words(work.reason, work.op) if work.reason is not None else ""
    site = sites.setdefault(work.site, len(sites)) if work.site else -1
    return work.op, work.phase, work.layer, colours.of(work), shape, result, reason_text, site


def _shape_of(work: Work) -> str:
    """Returns the shape of an op's first result: `[784, 256]`."""
    return f"[{', '.join(map(str, work.output.shape))}]" if work.output is not None else ""


def packed(form: str, numbers: NDArray[Any]) -> str:
    """Returns numbers as a page's typed arrays read them: little-endian, base64-encoded."""
    return b64encode(numbers.astype(f"<{form}").tobytes()).decode("ascii")
