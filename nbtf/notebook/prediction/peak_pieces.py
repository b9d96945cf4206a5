"""What is in use at a peak? The pieces of a prediction and of a snapshot in one form, by line and phase."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from nbtf._frameworks.torch.prediction.callers import Call, PredictedPiece
from nbtf._snapshots.account import DeviceAccount
from nbtf._snapshots.holders import BEFORE, NO_STACK
from nbtf._snapshots.lines import Origin, Origins, is_own, origin_of
from nbtf._snapshots.snapshot import Frame, Stack
from nbtf.notebook.prediction.file_matches import FileMatches, in_terms_of_cells

NO_LINE = "no line of the program"
"""Name of memory that only calls of libraries allocated."""

_ROUNDING = 512
"""Blocks are multiples of it, and some files contain only the sizes of blocks."""


class PeakPiece(NamedTuple):
    """An allocation in use at a peak.

    Attributes:
      requested: bytes that the program requested, rounded up to 512, to compare pieces with each other.
      nbytes: bytes that the allocator charges.
      line: file and line of the program; None if unknown.
      phase: `forward`, `backward`, `update` or `input`; empty if unknown.
      stack: the calls that made it.
      reason: why `line` is unknown; otherwise empty.
      stream: the CUDA stream.
    """

    requested: int
    nbytes: int
    line: tuple[str, int] | None
    phase: str
    stack: Stack
    reason: str
    stream: int = 0


def predicted_pieces(pieces: Iterable[PredictedPiece], first_twins: Mapping[int, int]) -> list[PeakPiece]:
    """Returns the pieces of a prediction, the oldest first.

    Args:
      pieces: the allocations at the peak.
      first_twins: for each cell the first one with the same text.
    """
    origins: dict[tuple[Call, ...], tuple[Stack, Origin]] = {}
    result: list[PeakPiece] = []
    for requested, nbytes, calls in pieces:
        if calls not in origins:
            stack = in_terms_of_cells(calls, first_twins)
            origins[calls] = stack, origin_of(stack)
        stack, origin = origins[calls]
        line = (origin.line.file, origin.line.line) if origin.line is not None and origin.is_own else None
        result.append(_piece(requested, nbytes, line, origin.phase, stack, "" if line else NO_LINE))
    return result


def measured_pieces(account: DeviceAccount, origins: Origins, files: FileMatches) -> list[PeakPiece]:
    """Returns the pieces of a snapshot's device at its peak, the oldest first.

    Args:
      account: the account of the device.
      origins: the origins of the snapshot's stacks.
      files: the program's name of each file in the snapshot.
    """
    pieces = account.pieces.at(account.rows_at(account.peak.state))
    pieces = pieces.at(pieces.birth.argsort(kind="stable"))
    stacks = account.snapshot.stacks
    result: list[PeakPiece] = []
    columns = pieces.requested, pieces.size, pieces.stack, pieces.event, pieces.stream
    for requested, nbytes, number, event, stream in zip(*[column.tolist() for column in columns], strict=True):
        if number < 0:
            reason = BEFORE if event < 0 else NO_STACK
            result.append(_piece(requested, nbytes, None, "", (), reason, stream))
            continue
        origin = origins[number]
        line = files.line_of(origin.line) if origin.line is not None and origin.is_own else None
        reason = "" if line else NO_STACK if origin.line is None else NO_LINE
        stack = stacks[int(number)]
        result.append(_piece(requested, nbytes, line, origin.phase, stack, reason, stream))
    return result


def calls_of_program(stacks: Iterable[Stack]) -> list[Frame]:
    """Returns the distinct calls of the user's program in stacks, in the order in which they first occur."""
    frames = dict.fromkeys([frame for stack in stacks for frame in stack])
    return [frame for frame in frames if is_own(frame.file)]


def _piece(
    requested: int,
    nbytes: int,
    line: tuple[str, int] | None,
    phase: str,
    stack: Stack,
    reason: str,
    stream: int = 0,
) -> PeakPiece:
    return PeakPiece(-(-requested // _ROUNDING) * _ROUNDING, nbytes, line, phase, stack, reason, stream)
