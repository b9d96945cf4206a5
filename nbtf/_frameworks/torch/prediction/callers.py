"""Which function calls led to each allocation of a prediction? Recorded only for a comparison with a snapshot."""

from __future__ import annotations

from types import FrameType
from typing import NamedTuple, TypeAlias

Call: TypeAlias = tuple[str, int, str]
"""File, line and function of a running call."""


class PredictedPiece(NamedTuple):
    """An allocation in use at the peak: bytes requested, bytes charged, and the calls that made it, innermost first."""

    requested: int
    nbytes: int
    calls: tuple[Call, ...]


class Callers:
    """The calls that led to each allocation; each distinct stack is stored once."""

    def __init__(self) -> None:
        """Begins without allocations."""
        self._numbers: dict[tuple[Call, ...], int] = {}
        self._stacks: list[tuple[Call, ...]] = []
        self._allocations: dict[int, tuple[int, int]] = {}

    @property
    def stacks(self) -> list[tuple[Call, ...]]:
        """The distinct stacks, in the order in which they first allocated."""
        return self._stacks

    def record(self, allocation: int, requested: int, frame: FrameType | None) -> None:
        """Records an allocation.

        Args:
          allocation: number of the allocation.
          requested: size in bytes.
          frame: the innermost running call.
        """
        calls: list[Call] = []
        while frame is not None:
            calls.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
            frame = frame.f_back
        stack = tuple(calls)
        number = self._numbers.setdefault(stack, len(self._stacks))
        if number == len(self._stacks):
            self._stacks.append(stack)
        self._allocations[allocation] = requested, number

    def piece(self, allocation: int, nbytes: int) -> PredictedPiece:
        """Returns a recorded allocation, for which `nbytes` bytes are charged."""
        requested, number = self._allocations[allocation]
        return PredictedPiece(requested, nbytes, self._stacks[number])
