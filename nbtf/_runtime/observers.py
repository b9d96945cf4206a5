"""The observers and note takers that are notified of events."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from operator import attrgetter
from time import time
from typing import Any, Protocol, TypeAlias

from nbtf._devices.journal import Box, Entries
from nbtf._devices.sites import warn
from nbtf._locks import drain, new_lock
from nbtf._runtime.clock import Clock, lanes_of
from nbtf._runtime.collectives import CollectiveSubject
from nbtf._runtime.events import Event
from nbtf._runtime.notes import NUMBER, SUBJECT, Note, next_number
from nbtf._runtime.pieces import entries_of, is_reported
from nbtf._runtime.scopes import SCOPE

Observer: TypeAlias = Callable[[Event], object]


_NUMBERS = 32_000
"""Event numbers between two counts: those of about 4,000 ops on a GPU, which are counted in a few milliseconds."""


class NoteTaker(Protocol):
    """Keeps notes and creates events from them on request, like a recorder."""

    pending_notes: list[Any]
    """Where the road appends its notes, without tuples around them; always the same list."""

    pieces: Entries
    """Where devices put their entries about memory."""
    collect: Callable[[], object]
    """Makes devices deliver their entries now."""

    def begin_machine(self) -> None:
        """Called after a restart."""
        ...

    def count(self) -> None:
        """Counts the pending notes; called from time to time."""
        ...


class Observers:
    """The listeners in registration order: note takers, and functions that are called with every event at once."""

    __slots__ = (
        "_changed",
        "_clock",
        "_deliver",
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

    def __init__(self, changed: Callable[[], None], deliver: Callable[[Sequence[Box]], object]) -> None:
        """Starts without listeners.

        Args:
          changed: called after every addition and removal.
          deliver: makes devices put their journal entries into boxes.
        """
        self.boxes: tuple[Box, ...] = ()
        """Where devices put their entries."""
        self._untold: deque[list[Any]] = deque()
        self._clock = Clock()
        self.functions: tuple[tuple[object, Observer], ...] = ()
        self.note_takers: tuple[tuple[object, NoteTaker], ...] = ()
        self.takers: tuple[Callable[[Note], None], ...] = ()
        """The functions that are called with every note."""
        self.sources: list[Callable[[Sequence[Box]], object]] = []
        """Other sources of entries, read on request: allocators of other libraries."""
        self.due = 0
        """The number after which notes must be counted. Every note has a number, so their list stays short."""
        self._changed, self._deliver = changed, deliver
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
        entry = (object(), observer)  # one function may be added twice, and each addition is removed separately
        self.collect()
        with self._lock:
            self._use((*self.functions, entry), self.note_takers)
        self._changed()
        return lambda: self._drop(entry)

    def add_note_taker(self, taker: NoteTaker) -> Callable[[], None]:
        """Adds a note taker; returns a function that removes it again."""
        entry = (object(), taker)
        self.collect()
        taker.collect = self.collect
        self.due = next_number() + _NUMBERS
        with self._lock:
            self._use(self.functions, (*self.note_takers, entry))
        self._changed()
        return lambda: self._drop(entry)

    def remove_note_taker(self, taker: NoteTaker) -> None:
        """Removes a note taker, however it was added; does nothing if it is not registered."""
        for entry in [entry for entry in self.note_takers if entry[1] is taker]:
            self._drop(entry)

    def _drop(self, entry: tuple[object, object]) -> None:
        self.collect()
        with self._lock:
            self._use(
                tuple(listener for listener in self.functions if listener is not entry),
                tuple(note_taker for note_taker in self.note_takers if note_taker is not entry),
            )
        self._changed()

    def _use(
        self, functions: tuple[tuple[object, Observer], ...], note_takers: tuple[tuple[object, NoteTaker], ...]
    ) -> None:
        takers = [taker.pending_notes.extend for _, taker in note_takers]
        self.functions, self.note_takers = functions, note_takers
        if not functions:
            self._clock = Clock()
        self.takers = (*takers, self._tell_afterwards) if functions else tuple(takers)
        boxes = [taker.pieces for _, taker in note_takers]
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
        """Whether to record notes: a listener is registered, and this thread is in no observer and no trial run."""
        if not self.takers or (self.functions and self.telling):
            return False
        scope = SCOPE()
        return scope is None or not (scope.silent or getattr(scope.graph, "silent", False))

    def take(self, note: Note) -> None:
        """Passes a note to note takers, and the events after the op's start to functions."""
        for take in self.takers:
            take(note)
        if note[NUMBER] > self.due:
            self.count()

    def count(self) -> None:
        """Makes note takers count their notes."""
        self.due = next_number() + _NUMBERS
        self.collect()
        for _, taker in self.note_takers:
            taker.count()

    def _tell_afterwards(self, note: Note) -> None:
        subject = note[SUBJECT]
        if isinstance(subject, CollectiveSubject) and subject.lanes is not None:
            self.tell(subject.events_afterwards(note, self._clock.run(subject.lanes)), is_stamped=True)
        else:
            self.tell(subject.events_afterwards(note))

    def tell(self, events: list[Event], is_stamped: bool = False) -> None:
        """Calls functions with events, whose starts may be set, and with the memory changes since the last call."""
        self.collect()
        for entries in drain(self._untold):
            for entry in entries_of(entries):
                events += (entry[SUBJECT].event(entry, time()),) if is_reported(entry) else ()
        if not is_stamped:
            events = [stamped for event in events for stamped in self._clock.stamped([event], lanes_of([event]))]
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
