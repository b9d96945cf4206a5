"""How do two recordings differ? Ops that moved, copies, and the memory of GPUs. Times never count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from nbtf._counts import counted
from nbtf._devices.names import short_name
from nbtf._displayed import Displayed, preformatted
from nbtf._record.alignment import Line, OpChange, changes_of_ops, copies_by_line
from nbtf._runtime.arguments import unexpected
from nbtf._runtime.expectations import exact
from nbtf._runtime.placement import in_words
from nbtf.runtime._recorded_events import RecordedEvents

ASPECTS = ("placement", "copies", "memory")
"""What can be compared."""


class CopyChange(NamedTuple):
    """Copies of a line and direction, of which there are more or fewer: count and bytes in both."""

    line: Line
    copy: str
    source: str
    target: str
    old: tuple[int, int]
    new: tuple[int, int]


class MemoryChange(NamedTuple):
    """A figure of a GPU's memory in bytes in both recordings; None if a recording does not have the GPU.

    `figure` is `peak` or `kept`. `library` is empty for nbtf.
    """

    device: str
    library: str
    figure: str
    old: int | None
    new: int | None


class RecordingDifference(NamedTuple):
    """The differences between two recordings; true if there are any.

    Attributes:
      ops: ops that moved, are new, or are missing.
      copies: copies of which there are more or fewer, or other bytes.
      memory: peaks of memory, and memory that was kept.
      notes: what was not compared, and why.
    """

    ops: tuple[OpChange, ...]
    copies: tuple[CopyChange, ...]
    memory: tuple[MemoryChange, ...]
    notes: tuple[str, ...]

    def __bool__(self) -> bool:
        """Returns whether there are differences."""
        return bool(self.ops or self.copies or self.memory)

    def as_data(self) -> dict[str, Any]:
        """Returns the differences as plain data for JSON."""
        return {
            "equal": not self,
            "ops": [_op_data(change) for change in self.ops],
            "copies": [
                change._asdict() | {"line": _line(change.line), "old": _copied(change.old), "new": _copied(change.new)}
                for change in self.copies
            ],
            "memory": [change._asdict() for change in self.memory],
            "notes": list(self.notes),
        }

    def in_words(self) -> list[str]:
        """Returns the differences as lines of text, by line of the program."""
        lines = [_op_in_words(change) for change in self.ops]
        lines += [_copies_in_words(change) for change in self.copies]
        return lines + [_memory_in_words(change) for change in self.memory]

    _repr_mimebundle_ = Displayed._repr_mimebundle_  # a tuple with names has no other base class

    def _repr_html_(self) -> str:
        """Returns the differences and notes as HTML, one on each line."""
        return preformatted("\n".join([*(self.in_words() or ["No differences."]), *self.notes]))


def compare_recordings(
    old: RecordedEvents, new: RecordedEvents, only: str | None = None, peak: float = 0.0
) -> RecordingDifference:
    """Returns how a recording differs from an earlier one. Times never count.

    Ops are aligned by their line and by their order within the line, so that a new op does not shift the others.

    Args:
      old: the earlier recording, just made or from a file.
      new: the later recording.
      only: `"placement"`, `"copies"` or `"memory"`; None compares all three.
      peak: by which share a peak may differ without counting; 0.05 is 5 %.

    Raises:
      TypeError: if an argument is not a recording.
      ValueError: if `only` is not one of the three, or `peak` is negative.

    >>> with tf.runtime.recording() as first:
    ...     c = tf.add(1.0, 2.0)
    >>> bool(tf.runtime.compare_recordings(first, first))
    False
    """
    for record in (old, new):
        if not isinstance(record, RecordedEvents):  # pyright: ignore[reportUnnecessaryIsInstance]  # from a user
            raise unexpected(record, "old and new", "recordings")
    if only not in (None, *ASPECTS):
        raise ValueError(f"only must be one of {', '.join(ASPECTS)}, got {only!r}")
    if not peak >= 0:
        raise ValueError(f"peak must be a share of 0 or more, got {peak!r}")
    notes = [
        f"{counted(record.snapshot(0).heard - len(record.events), 'event')} at the beginning of the {name} recording "
        "were dropped and are not compared"
        for name, record in (("first", old), ("second", new))
        if record.snapshot().cut
    ]
    chosen = ASPECTS if only is None else (only,)
    ops = changes_of_ops(old.events, new.events) if "placement" in chosen else []
    copies = [*_copy_changes(old, new)] if "copies" in chosen else []
    memory = [*_memory_changes(old, new, peak)] if "memory" in chosen else []
    return RecordingDifference(tuple(ops), tuple(copies), tuple(memory), tuple(notes))


def _copy_changes(earlier: RecordedEvents, latest: RecordedEvents) -> Iterator[CopyChange]:
    first, second = copies_by_line(earlier.events), copies_by_line(latest.events)
    for key in sorted({*first, *second}):
        old, new = first.get(key, (0, 0)), second.get(key, (0, 0))
        if old != new:
            yield CopyChange(*key, old, new)


def _memory_changes(earlier: RecordedEvents, latest: RecordedEvents, peak: float) -> Iterator[MemoryChange]:
    first, second = _figures(earlier), _figures(latest)
    for key in sorted({*first, *second}):
        old, new = first.get(key), second.get(key)
        tolerance = peak * old if old is not None and key[2] == "peak" else 0.0
        if old is None or new is None or abs(new - old) > tolerance:
            yield MemoryChange(*key, old, new)


def _figures(record: RecordedEvents) -> dict[tuple[str, str, str], int]:
    """Returns the peaks by device, from the measured memory use, or else from the events; with it, what was kept."""
    figures: dict[tuple[str, str, str], int] = {}
    for use in record.memory:
        figures[use.device, use.library, "peak"] = use.peak
        figures[use.device, use.library, "kept"] = use.kept
    snapshot = record.snapshot(0)
    peaks: Mapping[tuple[str, str], int] = {("", device): size for device, size in snapshot.peaks.items()}
    for (library, device), size in {**peaks, **snapshot.library_peaks}.items():
        if not record.memory:
            figures[short_name(device), library, "peak"] = size
    return figures


# Words


def _line(line: Line) -> str:
    if not line[0]:
        return "unknown line"
    return f"{line[0]}:{line[1]}" if line[1] else line[0]


def _copied(figures: tuple[int, int]) -> dict[str, int]:
    return {"count": figures[0], "bytes": figures[1]}


def _op_data(change: OpChange) -> dict[str, Any]:
    either = change.old or change.new
    sides = {
        name: None if op is None else {"device": op.device, "reason": op.reason.kind, "why": _reason_in_words(op)}
        for name, op in (("old", change.old), ("new", change.new))
    }
    return {"line": _line(change.line), "op": either.op if either else "", "count": change.times} | sides


def _reason_in_words(op: Any) -> str:
    return in_words(op.op, op.device, op.reason).partition(": ")[2]


def _times(count: int) -> str:
    return "" if count == 1 else f", {count:,} times"


def _op_in_words(change: OpChange) -> str:
    old, new, head = change.old, change.new, f"{_line(change.line)}: "
    if old is None and new is not None:
        return f"{head}new op {new.op} on {new.device} ({_reason_in_words(new)}){_times(change.times)}"
    if new is None and old is not None:
        return f"{head}missing op {old.op} on {old.device} ({_reason_in_words(old)}){_times(change.times)}"
    assert old is not None  # one of the two is there
    assert new is not None
    moved = f"{old.op} moved from {old.device} ({_reason_in_words(old)}) to {new.device} ({_reason_in_words(new)})"
    return f"{head}{moved}{_times(change.times)}"


def _copies_in_words(change: CopyChange) -> str:
    sides = [f"{counted(count, 'copy', 'copies')}, {exact(nbytes)}" for count, nbytes in (change.old, change.new)]
    return f"{_line(change.line)}: {change.copy} from {change.source} to {change.target}: {sides[0]} → {sides[1]}"


def _memory_in_words(change: MemoryChange) -> str:
    sides = ["not recorded" if size is None else exact(size) for size in (change.old, change.new)]
    library = f" ({change.library})" if change.library else ""
    return f"{change.device}{library}: {change.figure} {sides[0]} → {sides[1]}"
