"""What does PyTorch's dictionary say? Checks segments, blocks and settings, and returns the snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, cast

from nbtf._snapshots.damage import damaged, whole_number
from nbtf._snapshots.rows import ActionCodes, TraceRows
from nbtf._snapshots.snapshot import Block, MemorySnapshot, Segment
from nbtf._snapshots.stacks import NO_STACK, StackTable

STATES = ("active_allocated", "active_pending_free", "active_awaiting_free", "inactive")
_SMALL_SEGMENT = 2 << 20


class SnapshotBuilder:
    """Collects the parts of a snapshot while a file is read.

    Attributes:
      traces: the events of each device, by its number.
      stacks: the distinct stacks.
    """

    def __init__(self, source: str, is_shared: bool) -> None:
        """Begins without content.

        Args:
          source: the file that errors name.
          is_shared: whether several places may refer to the same list, as in a pickle.
        """
        self.source = source
        self.is_shared = is_shared
        self.stacks = StackTable(source)
        self.codes = ActionCodes()
        self.traces: list[TraceRows] = []
        self.segments: list[Segment] = []
        self._used: dict[int, str] = {}

    def new_trace(self) -> TraceRows:
        """Returns the columns for the events of the next device."""
        self.traces.append(TraceRows(self.source, len(self.traces), self.stacks, self.codes, self.is_shared))
        return self.traces[-1]

    def add_segment(self, fields: Any) -> None:
        """Adds a segment, given the dictionary that PyTorch writes.

        Raises:
          RefusedFileError: if a field is missing, has another type, or a block is not inside the segment.
        """
        location = f"segments[{len(self.segments)}]"
        if not isinstance(fields, dict):
            raise damaged(self.source, location, fields, "a dictionary")
        entries = cast("dict[Any, Any]", fields)
        self.use_once(entries, location)
        size = self._number(location, entries, "total_size")
        address = self._number(location, entries, "address")
        blocks = entries.get("blocks")
        if not isinstance(blocks, list):
            raise damaged(self.source, f"{location}.blocks", cast("Any", blocks), "a list")
        self.use_once(blocks, f"{location}.blocks")
        self.segments.append(
            Segment(
                self._number(location, entries, "device", 0),
                address,
                size,
                whole_number(self.source, f"{location}.stream", entries.get("stream", 0), -(1 << 63)),
                entries.get("segment_type", "small" if size <= _SMALL_SEGMENT else "large") == "small",
                entries.get("is_expandable") is True,
                tuple(self._blocks(location, cast("list[Any]", blocks), address, size)),
            )
        )

    def use_once(self, container: Any, location: str) -> None:
        """Refuses a container that was read before: reading shared ones again could take any time and memory."""
        if self.is_shared and self._used.setdefault(id(container), location) != location:
            raise damaged(
                self.source, location, container, f"an object of its own, not that of {self._used[id(container)]}"
            )

    def _blocks(self, location: str, blocks: list[Any], start: int, size: int) -> Iterator[Block]:
        """Yields the blocks of a segment; older releases of PyTorch write no address, only the order."""
        at = start
        for number, block in enumerate(blocks):
            block_location = f"{location}.blocks[{number}]"
            if not isinstance(block, dict):
                raise damaged(self.source, block_location, block, "a dictionary")
            fields = cast("dict[Any, Any]", block)
            nbytes = self._number(block_location, fields, "size")
            address = self._number(block_location, fields, "address", at)
            if address < at or address + nbytes > start + size:
                expected = f"an address from {at:#x} to {start + size - nbytes:#x}"
                raise damaged(self.source, f"{block_location}.address", address, f"{expected}, inside its segment")
            state = fields.get("state")
            if state not in STATES:
                raise damaged(self.source, f"{block_location}.state", state, "one of " + ", ".join(STATES))
            requested, frames = self._request(block_location, fields, nbytes)
            stack = (
                NO_STACK if frames is None else self.stacks.number(frames, f"{block_location}.frames", self.is_shared)
            )
            yield Block(address, nbytes, requested, state, stack)
            at = address + nbytes

    def _request(self, block_location: str, fields: dict[Any, Any], nbytes: int) -> tuple[int, Any]:
        """Returns the requested bytes of a block and its frames; in PyTorch 1.13, the newest entry of its history."""
        history = fields.get("history")
        if isinstance(history, list) and history and isinstance(history[0], dict):
            newest = cast("dict[Any, Any]", history[0])
            size = newest.get("real_size", nbytes)
            return whole_number(self.source, f"{block_location}.history[0].real_size", size), newest.get("frames")
        return self._number(block_location, fields, "requested_size", nbytes), fields.get("frames")

    def _number(self, location: str, fields: dict[Any, Any], name: str, default: int | None = None) -> int:
        return whole_number(self.source, f"{location}.{name}", fields.get(name, default))

    def snapshot(self, form: str, settings: Any = None) -> MemorySnapshot:
        """Returns the snapshot.

        Args:
          form: what the file is.
          settings: the allocator's settings, as the file has them.
        """
        segments = sorted(self.segments, key=lambda segment: (segment.device, segment.address))
        for segment, following in pairwise(segments):
            if segment.device == following.device and segment.address + segment.size > following.address:
                expected = f"an address from {segment.address + segment.size:#x} on, after the segment before it"
                raise damaged(self.source, "the address of a segment", following.address, expected)
        traces = [rows.trace(device) for device, rows in enumerate(self.traces)]
        checked = cast("dict[Any, Any]", settings) if isinstance(settings, dict) else {}
        return MemorySnapshot(
            source=self.source,
            form=form,
            segments=segments,
            traces=[trace for trace in traces if len(trace) or trace.left_out],
            stacks=self.stacks.stacks,
            settings={str(name): _setting(value) for name, value in checked.items()},
        )


def add_contents(builder: SnapshotBuilder, contents: Any) -> Any:
    """Adds the content of a file to a builder: the dictionary that PyTorch writes, or only its list of segments.

    Args:
      builder: collects the parts.
      contents: plain data. A history may already be a `TraceRows` of the builder.

    Returns:
      The allocator's settings, or None.

    Raises:
      RefusedFileError: if it is neither.
    """
    expected = "a memory snapshot of PyTorch, with `segments`"
    content = cast("Any", {"segments": contents} if isinstance(contents, list) else contents)
    if not isinstance(content, dict):
        raise damaged(builder.source, "its content", content, expected)
    fields = cast("dict[Any, Any]", content)
    if not ("segments" in fields or "device_traces" in fields):
        raise damaged(builder.source, "its content", fields, expected)
    for segment in _list(builder, fields, "segments"):
        builder.add_segment(segment)
    read, builder.traces = builder.traces, []
    for number, events in enumerate(_list(builder, fields, "device_traces")):
        builder.use_once(events, f"device_traces[{number}]")
        if isinstance(events, TraceRows) and any(rows is events for rows in read):
            builder.traces.append(events)
        elif isinstance(events, list):
            rows = builder.new_trace()
            for event in cast("list[Any]", events):
                rows.add(event)
        else:
            raise damaged(builder.source, f"device_traces[{number}]", events, "a list")
    return fields.get("allocator_settings")


def _list(builder: SnapshotBuilder, fields: dict[Any, Any], name: str) -> Sequence[Any]:
    """Returns a list of the dictionary; an empty one if it is missing."""
    value = fields.get(name, [])
    if not isinstance(value, list):
        raise damaged(builder.source, name, value, "a list")
    return cast("list[Any]", value)


def _setting(value: Any) -> Any:
    """Returns a setting without nested lists, which could refer to one another many times."""
    if isinstance(value, dict):  # the divisions of `roundup_power2_divisions`
        return {str(name): entry for name, entry in cast("dict[Any, Any]", value).items() if _is_scalar(entry)}
    return value if _is_scalar(value) else None


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)
