"""Subject of the note for an all-reduce: messages between many devices that begin together."""

from __future__ import annotations

from collections.abc import Sequence
from time import time
from typing import Any

from nbtf._devices.base import Device
from nbtf._devices.collectives import Plan, plan
from nbtf._devices.sites import NO_PLACE, CallSite
from nbtf._record.clock import Lanes
from nbtf._record.events import Copied, Event
from nbtf._record.listeners import Observers
from nbtf._record.rows import Row, Subject, next_number, place_of


class CollectiveSubject(Subject):
    """The messages of an all-reduce, which keeps all its devices busy from start to end."""

    __slots__ = ("_messages", "count", "devices", "lanes")
    is_copy = True

    def __init__(self, devices: tuple[Device, ...], algorithm: str, nbytes: int) -> None:
        """Stores the devices, the algorithm, and the bytes that each device contributes."""
        self.devices = names = tuple([device.name for device in devices])
        network = devices[0].network
        assert network is not None  # callers check that the devices belong to a cluster
        reduction = plan(algorithm, names, nbytes, network)
        self.lanes: Lanes | None = (names, reduction.seconds)
        self._messages = _messages(reduction, names)
        self.count = len(self._messages)

    @property
    def offsets(self) -> list[tuple[float, float]]:
        """For each message, its start relative to the all-reduce, and its duration."""
        return [(offset, seconds) for _, _, _, offset, seconds in self._messages]

    @property
    def sample(self) -> Sequence[Event]:
        """Events equal to those of every such note, except for numbers, times and call sites."""
        return self.events((self, 0, 0.0, NO_PLACE, 0, 0.0, 0.0, (0,) * len(self._messages)))

    def events(self, row: Row, start: float | None = None) -> list[Event]:
        """Returns one copy event for each message; consecutive messages of a round on the same route share one."""
        _, _, now, call_site, _, _, _, numbers = row
        fields = place_of(call_site)
        return [
            Copied(
                source,
                target,
                nbytes,
                seconds,
                True,
                "move",
                number,
                now,
                *fields,
                None if start is None else start + offset,
            )
            for (source, target, nbytes, offset, seconds), number in zip(self._messages, numbers, strict=True)
        ]


def _messages(reduction: Plan, names: Sequence[str]) -> list[tuple[str, str, int, float, float]]:
    """Returns source, target, bytes, relative start and duration of each message."""
    messages: list[tuple[str, str, int, float, float]] = []
    offset = 0.0
    for each in reduction.rounds:
        duration = each.times * each.seconds
        messages += [
            (names[source], names[target], round(each.times * nbytes), offset, duration)
            for source, target, nbytes in each.messages
        ]
        offset += duration
    return messages


_SUBJECTS: dict[tuple[Any, ...], CollectiveSubject] = {}
_REMEMBERED = 256


def take_note_of_collective(
    sink: Observers, devices: tuple[Device, ...], algorithm: str, nbytes: int, call_site: CallSite
) -> None:
    """Records a note of an all-reduce that has just finished.

    Args:
      sink: receives the note.
      devices: the cluster GPUs that took part.
      algorithm: name of the algorithm, as `collectives.plan` accepts it.
      nbytes: number of bytes on each device.
      call_site: where the program called it.
    """
    key = devices, algorithm, nbytes
    subject = _SUBJECTS.get(key)
    if subject is None:
        if len(_SUBJECTS) >= _REMEMBERED:
            _SUBJECTS.clear()
        subject = _SUBJECTS[key] = CollectiveSubject(*key)
    numbers = [next_number() for _ in subject.offsets]
    if not numbers:
        return
    row = subject, numbers[-1], time(), call_site, numbers[0], 0.0, 0.0, tuple(numbers)
    for take in sink.takers:
        take(row)
    if numbers[-1] > sink.due:
        sink.count()
