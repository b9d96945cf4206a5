"""What ran, on the clock of the host: when Python called each op or waited, and what the devices did from then on.

The time axis of simulated devices leaves out the host: between two ops, Python may compute or sleep for a second. Here,
the lane of Python has measured times: calls of ops, and reads of results, such as `.numpy()`, which wait for a device.
The other lanes have modelled durations: each op and copy begins when Python called it, or later, once its device is
free.
"""

from __future__ import annotations

import numpy as np

from nbtf import runtime
from nbtf._garbage import collector_paused
from nbtf.notebook.device_names import in_order
from nbtf.notebook.stills.schedule import (
    HOST_TIME,
    MODELLED,
    PYTHON,
    WAIT,
    Numbers,
    Pieces,
    Schedule,
    Trace,
    Work,
    devices_of,
    has_event,
    has_modelled_time,
    is_host,
    pieces_of,
    starts_in_turn,
    transfer_of_fact,
    work_of_fact,
)


def on_host_time(snapshot: runtime.Snapshot, schedule: Schedule) -> Schedule | None:
    """Returns what a snapshot recorded on the clock of the host; None if the times of its schedule are measured anyway.

    Args:
      snapshot: snapshot of a recording.
      schedule: its schedule, from `timed`.
    """
    if schedule.clock != MODELLED:
        return None
    with collector_paused():
        return _host_schedule(snapshot)


def _host_schedule(snapshot: runtime.Snapshot) -> Schedule:
    work = snapshot.work
    executed, copied = has_event(work, runtime.OpExecuted), has_event(work, runtime.Copied)
    ran = work.at(executed | copied)
    ran = ran._replace(seconds=np.nan_to_num(ran.seconds))  # nan if the duration was not measured
    starts, calls = _device_starts(ran), _calls(ran)
    origin = min(starts.min(initial=np.inf), calls.start.min(initial=np.inf))
    ops = pieces_of(ran, starts - origin, runtime.OpExecuted, work_of_fact)
    copies = pieces_of(ran, starts - origin, runtime.Copied, transfer_of_fact)
    calls = Pieces(calls.facts, calls.fact, calls.start - origin, calls.seconds, calls.seq)
    devices = {piece.device for piece in ops.distinct()}
    devices |= {end for copy in copies.distinct() for end in (copy.source, copy.target)}
    return Schedule(
        HOST_TIME,
        (PYTHON, *sorted(devices - {PYTHON}, key=in_order)),
        _joined(calls, ops),
        copies,
        (),
        int(executed.sum()),
        int(copied.sum()),
        snapshot.cut,
        tuple([_trace(trace, origin) for trace in snapshot.traces]),
    )


def _device_starts(ran: runtime.Work) -> Numbers:
    """Returns when the devices begin each op and copy, in seconds since the epoch."""
    earliest = np.where(has_modelled_time(ran), _called(ran), ran.time - ran.seconds)
    devices = [devices_of(fact.event) for fact in ran.facts]
    busy = [
        tuple([name for name in names if not is_host(name)]) if isinstance(fact.event, runtime.Copied) else names
        for fact, names in zip(ran.facts, devices, strict=True)  # a host feeds all GPUs at once
    ]
    return starts_in_turn(earliest, ran.seconds, ran.fact, busy)


def _called(ran: runtime.Work) -> Numbers:
    """Returns when Python called each op or began to wait for a copy; when it was reported if that is unknown."""
    return np.where(np.isnan(ran.call_time), ran.time, ran.call_time)


def _calls(ran: runtime.Work) -> Pieces[Work]:
    """Returns the lane of Python: each call of an op, without the calls inside it, and each wait."""
    is_wait = np.array([getattr(fact.event, "kind", "") == "read" for fact in ran.facts], bool)[ran.fact]
    rows = np.flatnonzero(has_event(ran, runtime.OpExecuted) | (is_wait & ~np.isnan(ran.call_time)))
    positions = np.flatnonzero(np.bincount(ran.fact[rows]))  # other facts are of other events, as of ops that failed
    ends = ran.time[rows]
    previous = np.maximum.accumulate(np.concatenate([[0.0], ends]))[:-1]
    starts = np.minimum(np.maximum(_called(ran)[rows], previous), ends)
    fact = positions.searchsorted(ran.fact[rows])
    return Pieces([_call(ran.facts[at]) for at in positions], fact, starts, ends - starts, ran.seq[rows])


def _call(fact: runtime.Fact) -> Work:
    """Returns a call, or a wait named like the device whose result Python waits for, without its times."""
    event = fact.event
    if not isinstance(event, runtime.Copied):
        return work_of_fact(fact)._replace(device=PYTHON)
    return Work(PYTHON, 0.0, 0.0, runtime.short_name(event.source), WAIT, "", event.site, None, None)


def _joined(calls: Pieces[Work], ops: Pieces[Work]) -> Pieces[Work]:
    """Returns the pieces of both, in the order of their starts."""
    starts = np.concatenate([calls.start, ops.start])
    order = starts.argsort(kind="stable")
    columns = [np.concatenate([getattr(calls, name), getattr(ops, name)])[order] for name in ("seconds", "seq")]
    fact = np.concatenate([calls.fact, ops.fact + len(calls.facts)])[order]
    return Pieces([*calls.facts, *ops.facts], fact, starts[order], *columns)


def _trace(trace: runtime.Traced, origin: float) -> Trace:
    return Trace(max(0.0, trace.time - origin), trace.function, trace.cause, trace.differences, trace.site)
