"""What happened, as plain data."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from nbtf._devices.base import Label as Label
from nbtf._devices.sites import Site as Site


class Rule(NamedTuple):
    """A rule of placement that was tried: its name, what it asked, and the answer."""

    rule: str
    question: str
    answer: str


class _KindAndDetail(NamedTuple):
    kind: str
    detail: str = ""


class Reason(_KindAndDetail):
    """Why an op was placed where it was: a kind from `placement.KINDS`, and what it refers to.

    `path` has the rules that were tried, in order; the last one decided. Reasons are equal whatever their paths.
    """

    path: tuple[Rule, ...] = ()

    def after(self, *path: Rule) -> Reason:
        """Returns the reason with the rules that led to it."""
        reason = Reason(self.kind, self.detail)
        reason.path = path
        return reason


class OutputSpec(NamedTuple):
    """Shape, dtype and size of a result, in bytes."""

    shape: tuple[int, ...]
    dtype: str
    nbytes: int


class OpPlaced(NamedTuple):
    """An op is about to run; told before it does, so that a failing op still shows where it would have run."""

    op: str
    device: str
    reason: Reason
    seq: int
    time: float
    site: Site = None
    node: str | None = None
    replica: int | None = None
    phase: str = ""
    layer: str = ""


class OpExecuted(NamedTuple):
    """An op has run. `timing` says what `seconds` are: `finished`, `launch` or `modelled`.

    `start` is when, in modelled seconds since the recording began; None where time is measured. See `clock.py`.
    """

    op: str
    device: str
    outputs: tuple[OutputSpec, ...]
    seconds: float
    timing: str
    seq: int
    time: float
    site: Site = None
    node: str | None = None
    replica: int | None = None
    phase: str = ""
    layer: str = ""
    start: float | None = None


CopyKind: TypeAlias = Literal["upload", "move", "read"]


class Copied(NamedTuple):
    """Bytes went from one device to another.

    `kind` says what they were: `upload`, a Python value or an array that became a tensor; `move`, a tensor that was
    wanted elsewhere; `read`, values that the program asked for.
    """

    source: str
    target: str
    nbytes: int
    seconds: float
    modelled: bool
    kind: CopyKind
    seq: int
    time: float
    site: Site = None
    node: str | None = None
    replica: int | None = None
    phase: str = ""
    layer: str = ""
    start: float | None = None


class Allocated(NamedTuple):
    """A device gave memory. `in_use` and `pool`, what it has taken from its card, are as of afterwards; sizes in bytes.

    `nbytes` were asked for and `size` charged, at `offset` in a region that has `region_size`; these are -1 where the
    allocator keeps its places to itself, as that of real GPUs. `label` says what the memory is for, and `holder` what
    for as long as it lives, as far as that is known now: one of `phases.HOLDERS`.
    """

    device: str
    nbytes: int
    in_use: int
    pool: int
    seq: int
    time: float
    site: Site = None
    node: str | None = None
    replica: int | None = None
    phase: str = ""
    layer: str = ""
    region: int = -1
    offset: int = -1
    size: int = -1
    region_size: int = -1
    label: Label | None = None
    holder: str = ""


class Freed(NamedTuple):
    """A device got memory back; told by the next look, with the number and the time of that.

    Everything else is that of the piece when it was allocated; `in_use` and `pool` are as of afterwards.
    """

    device: str
    nbytes: int
    in_use: int
    pool: int
    seq: int
    time: float
    site: Site = None
    node: str | None = None
    replica: int | None = None
    phase: str = ""
    layer: str = ""
    region: int = -1
    offset: int = -1
    size: int = -1
    region_size: int = -1
    label: Label | None = None
    holder: str = ""


class Refused(NamedTuple):
    """A device had no room for `nbytes`; `largest_free` is its largest free piece, `limit` the most it may take."""

    device: str
    nbytes: int
    in_use: int
    pool: int
    largest_free: int
    limit: int
    seq: int
    time: float
    site: Site = None
    node: str | None = None
    replica: int | None = None
    phase: str = ""
    layer: str = ""
    label: Label | None = None
    holder: str = ""


TraceCause: TypeAlias = Literal["first", "arguments", "variables", "replica", "failure"]


class Traced(NamedTuple):
    """`tf.function` is about to trace a Python function: its code runs with symbolic tensors, and is replayed then.

    `trace` counts the traces of the function, from 1. `arguments` are in short words, such as `x: float32[2, 3]`. The
    cause is `first`; `arguments`, of which `differences` has those that are new: name, what it is, what it was in the
    trace that is most alike; `variables`, which the trace before made; `replica`, where another one or another strategy
    runs it; or `failure` of the trace before.
    """

    function: str
    trace: int
    arguments: tuple[str, ...]
    cause: TraceCause
    differences: tuple[tuple[str, str, str], ...]
    seq: int
    time: float
    site: Site = None
    node: str | None = None
    replica: int | None = None
    phase: str = ""
    layer: str = ""


Event: TypeAlias = OpPlaced | OpExecuted | Copied | Allocated | Freed | Refused | Traced
"""What observers are told, and what recordings have: one of the seven records."""
