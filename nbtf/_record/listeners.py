"""The listeners: recorders, which receive rows, and functions, which are called with every event at once."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from operator import attrgetter
from time import time
from typing import TYPE_CHECKING, Any, TypeAlias

from nbtf._devices.journal import Box
from nbtf._devices.sites import warn
from nbtf._locks import drain, new_lock
from nbtf._record.clock import Clock
from nbtf._record.events import Event
from nbtf._record.memory import entries_of, is_reported
from nbtf._record.rows import MORE, NUMBER, ROW, SUBJECT, TIME, Row, next_number

if TYPE_CHECKING:
    from nbtf._record.recorder import Recorder

Observer: TypeAlias = Callable[[Event], object]

_NUMBERS = 32_000
"""Event numbers between two counts: those of about 4,000 ops on a GPU, which are counted in a few milliseconds."""


class Observers:
    """The listeners in registration order."""

    __slots__ = (
        "_changed",
        "_clock",
        "_deliver",
        "_is_silent",
        "_lock",
        "_telling",
        "_untold",
        "boxes",
        "due",
        "functions",
        "note_takers",
        "sources",
        "takers",
    )

    def __init__(
        self, changed: Callable[[], None], deliver: Callable[[Sequence[Box]], object], is_silent: Callable[[], bool]
    ) -> None:
        """Starts without listeners.

        Args:
          changed: called after every addition and removal.
          deliver: makes devices put their journal entries into boxes.
          is_silent: returns whether this thread is in a trial run, which is not reported.
        """
        self.boxes: tuple[Box, ...] = ()
        """Where devices put their entries."""
        self._untold: deque[list[Any]] = deque()
        self._clock = Clock()
        self.functions: tuple[tuple[object, Observer], ...] = ()
        self.note_takers: tuple[tuple[object, Recorder], ...] = ()
        self.takers: tuple[Callable[[Row], None], ...] = ()
        """The functions that are called with every row."""
        self.sources: list[Callable[[Sequence[Box]], object]] = []
        """Other sources of entries, read on request: allocators of other libraries."""
        self.due = 0
        """The number after which rows must be counted. Every row has a number, so their list stays short."""
        self._changed, self._deliver, self._is_silent = changed, deliver, is_silent
        self._lock = new_lock()
        self._telling = threading.local()

    def belong_to(self, changed: Callable[[], None], deliver: Callable[[Sequence[Box]], object]) -> None:
        """Sets the function to call on additions and removals, and the one that delivers entries."""
        self._changed, self._deliver = changed, deliver

    def collect(self) -> None:
        """Makes devices deliver their memory entries."""
        if self.boxes:
            self._deliver(self.boxes)
            for source in tuple(self.sources):
                source(self.boxes)

    def add(self, observer: Observer) -> Callable[[], None]:
        """Adds a function; returns a function that removes it again (later calls do nothing)."""
        return self._add(observer, is_function=True)

    def add_note_taker(self, recorder: Recorder) -> Callable[[], None]:
        """Adds a recorder; returns a function that removes it again."""
        recorder.collect = self.collect
        return self._add(recorder, is_function=False)

    def remove_note_taker(self, recorder: Recorder) -> None:
        """Removes a recorder, however it was added; does nothing if it is not registered."""
        for entry in [entry for entry in self.note_takers if entry[1] is recorder]:
            self._drop(entry)

    def _add(self, listener: Any, is_function: bool) -> Callable[[], None]:
        entry = (object(), listener)  # a listener may be added twice, and each addition is removed separately
        self.collect()
        with self._lock:
            if is_function:
                self._use((*self.functions, entry), self.note_takers)
            else:
                self._use(self.functions, (*self.note_takers, entry))
        self._changed()
        return lambda: self._drop(entry)

    def _drop(self, entry: tuple[object, object]) -> None:
        self.collect()
        with self._lock:
            functions, recorders = (
                tuple(listener for listener in listeners if listener is not entry)
                for listeners in (self.functions, self.note_takers)
            )
            self._use(functions, recorders)
        self._changed()

    def _use(self, functions: tuple[Any, ...], recorders: tuple[Any, ...]) -> None:
        self.functions, self.note_takers, self.due = functions, recorders, next_number() + _NUMBERS
        if not functions:
            self._clock = Clock()
        takers = [recorder.pending_notes.extend for _, recorder in recorders]
        self.takers = (*takers, self._tell_afterwards) if functions else tuple(takers)
        boxes = [recorder.pieces for _, recorder in recorders]
        self.boxes = (*boxes, self._untold) if functions else tuple(boxes)

    @property
    def all(self) -> tuple[tuple[object, object], ...]:
        """All listeners, each with a token of its own."""
        return (*self.note_takers, *self.functions)

    @property
    def telling(self) -> bool:
        """Whether this thread is inside an observer: its ops are not reported, so that it cannot trigger itself."""
        return getattr(self._telling, "on", False)

    @property
    def listening(self) -> bool:
        """Whether to record: a listener is registered, and this thread is in no observer and no trial run."""
        return bool(self.takers) and not (self.functions and self.telling) and not self._is_silent()

    def take(self, row: Row) -> None:
        """Passes rows that belong together to recorders, and the last one's remaining events to functions."""
        for take in self.takers:
            take(row)
        if row[NUMBER] > self.due:
            self.count()

    def count(self) -> None:
        """Makes recorders count their rows."""
        self.due = next_number() + _NUMBERS
        self.collect()
        for _, recorder in self.note_takers:
            recorder.count()

    def _tell_afterwards(self, row: Row) -> None:
        row = row[-ROW:]
        subject, entries = row[SUBJECT], row[MORE]
        start = None if subject.lanes is None else self._clock.run(subject.lanes)
        events = [*subject.events(row, start)[subject.reported :]]
        if entries.__class__ is list:
            events += [entry[SUBJECT].event(entry, row[TIME]) for entry in entries_of(entries)]
        self.tell(events)

    def tell(self, events: list[Event]) -> None:
        """Calls functions with events, and with the memory changes since the last call."""
        self.collect()
        for entries in drain(self._untold):
            events += [entry[SUBJECT].event(entry, time()) for entry in entries_of(entries) if is_reported(entry)]
        events.sort(key=attrgetter("seq"))
        self._telling.on = True
        try:
            for event in events:
                for entry in self.functions:
                    try:
                        entry[1](event)
                    except Exception as error:
                        self._drop(entry)
                        warn(f"an observer was dropped: {type(error).__name__}: {error}")
        finally:
            self._telling.on = False
