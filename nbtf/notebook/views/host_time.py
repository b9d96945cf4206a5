"""What ran, on the clock of the host: when Python called each op, and what the devices did from then on.

The time axis of simulated devices leaves out the host: between two ops, Python may compute or sleep for a second. Here,
the lane of Python has measured times. The other lanes have modelled durations: each op and copy begins when Python
called it, or later, once its device is free.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nbtf import runtime
from nbtf.notebook.device_names import in_order
from nbtf.notebook.stills.schedule import (
    MODELLED,
    Pieces,
    Schedule,
    Trace,
    Transfer,
    Work,
    is_host,
    layer_in_words,
)

PYTHON = "Python"
"""The lane of the program."""

HOST_TIME = "hostTime"
"""The name of this clock."""


def on_host_time(snapshot: runtime.Snapshot, schedule: Schedule) -> Schedule | None:
    """Returns what a snapshot recorded on the clock of the host; None if the times of its schedule are measured anyway.

    Args:
      snapshot: snapshot of a recording.
      schedule: its schedule, from `timed`.
    """
    if schedule.clock != MODELLED:
        return None
    works, transfers = _Calls().take(snapshot.events)
    origin = min([piece.start for piece in (*works, *transfers)], default=0.0)
    ops = Pieces[Work].of([work._replace(start=work.start - origin) for work in works])
    copies = Pieces[Transfer].of([transfer._replace(start=transfer.start - origin) for transfer in transfers])
    devices = {work.device for work in works} | {end for copy in transfers for end in (copy.source, copy.target)}
    lanes = (PYTHON, *sorted(devices - {PYTHON}, key=in_order))
    ran = sum(isinstance(event, runtime.OpExecuted) for event in snapshot.events), len(transfers)
    traces = tuple([_trace(trace, origin) for trace in snapshot.traces])
    return Schedule(HOST_TIME, lanes, ops, copies, (), *ran, snapshot.cut, traces)


def _trace(trace: runtime.Traced, origin: float) -> Trace:
    return Trace(max(0.0, trace.time - origin), trace.function, trace.cause, trace.differences, trace.site)


class _Calls:
    """Follows events in order. Times are seconds since the epoch."""

    def __init__(self) -> None:
        self._call_times: dict[tuple[str, str], list[float]] = {}
        self._free: dict[str, float] = {}
        self._python_free = 0.0

    def take(self, events: Sequence[runtime.Event]) -> tuple[list[Work], list[Transfer]]:
        """Returns the ops, on the lanes of Python and of the devices, and the copies, each in order of start."""
        works: list[Work] = []
        transfers: list[Transfer] = []
        for event in events:
            match event:
                case runtime.OpPlaced():
                    self._call_times.setdefault((event.op, event.device), []).append(event.time)
                case runtime.OpExecuted():
                    works += self._run(event)
                case runtime.Copied():
                    transfers.append(self._copy(event))
                case _:
                    pass
        return sorted(works, key=lambda work: work.start), sorted(transfers, key=lambda copy: copy.start)

    def _run(self, event: runtime.OpExecuted) -> Iterator[Work]:
        """Yields the call of an op on Python's lane, without the calls inside it, and the op on its device's lane."""
        call_times = self._call_times.get((event.op, event.device))
        call = call_times.pop() if call_times else event.time
        start = min(max(call, self._python_free), event.time)
        self._python_free = event.time
        device, output = runtime.short_name(event.device), next(iter(event.outputs), None)
        facts = event.op, "", layer_in_words(event.layer), event.site, output, None, event.seq
        yield Work(PYTHON, start, event.time - start, *facts)
        seconds = event.seconds if event.seconds == event.seconds else 0.0  # nan if it was not measured
        begin = self._begin(call if event.timing == MODELLED else event.time - seconds, device)
        self._free[device] = begin + seconds
        yield Work(device, begin, seconds, *facts)

    def _copy(self, event: runtime.Copied) -> Transfer:
        ends = runtime.short_name(event.source), runtime.short_name(event.target)
        cards = [device for device in ends if not is_host(device)]  # a host feeds all GPUs at once
        begin = self._begin(event.time if event.modelled else event.time - event.seconds, *cards)
        self._free |= dict.fromkeys(cards, begin + event.seconds)
        return Transfer(*ends, begin, event.seconds, event.nbytes, "", event.seq)

    def _begin(self, earliest: float, *devices: str) -> float:
        return max([earliest, *(self._free.get(device, 0.0) for device in devices)])
