"""Which of the following events have a known shape? They are read as arrays, many at a time.

A window is an excerpt of the file. The places in it where an event may begin are those where the first bytes of a
known shape occur. Between one and the next, all bytes are compared: those of a shape, and the list of frames with the
lists that were read by their opcodes before. Where they agree, opcodes would build the same event, since stored objects
do not change. An event is read only if it begins where the event before it ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtf._snapshots.event_shapes import FRAMES, Shape, shape_of
from nbtf._snapshots.events_in_place import Events
from nbtf._snapshots.excerpts import MARGIN, PUT, PUT_SIZE, Excerpt, frame_headers
from nbtf._snapshots.frame_lists import FrameLists
from nbtf._snapshots.rows import TYPES
from nbtf._snapshots.snapshot import OOM

if TYPE_CHECKING:
    from nbtf._snapshots.pickled import SnapshotReader

_SMALLEST_WINDOW = 1 << 17
_LARGEST_WINDOW = 1 << 25
_MAX_SHAPES = 500
_MAX_MISSED = 100
_MISSED_SHARE = 0.1
_PREFIX = 5
"""Bytes of an event that are searched: its first opcodes and the reference to its first key; more with an index."""


class Window(NamedTuple):
    """A part of the file.

    Attributes:
      starts: offsets in the file where events may begin, and where the last of them ends.
      breaks: indices of the events that were not recognised.
      columns: a row for each event; the stack is that of its list of frames, or -1.
      stored: number of objects stored before each event, counted from the first one.
      list_stored: offset of the list among the objects of its event; -1 without a list.
      lists: number of the list of frames, -1 without one.
      references: the stored list of frames to which an event refers; -1 if there is none.
    """

    starts: NDArray[np.int64]
    breaks: NDArray[np.int64]
    columns: list[NDArray[Any]]
    stored: NDArray[np.int64]
    list_stored: NDArray[np.int64]
    lists: NDArray[np.int64]
    references: NDArray[np.int64]


class RepeatedEvents:
    """Reads events whose shape and list of frames are known, for a reader of opcodes."""

    def __init__(self, reader: SnapshotReader) -> None:
        """Begins without shapes."""
        self._reader = reader
        self._headers = frame_headers(reader.content)
        self._shapes: dict[Shape, list[int]] = {}
        self._lists = FrameLists()
        self._window: Window | None = None
        self._size = _SMALLEST_WINDOW
        self._missed = 0  # events of the window that were not recognised
        self._prefix = b""

    def learn(self, event: Mapping[Any, Any], start: int, stored: int) -> None:
        """Learns from an event that the reader has just built.

        Args:
          event: the event.
          start: offset of its first byte.
          stored: number of objects stored before it.
        """
        reader = self._reader
        data = reader.content[start : reader.at]
        has_indices = data[1] == PUT
        if reader.frame_at > start or (reader.put_at > start) != has_indices:
            return
        if self._shapes and has_indices != (self._prefix[1] == PUT):
            return  # the first event decides how objects are stored
        if has_indices:
            excerpt = Excerpt(data, 0, len(data), self._headers[:0], stored)
            if len(excerpt.puts) != reader.stored - stored:
                return
            data = excerpt.data[MARGIN : MARGIN + len(data)].tobytes()
        described = shape_of(data, reader.memo, event)
        if described is None:
            return
        shape, begin, end = described
        if _is_usable(shape) and (shape in self._shapes or len(self._shapes) < _MAX_SHAPES):
            self._shapes.setdefault(shape, [0])
            prefix = shape.begin[: _PREFIX + PUT_SIZE * has_indices]
            if self._prefix != prefix:
                self._prefix, self._window = prefix, None
        if shape.has_list:
            first = stored + shape.stored_before
            count = reader.stored - stored - shape.stored
            stack = reader.builder.stacks.number(event[FRAMES], "", is_shared=True)
            self._lists.learn(data[begin:end], stack, count, first)

    def read(self) -> None:
        """Reads events from the reader's position on, as far as they are recognised."""
        at = self._reader.at
        window = self._window
        if window is None or at >= window.starts[-1]:
            if not self._prefix or not self._reader.content.startswith(self._prefix[:2], at):
                return
            window = self._window = self._recognise(at)
        if window is None:
            return
        first = int(window.starts.searchsorted(at))
        if window.starts[first] != at:
            return
        following = int(window.breaks.searchsorted(first))
        last = int(window.breaks[following]) if following < len(window.breaks) else len(window.starts) - 1
        if last > first:
            self._take(window, first, last)
            return
        self._missed += 1
        if self._missed > _MAX_MISSED and self._missed > first * _MISSED_SHARE:
            self._window, self._size = None, _SMALLEST_WINDOW  # much was learned since the window was compared

    def stored_object(self, index: int, otherwise: Any) -> Any:
        """Returns a stored object of an event that was read here: a part of its list of frames, or `otherwise`."""
        original = self._lists.original(index)
        return otherwise if original is None else self._reader.memo.get(original, otherwise)

    # ---- taking events

    def _take(self, window: Window, first: int, last: int) -> None:
        """Adds recognised events to the rows, and moves the reader behind them."""
        reader = self._reader
        span = slice(first, last)
        stored = window.stored[span] - window.stored[first] + reader.stored
        references = window.references[span]
        referring = np.flatnonzero(references >= 0)
        if (references[referring] >= stored[referring]).any():
            return  # an object that is stored later: the reader of opcodes reports it
        with_list = np.flatnonzero(window.lists[span] >= 0)
        self._lists.store((stored + window.list_stored[span])[with_list], window.lists[span][with_list])
        columns = [column[span] for column in window.columns]
        if len(referring):
            columns[5] = columns[5].copy()
            columns[5][referring] = self._stacks_at(references[referring])
        assert reader.rows is not None
        reader.rows.extend(columns)
        reader.skipped += int(window.stored[last] - window.stored[first])
        reader.at = int(window.starts[last])

    def _stacks_at(self, indices: NDArray[np.int64]) -> NDArray[np.int32]:
        """Returns the stacks of stored lists."""
        stacks = self._lists.stacks_at(indices)
        unknown = np.flatnonzero(stacks == self._lists.UNKNOWN)
        if len(unknown):
            different, positions = np.unique(indices[unknown], return_inverse=True)
            numbers = [self._stack_at(index) for index in different.tolist()]
            stacks[unknown] = np.array(numbers, np.int32)[positions]
        return stacks

    def _stack_at(self, index: int) -> int:
        """Returns the stack of a stored list that the reader of opcodes has built."""
        reader = self._reader
        return reader.builder.stacks.number(reader.get(index), "the frames of an event", is_shared=True)

    # ---- recognising events

    def _recognise(self, at: int) -> Window | None:
        """Returns what is recognised from an offset on; None if no event ends before the end of the file."""
        reader = self._reader
        self._missed = 0
        end = min(at + self._size, len(reader.content))
        excerpt = Excerpt(reader.content, at, end, self._headers, reader.stored)
        starts = self._find_starts(excerpt)
        if len(starts) < 2:
            return None
        names: list[Shape] = sorted(self._shapes, key=lambda shape: -self._shapes[shape][0])
        events = Events(excerpt.data, starts, names)
        shapes = events.shapes()
        count = len(starts) - 1
        columns: list[NDArray[Any]] = [np.zeros(count, dtype) for dtype in TYPES]
        columns[5] -= 1
        stored, list_stored, lists, references = (np.full(count, value) for value in (0, -1, -1, -1))
        is_known = np.zeros(count, np.bool_)
        for number, shape in enumerate(names):
            members = np.flatnonzero(shapes == number)
            if not len(members):
                continue
            self._shapes[shape][0] += len(members)
            accepted = self._fill(columns, shape, events, members)
            if shape.has_list:
                lists[members] = self._lists.recognise(excerpt.data, *events.list_bounds(shape, members))
                accepted &= lists[members] >= 0
                list_stored[members] = shape.stored_before
            elif shape.stack is not None:
                references[members] = events.values(shape.stack, members)
            stored[members] = shape.stored
            is_known[members] = accepted
        with_list = np.flatnonzero(lists >= 0)
        if len(with_list):
            columns[5][with_list] = self._lists.stacks()[lists[with_list]]
            stored[with_list] += self._lists.counts()[lists[with_list]]
        if self._prefix[1] == PUT:
            is_known &= np.diff(excerpt.puts.searchsorted(starts)) == stored  # no index is a part of a number
        is_known[excerpt.misplaced_headers(starts, is_known)] = False
        breaks = np.flatnonzero(~is_known)
        self._resize(len(breaks) / count)
        starts = excerpt.offsets(starts)
        return Window(starts, breaks, columns, np.append(0, np.cumsum(stored)), list_stored, lists, references)

    def _resize(self, share: float) -> None:
        """Chooses the size of the next window: small while many events are not recognised, since few are known yet."""
        if share < 0.1:
            self._size = min(2 * self._size, _LARGEST_WINDOW)
        elif share > 0.4:
            self._size = max(self._size // 2, _SMALLEST_WINDOW)

    def _find_starts(self, excerpt: Excerpt) -> NDArray[np.int64]:
        """Returns where the first bytes of an event occur in an excerpt."""
        prefix = np.frombuffer(self._prefix, np.uint8)
        region = excerpt.data[MARGIN : excerpt.end]
        sample = np.bincount(region[:65536], minlength=256)[prefix]
        rarest = int(sample.argmin())
        starts = np.flatnonzero(region[rarest : len(region) - len(prefix) + 1 + rarest] == prefix[rarest])
        for offset, byte in enumerate(prefix):
            starts = starts[region[starts + offset] == byte]
        return starts + MARGIN

    def _fill(
        self, columns: list[NDArray[Any]], shape: Shape, events: Events, members: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Fills the columns for events of one shape; returns which of them the reader of opcodes would accept."""
        codes = self._action_codes(events.values(shape.action, members))
        accepted = codes >= 0
        columns[0][members] = np.where(accepted, codes, 0)
        if "device_free" in shape.fields:
            accepted &= codes == OOM
        for number, name in enumerate(
            ("device_free" if "device_free" in shape.fields else "addr", "size", "stream", "time_us"), 1
        ):
            if name in shape.fields:
                values = events.values(shape.fields[name], members)
                columns[number][members] = values
                if name != "stream":
                    accepted &= values >= 0
        for reference in shape.references:
            accepted &= events.values(reference, members) < self._reader.stored
        return accepted

    def _action_codes(self, references: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the codes of actions that were stored before; -1 where the stored object is not a string."""
        different, positions = np.unique(references, return_inverse=True)
        names = [self._reader.memo.get(index) for index in different.tolist()]
        codes = self._reader.builder.codes
        return np.array([codes.code(name) if type(name) is str else -1 for name in names])[positions]


def _is_usable(shape: Shape) -> bool:
    """Returns whether the fields that every event needs have known places."""
    return "size" in shape.fields and ("addr" in shape.fields) != ("device_free" in shape.fields)
