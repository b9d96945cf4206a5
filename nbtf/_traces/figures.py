"""Where did the time of a trace go? Shares of compute, copies and idle time, waits of the host, and gaps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from nbtf._traces.collecting import Content
from nbtf._traces.nesting import STEP, Nesting
from nbtf._traces.slices import COPY, HOST_OP, WAIT, by_number

_GAPS = 10


class Share(NamedTuple):
    """How a device spent a span of time, in seconds. Copies during compute count as compute."""

    device: str
    seconds: float
    compute: float
    copies: float

    @property
    def idle(self) -> float:
        """Seconds in which nothing ran on the device."""
        return max(0.0, self.seconds - self.compute - self.copies)


class Step(NamedTuple):
    """A step that the program marked, such as `ProfilerStep#3`; times are in seconds since the trace began."""

    name: str
    start: float
    seconds: float
    shares: tuple[Share, ...]


class Wait(NamedTuple):
    """Calls in which the host waited for a device: the call, the op around it, how often, and for how many seconds."""

    call: str
    op: str
    calls: int
    seconds: float


class TrackUse(NamedTuple):
    """A stream or a thread: how many pieces ran there, and in how many of all seconds."""

    device: str
    track: str
    pieces: int
    seconds: float


class Gap(NamedTuple):
    """Time in which a device did nothing: its start and duration in seconds, and what ran before and after."""

    device: str
    start: float
    seconds: float
    preceding: str
    following: str


class TraceFigures(NamedTuple):
    """The figures of a trace; times are in seconds.

    Attributes:
      seconds: from the first start to the last end of an op, a kernel or a copy.
      shares: how each device spent that time.
      steps: the steps that the program marked, in order.
      waits: where the host waited, the longest first.
      tracks: the streams and threads, by device.
      gaps: the largest gaps between pieces of work on each GPU, the largest first; on the host if there is no GPU.
      left_out: number of events that are not shown, by category.
      is_cut: whether the end of the file is missing.
    """

    seconds: float
    shares: tuple[Share, ...]
    steps: tuple[Step, ...]
    waits: tuple[Wait, ...]
    tracks: tuple[TrackUse, ...]
    gaps: tuple[Gap, ...]
    left_out: Mapping[str, int]
    is_cut: bool

    def as_data(self) -> dict[str, Any]:
        """Returns the figures as plain data for JSON."""
        shares = [share._asdict() | {"idle": share.idle} for share in self.shares]
        steps = [
            step._asdict() | {"shares": [share._asdict() | {"idle": share.idle} for share in step.shares]}
            for step in self.steps
        ]
        listed = {name: [each._asdict() for each in getattr(self, name)] for name in ("waits", "tracks", "gaps")}
        head = {"seconds": self.seconds, "shares": shares, "steps": steps}
        return head | listed | {"left_out": dict(self.left_out), "is_cut": self.is_cut}


class _Spans:
    """Pieces of time of one device: compute (kernels, or outermost ops of the host) and copies."""

    def __init__(self, content: Content, at: Any, roles: Any) -> None:
        starts, ends = content.start[at], (content.start + content.seconds)[at]
        is_copy = roles[at] == COPY
        self._compute = _Cover(starts[~is_copy], ends[~is_copy])
        self._every = _Cover(starts, ends)

    def share(self, device: str, begin: float, end: float) -> Share:
        compute, every = self._compute.between(begin, end), self._every.between(begin, end)
        return Share(device, end - begin, compute, every - compute)


def figures_of(content: Content, nesting: Nesting) -> TraceFigures:
    """Returns the figures of a trace."""
    works = content.works
    roles = np.array([work.piece.role for work in works])[content.work]
    drawn = np.flatnonzero(nesting.is_drawn)
    begin = float(content.start[drawn].min(initial=np.inf))
    end = float((content.start + content.seconds)[drawn].max(initial=0.0))
    begin = min(begin, end)
    devices = _rows_by_device(content, drawn)
    spans = {device: _Spans(content, at, roles) for device, at in devices.items()}
    steps = [
        Step(
            works[int(content.work[at])].name,
            float(content.start[at]),
            float(content.seconds[at]),
            tuple([each.share(device, *_span_of(content, at)) for device, each in spans.items()]),
        )
        for at in np.flatnonzero(np.array([bool(STEP.match(work.name)) for work in works])[content.work]).tolist()
    ]
    gpus = [device for device in spans if not device.startswith("CPU")] or [*spans]
    gaps = [gap for device in gpus for gap in _gaps(content, devices[device], device)]
    left_out = dict(content.left_out.most_common())
    nested = int((np.isin(roles, [HOST_OP]) & ~nesting.is_drawn).sum())
    runtime = int((roles == "runtime").sum())
    left_out |= {name: count for name, count in (("nested ops", nested), ("calls of the runtime", runtime)) if count}
    return TraceFigures(
        end - begin,
        tuple([each.share(device, begin, end) for device, each in spans.items()]),
        tuple(steps),
        tuple(_waits(content, nesting, roles)),
        tuple(_tracks(content, drawn)),
        tuple(sorted(gaps, key=lambda gap: -gap.seconds)[:_GAPS]),
        left_out,
        content.is_cut,
    )


def _span_of(content: Content, at: int) -> tuple[float, float]:
    return float(content.start[at]), float(content.start[at] + content.seconds[at])


def _rows_by_device(content: Content, drawn: Any) -> dict[str, Any]:
    """Returns the pieces of each device; a copy belongs to the GPU that makes it, not to the host."""
    names = [work.piece.device for work in content.works]
    listed = sorted({*names}, key=by_number)
    numbers = np.array([listed.index(name) for name in names], np.int64)[content.work[drawn]]
    rows = {device: drawn[numbers == number] for number, device in enumerate(listed)}
    return {device: at for device, at in rows.items() if len(at)}


def _waits(content: Content, nesting: Nesting, roles: Any) -> list[Wait]:
    sums: dict[tuple[int, int], list[float]] = {}
    for at in np.flatnonzero(roles == WAIT).tolist():
        entry = sums.setdefault((int(content.work[at]), int(nesting.caller[at])), [0.0, 0.0])
        entry[0] += 1
        entry[1] += float(content.seconds[at])
    merged: dict[tuple[str, str], tuple[int, float]] = {}
    for (work, caller), (count, seconds) in sums.items():
        key = content.works[work].name, content.works[caller].name if caller >= 0 else ""
        earlier = merged.get(key, (0, 0.0))
        merged[key] = earlier[0] + int(count), earlier[1] + seconds
    waits = [Wait(*key, *figures) for key, figures in merged.items()]
    return sorted(waits, key=lambda wait: -wait.seconds)


def _tracks(content: Content, drawn: Any) -> list[TrackUse]:
    names = [(work.piece.device, work.piece.track) for work in content.works]
    listed = sorted({*names})
    positions = {name: at for at, name in enumerate(listed)}
    numbers = np.array([positions[name] for name in names], np.int64)[content.work[drawn]]
    uses: list[TrackUse] = []
    for number, (device, track) in enumerate(listed):
        at = drawn[numbers == number]
        if len(at):
            starts, ends = _union(content.start[at], (content.start + content.seconds)[at])
            uses.append(TrackUse(device, track, len(at), float((ends - starts).sum())))
    return uses


def _gaps(content: Content, at: Any, device: str) -> list[Gap]:
    """Returns the largest gaps of a device."""
    starts, ends = content.start[at], (content.start + content.seconds)[at]
    latest = np.maximum.accumulate(ends)
    seconds = starts[1:] - latest[:-1]
    largest = [number for number in seconds.argsort(kind="stable")[::-1][:_GAPS].tolist() if seconds[number] > 0]
    gaps: list[Gap] = []
    for number in largest:
        last = int(ends[: number + 1].argmax())
        preceding, following = (content.works[int(content.work[at[row]])].name for row in (last, number + 1))
        gaps.append(Gap(device, float(latest[number]), float(seconds[number]), preceding, following))
    return gaps


def _union(starts: Any, ends: Any) -> tuple[Any, Any]:
    """Returns the starts and ends of the spans that are covered; `starts` are in order."""
    if not len(starts):
        return starts, ends
    latest = np.maximum.accumulate(ends)
    is_first = np.concatenate([[True], starts[1:] > latest[:-1]])
    is_last = np.concatenate([is_first[1:], [True]])
    return starts[is_first], latest[is_last]


class _Cover:
    """The spans that pieces cover, with the total up to each of their edges."""

    def __init__(self, starts: Any, ends: Any) -> None:
        first, last = _union(starts, ends)
        self._edges = np.stack([first, last], 1).ravel()
        lengths = np.stack([np.zeros(len(first)), last - first], 1).ravel()
        self._sums = np.cumsum(lengths)

    def between(self, begin: float, end: float) -> float:
        """Returns the covered seconds between two times."""
        if not len(self._edges):
            return 0.0
        until: list[float] = np.interp([begin, end], self._edges, self._sums).tolist()
        return until[1] - until[0]
