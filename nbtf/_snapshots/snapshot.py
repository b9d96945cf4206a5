"""What does a memory snapshot of PyTorch contain? Segments at the end, and the history of each device in columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from nbtf._displayed import Drawn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Source of the names: torch/csrc/cuda/Module.cpp and torch/cuda/memory.py of PyTorch 2.13.
ACTIONS = (
    "alloc",
    "free_requested",
    "free_completed",
    "segment_alloc",
    "segment_free",
    "segment_map",
    "segment_unmap",
    "oom",
    "snapshot",
)
"""The names of actions; an action is stored as its index. Actions with other names are not kept, only counted."""
(ALLOC, FREE_REQUESTED, FREE_COMPLETED, SEGMENT_ALLOC, SEGMENT_FREE, SEGMENT_MAP, SEGMENT_UNMAP, OOM, SNAPSHOT) = range(
    len(ACTIONS)
)


class Frame(NamedTuple):
    """One function call of a stack."""

    file: str
    line: int
    function: str


Stack: TypeAlias = "tuple[Frame, ...]"
"""The function calls that led to an event, the innermost first."""


class Block(NamedTuple):
    """A block of a segment at the end of the history, in bytes; `stack` is an index into `MemorySnapshot.stacks`."""

    address: int
    size: int
    requested: int
    state: str
    """`active_allocated`, `active_pending_free` (`active_awaiting_free` in newer releases) or `inactive`."""
    stack: int = -1


class Segment(NamedTuple):
    """Memory that the allocator had from the driver at the end of the history, in bytes, with its blocks by address."""

    device: int
    address: int
    size: int
    stream: int
    is_small: bool
    is_expandable: bool
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """The history of one device in columns, oldest event first.

    Attributes:
      device: number of the card.
      action: index into `ACTIONS`.
      address: first byte; of an `oom`, the bytes that were free on the card.
      size: bytes; those requested of an `alloc` and of a `free_completed`, those mapped of a segment.
      stream: the CUDA stream.
      microseconds: since the epoch; 0 if the file has no times.
      stack: index into `MemorySnapshot.stacks`, -1 if none was recorded.
      left_out: number of events with other actions, by name.
    """

    device: int
    action: NDArray[np.uint8]
    address: NDArray[np.int64]
    size: NDArray[np.int64]
    stream: NDArray[np.int64]
    microseconds: NDArray[np.int64]
    stack: NDArray[np.int32]
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])

    def __len__(self) -> int:
        """Returns the number of events."""
        return len(self.action)


@dataclass(frozen=True, slots=True, eq=False)
class MemorySnapshot(Drawn):
    """A memory snapshot, as a file contains it.

    Attributes:
      source: name of the file.
      form: what the file is: `pickle`, `JSON` or `SQLite`, with `gzip` before it if it was compressed.
      segments: memory of all devices at the end, by device and address.
      traces: the history of each device that has one, by number.
      stacks: the distinct stacks, to which blocks and traces refer by index.
      settings: the allocator's settings as the file names them; empty if it does not.
    """

    source: str
    form: str
    segments: Sequence[Segment]
    traces: Sequence[Trace]
    stacks: Sequence[Stack]
    settings: Mapping[str, Any]
