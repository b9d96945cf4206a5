"""How does a page name the stacks of a snapshot: by line, module and phase, and frame by frame?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nbtf._locks import computed_once
from nbtf._snapshots.lines import Origin, Origins
from nbtf._snapshots.snapshot import Frame, MemorySnapshot


class Naming:
    """The names of a snapshot's stacks, each list in the order of the stacks; empty texts are unknown."""

    def __init__(self, snapshot: MemorySnapshot, write_frame: Callable[[Frame], str]) -> None:
        """Stores how frames are written."""
        self.snapshot: MemorySnapshot = snapshot
        self.origins: Origins = Origins(snapshot)
        self.write_frame: Callable[[Frame], str] = write_frame

    @computed_once
    def lines(self) -> Sequence[str]:
        """The line of each stack, such as `model.py:57 · forward`."""
        return [line_in_words(self.origins[number]) for number in range(len(self.snapshot.stacks))]

    @computed_once
    def modules(self) -> Sequence[str]:
        """The modules that were running, such as `model.py:57 > linear`."""
        return [self.origins[number].module for number in range(len(self.snapshot.stacks))]

    @computed_once
    def phases(self) -> Sequence[str]:
        """The phase of training, such as `forward`."""
        return [self.origins[number].phase for number in range(len(self.snapshot.stacks))]


def line_in_words(origin: Origin) -> str:
    """Returns the line of a stack; pictures shorten it to the part before the dot."""
    return origin.words.replace(" in ", " · ", 1)
