"""What was heard so far: exact totals, and the last events."""

from __future__ import annotations

import threading
from collections import Counter, deque
from typing import NamedTuple

from nbtf._runtime.events import Copied, Event, OpExecuted, OpPlaced, Reason

CAPACITY = 100_000
"""Events kept by default: about 40 MB at the most, filled in seconds by a loop over small tensors."""


class Snapshot(NamedTuple):
    """A recorder at one moment. Totals count everything heard; `events` are the last of `heard` in all.

    `ops` counts by (op, device, reason), `copies` counts by (source, target), `copied_bytes` adds their bytes.
    """

    heard: int
    events: tuple[Event, ...]
    ops: dict[tuple[str, str, Reason], int]
    executed: int
    copies: dict[tuple[str, str], int]
    copied_bytes: dict[tuple[str, str], int]
    allocations: dict[str, int]

    @property
    def placed(self) -> int:
        """How many ops were placed."""
        return sum(self.ops.values())

    @property
    def cut(self) -> int:
        """How many of the events heard are no longer in `events`."""
        return self.heard - len(self.events)


class Recorder:
    """An observer with bounded memory: the totals stay exact when the list of events is cut."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        """Starts empty; `capacity` is how many events are kept."""
        self._lock = threading.Lock()
        self._capacity = capacity
        self._empty()

    def _empty(self) -> None:
        self._events: deque[Event] = deque(maxlen=self._capacity)
        self._heard = 0
        self._executed = 0
        self._ops: Counter[tuple[str, str, Reason]] = Counter()
        self._copies: Counter[tuple[str, str]] = Counter()
        self._copied_bytes: Counter[tuple[str, str]] = Counter()
        self._allocations: Counter[str] = Counter()

    def __call__(self, event: Event) -> None:
        """Takes an event down."""
        with self._lock:
            self._heard += 1
            self._events.append(event)
            if isinstance(event, OpPlaced):
                self._ops[event.op, event.device, event.reason] += 1
            elif isinstance(event, OpExecuted):
                self._executed += 1
            elif isinstance(event, Copied):
                self._copies[event.source, event.target] += 1
                self._copied_bytes[event.source, event.target] += event.nbytes
            else:
                self._allocations[event.device] += 1

    def snapshot(self, last: int | None = None) -> Snapshot:
        """Returns the totals and the last events, all that are kept or at most `last` of them."""
        with self._lock:
            events = tuple(self._events)
            return Snapshot(
                self._heard,
                events if last is None else events[len(events) - min(last, len(events)) :],
                dict(self._ops),
                self._executed,
                dict(self._copies),
                dict(self._copied_bytes),
                dict(self._allocations),
            )

    def placed_before(self, seq: int) -> OpPlaced | None:
        """Returns how the op was placed whose `OpExecuted` has this number, while it is still kept."""
        wanted: OpExecuted | None = None
        with self._lock:
            for event in reversed(self._events):
                if event.seq == seq and isinstance(event, OpExecuted):
                    wanted = event
                elif wanted is not None and isinstance(event, OpPlaced) and _same_op(event, wanted):
                    return event
        return None

    def clear(self) -> None:
        """Forgets everything, the totals too."""
        with self._lock:
            self._empty()


def _same_op(placed: OpPlaced, executed: OpExecuted) -> bool:
    """Tells two events of one op from those of other threads in between."""
    return (placed.op, placed.device, placed.site) == (executed.op, executed.device, executed.site)
