"""Which stacks does a snapshot have? Each distinct frame and stack is stored once, under a number."""

from __future__ import annotations

from typing import Any, cast

from nbtf._snapshots.damage import damaged
from nbtf._snapshots.snapshot import Frame, Stack

NO_STACK = -1


class StackTable:
    """The distinct stacks of a snapshot in the order in which they first occur.

    Attributes:
      stacks: the stacks, by number.
    """

    def __init__(self, source: str) -> None:
        """Begins without stacks; `source` is the file that errors name."""
        self.stacks: list[Stack] = []
        self._source = source
        self._frames: dict[tuple[str, int, str], int] = {}
        self._frame_of: list[Frame] = []
        self._numbers: dict[tuple[int, ...], int] = {}
        self._shared_frames: dict[int, tuple[Any, int]] = {}
        self._shared_stacks: dict[int, tuple[Any, int]] = {}

    def number(self, frames: Any, location: str, is_shared: bool = False) -> int:
        """Returns the number of a stack.

        Args:
          frames: a list of dictionaries as PyTorch writes them, the innermost call first; None without a stack.
          location: the place in the file that errors name.
          is_shared: whether the same list or dictionary may come again, as in a pickle. It is then remembered.

        Raises:
          RefusedFileError: if it is not a list of such dictionaries.
        """
        if frames is None:
            return NO_STACK
        if is_shared and (entry := self._shared_stacks.get(id(frames))) is not None:
            return entry[1]
        if not isinstance(frames, list):
            raise damaged(self._source, location, frames, "a list of frames")
        key = tuple([self._frame(frame, location, is_shared) for frame in cast("list[Any]", frames)])
        number = self._numbers.setdefault(key, len(self.stacks))
        if number == len(self.stacks):
            self.stacks.append(tuple([self._frame_of[frame] for frame in key]))
        if is_shared:
            self._shared_stacks[id(frames)] = frames, number  # pyright: ignore[reportUnknownArgumentType]
        return number

    def _frame(self, frame: Any, location: str, is_shared: bool) -> int:
        """Returns the number of a frame."""
        if is_shared and (entry := self._shared_frames.get(id(frame))) is not None:
            return entry[1]
        if not isinstance(frame, dict):
            raise damaged(self._source, location, frame, "dictionaries with `filename`, `line` and `name`")
        fields = cast("dict[Any, Any]", frame)
        file, line, function = fields.get("filename"), fields.get("line"), fields.get("name")
        if type(file) is not str or type(line) is not int or type(function) is not str:
            raise damaged(self._source, location, fields, "dictionaries with `filename`, `line` and `name`")
        number = self._frames.get((file, line, function))
        if number is None:
            number = self._frames[file, line, function] = len(self._frame_of)
            self._frame_of.append(Frame(file, line, function))
        if is_shared:
            self._shared_frames[id(frame)] = frame, number  # pyright: ignore[reportUnknownArgumentType]
        return number
