"""How is a pickled snapshot read quickly? Events become rows at once; runs of known shapes are read as arrays.

The reader of opcodes builds one event at a time. It hands each to `TraceRows` and forgets it, so memory stays small.
`RepeatedEvents` then reads the following events of known shapes at once; whatever it does not know is left to opcodes.
"""

from __future__ import annotations

from typing import Any

from nbtf._snapshots.contents import SnapshotBuilder, add_contents
from nbtf._snapshots.repeated_events import RepeatedEvents
from nbtf._snapshots.rows import TraceRows
from nbtf._storage.pickle_machine import Action, PickleReader
from nbtf._storage.pickles import ACTIONS

_HISTORY = "device_traces"


class _Skipped:
    """Stands for an object that is part of an event that was read as a row."""

    def __repr__(self) -> str:
        return "a part of an earlier event"


SKIPPED = _Skipped()


class SnapshotReader(PickleReader):
    """Reads a pickled snapshot; each list of events becomes a `TraceRows`."""

    def __init__(self, content: bytes, source: str, builder: SnapshotBuilder, is_fast: bool = True) -> None:
        """Begins at the first byte.

        Args:
          content: the pickle.
          source: the file that errors name.
          builder: collects the events.
          is_fast: whether to read runs of events as arrays; the result is the same.
        """
        super().__init__(content, source)
        self.builder = builder
        self.rows: TraceRows | None = None
        self.frame_at = self.put_at = -1  # offsets of the last header of a frame and of the last stored index
        self._height = -1  # of the stack below an event
        self._event_at = self._event_stored = 0
        self._repeated = RepeatedEvents(self) if is_fast else None

    @property
    def stored(self) -> int:
        """The number of stored objects."""
        return len(self.memo) + self.skipped

    def new_list(self) -> None:
        """Adds an empty list, or the rows of a device if the list is a history."""
        stack = self.stack
        if self._is_history(len(stack)):
            self.rows = self.builder.new_trace()
            self.push(self.rows)
            self._height = len(stack)
        else:
            self.push([])

    def _is_history(self, height: int) -> bool:
        """Returns whether a list at this height of the stack is an entry of the list `device_traces`."""
        stack = self.stack
        if height < 2:
            return False
        start = height - 1 if stack[-2] == _HISTORY else self.marks[-1] - 1 if self.marks else 0
        return start > 0 and type(stack[start]) is list and stack[start - 1] == _HISTORY

    def new_dict(self) -> None:
        """Adds an empty dictionary, which may be an event."""
        if len(self.stack) == self._height:
            self._event_at, self._event_stored = self.at - 1, self.stored
        self.push({})

    def put(self, index: int) -> None:
        """Stores the object on top of the stack."""
        self.put_at = self.at
        super().put(index)

    def end_dict(self) -> None:
        """Notices that the entries of a dictionary are complete; an event becomes a row."""
        if len(self.stack) != self._height + 1 or not self.marks or self.marks[-1] != self._height:
            return
        if self.rows is None or self.stack[-2] is not self.rows:
            return
        event = self.stack.pop()
        self.rows.add(event)
        if self.memo.get(self._event_stored) is event:
            self.memo[self._event_stored] = SKIPPED
        if self._repeated is not None and self.is_regular:
            self._repeated.learn(event, self._event_at, self._event_stored)
            self._repeated.read()

    def add_entries(self, items: list[Any]) -> None:
        """Adds entries to the list, or events to the rows, on top of the stack."""
        if isinstance(self.stack[-1], TraceRows):
            for event in items:
                self.stack[-1].add(event)
        else:
            self.target(list).extend(items)

    def find_skipped(self, index: int) -> Any:
        """Returns a stored object that was read as part of a row."""
        if index >= self.stored or self._repeated is None:
            return super().find_skipped(index)
        return self._repeated.stored_object(index, SKIPPED)


def read_pickled(content: bytes, source: str, builder: SnapshotBuilder, is_fast: bool = True) -> Any:
    """Adds a pickled snapshot to a builder.

    Args:
      content: the pickle.
      source: the file that errors name.
      builder: collects the parts; create it for shared objects.
      is_fast: whether to read runs of events as arrays; the result is the same.

    Returns:
      The allocator's settings, or None.

    Raises:
      RefusedFileError: if it is damaged, asks for anything but plain data, or is not a snapshot.
    """
    reader = SnapshotReader(content, source, builder, is_fast)
    return add_contents(builder, reader.load())


def _append(reader: Any) -> None:
    value = reader.pop()
    reader.add_entries([value])


def _set(action: Action) -> Action:
    def then_notice(reader: Any) -> None:
        action(reader)
        reader.end_dict()

    return then_notice


def _frame(action: Action) -> Action:
    def then_remember(reader: Any) -> None:
        reader.frame_at = reader.at - 1
        action(reader)

    return then_remember


def _actions() -> tuple[Action, ...]:
    """Returns the actions of all opcodes; some also notice events."""
    actions = [*ACTIONS]
    actions[ord("]")] = SnapshotReader.new_list  # type: ignore
    actions[ord("}")] = SnapshotReader.new_dict  # type: ignore
    actions[ord("a")] = _append
    actions[ord("e")] = lambda reader: reader.add_entries(reader.items())  # type: ignore
    for opcode in b"su":
        actions[opcode] = _set(actions[opcode])
    actions[0x95] = _frame(actions[0x95])
    return tuple(actions)


SnapshotReader.actions = _actions()
