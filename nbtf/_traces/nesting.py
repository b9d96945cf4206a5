"""Which ops of the host are inside others? Only outermost ops are drawn; waits belong to the op that makes them."""

from __future__ import annotations

import re
from math import inf
from typing import Any, NamedTuple

import numpy as np

from nbtf._traces.collecting import Content
from nbtf._traces.slices import ANNOTATION, COPY, HOST_OP, KERNEL, WAIT

STEP = re.compile(r"ProfilerStep\s*#\d+")
_READS = "aten::item", "aten::_local_scalar_dense"


class Nesting(NamedTuple):
    """The nesting of a trace's pieces.

    Attributes:
      is_drawn: which pieces are kernels, copies or outermost ops.
      layer: for each piece, the annotation around it as an index into `works`; -1 without one.
      caller: for each wait, the op around it as an index into `works`; -1 without one.
    """

    is_drawn: Any
    layer: Any
    caller: Any


def nesting_of(content: Content) -> Nesting:
    """Returns the nesting of the pieces of a trace."""
    works = content.works
    roles = np.array([work.piece.role for work in works])[content.work]
    tracks = np.array([work.track for work in works], np.int64)[content.work]
    is_drawn = np.isin(roles, [KERNEL, COPY])
    layer, caller = np.full((2, len(roles)), -1, np.int64)
    of_host = np.flatnonzero(np.isin(roles, [HOST_OP, WAIT, ANNOTATION]) & ~is_drawn)
    order = of_host[np.lexsort((-content.seconds[of_host], content.start[of_host], tracks[of_host]))]
    starts, ends = content.start[order].tolist(), (content.start + content.seconds)[order].tolist()
    stack = [_OUTSIDE]
    earlier_track = -1
    numbers: list[int] = content.work[order].tolist()
    threads: list[int] = tracks[order].tolist()
    for at, work, track, start, end in zip(order.tolist(), numbers, threads, starts, ends, strict=True):
        if track != earlier_track:
            stack, earlier_track = [_OUTSIDE], track
        while stack[-1].end <= start:
            stack.pop()
        around, name, role = stack[-1], works[work].name, works[work].piece.role
        if role == ANNOTATION:
            stack.append(around._replace(end=end, label=around.label if STEP.match(name) else work))
            continue
        is_drawn[at], layer[at] = around.op < 0, around.label
        if role == WAIT:
            caller[at] = around.op if around.reader < 0 else around.reader
        reader = work if around.reader < 0 and name in _READS else around.reader
        stack.append(_Around(end, around.label, work, reader))
    return Nesting(is_drawn, layer, caller)


class _Around(NamedTuple):
    """The surroundings of a piece: their end, the innermost annotation and op, and the outermost reading op."""

    end: float
    label: int
    op: int
    reader: int


_OUTSIDE = _Around(inf, -1, -1, -1)
