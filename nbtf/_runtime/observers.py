"""Who is told of what happens, and when."""

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
"""Numbers between two counts: four thousand ops on a GPU, which are counted and packed in a few milliseconds."""


class NoteTaker(Protocol):
    """Keeps notes, and makes events of them when somebody looks: a recorder."""

    pending_notes: list[Any]
    """Where the road leaves its notes, behind each other; always the same list."""

    pieces: Entries
    """Where devices leave their entries about memory."""
    collect: Callable[[], object]
    """Has devices do so now."""

    def begin_machine(self) -> None:
        """Is told of a restart."""
        ...

    def count(self) -> None:
        """Takes the notes from there; called now and then."""
        ...


class Observers:
    """Who listens, in the order they came: note takers, and functions that are told of every event at once."""

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
        """Makes an empty set.

        Args:
          changed: is called after every addition and removal.
          deliver: has devices put what their journals say into boxes.
        """
        self.boxes: tuple[Box, ...] = ()
        """Where devices leave their entries."""
        self._untold: deque[list[Any]] = deque()
        self._clock = Clock()
        self.functions: tuple[tuple[object, Observer], ...] = ()
        self.note_takers: tuple[tuple[object, NoteTaker], ...] = ()
        self.takers: tuple[Callable[[Note], None], ...] = ()
        """What is called with every note."""
        self.sources: list[Callable[[Sequence[Box]], object]] = []
        """What else puts entries into boxes when somebody looks: allocators of other libraries."""
        self.due = 0
        """After which number the notes must be counted: there is one for every note, so their list stays short."""
        self._changed, self._deliver = changed, deliver
        self._lock = new_lock()
        self._telling = threading.local()

    def belong_to(self, changed: Callable[[], None], deliver: Callable[[Sequence[Box]], object]) -> None:
        """Says who wants to know of additions and removals from now on, and whose devices deliver."""
        self._changed, self._deliver = changed, deliver

    def collect(self) -> None:
        """Has devices say what has happened to their memory until now."""
        if self.boxes:
            self._deliver(self.boxes)
            for source in tuple(self.sources):
                source(self.boxes)

    def add(self, observer: Observer) -> Callable[[], None]:
        """Adds a function; returns the one that removes it again (once; a second call does nothing)."""
        entry = (object(), observer)  # one function may be added twice; each addition is undone by itself
        self.collect()
        with self._lock:
            self._use((*self.functions, entry), self.note_takers)
        self._changed()
        return lambda: self._drop(entry)

    def add_note_taker(self, taker: NoteTaker) -> Callable[[], None]:
        """Adds a note taker; returns the function that removes it again."""
        entry = (object(), taker)
        self.collect()
        taker.collect = self.collect
        with self._lock:
            self._use(self.functions, (*self.note_takers, entry))
        self._changed()
        return lambda: self._drop(entry)

    def remove_note_taker(self, taker: NoteTaker) -> None:
        """Removes a note taker wherever it was added, if it was."""
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
        """Everybody, each with a token of its own."""
        return (*self.note_takers, *self.functions)

    @property
    def telling(self) -> bool:
        """Whether this thread is inside an observer: what it does is not reported, so it cannot feed itself."""
        return getattr(self._telling, "on", False)

    @property
    def listening(self) -> bool:
        """Whether notes should be taken: somebody is there, and this thread is inside no observer and no trial."""
        if not self.takers or (self.functions and self.telling):
            return False
        scope = SCOPE()
        return scope is None or not (scope.silent or getattr(scope.graph, "silent", False))

    def take(self, note: Note) -> None:
        """Has note takers keep a note, and functions told of what happened after the op had begun."""
        for take in self.takers:
            take(note)
        if note[NUMBER] > self.due:
            self.count()

    def count(self) -> None:
        """Has note takers count their notes."""
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
        """Tells functions of events, which may have their starts, and of what has happened to memory meanwhile."""
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
