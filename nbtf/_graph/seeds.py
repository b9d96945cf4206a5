"""Seeds for the random ops of a graph, from which each session draws its own stream of numbers."""

from __future__ import annotations

from typing import Any

from nbtf._runtime.seeds import LARGEST, SEED_OF_UNSEEDED, Seeds, Stream, unforeseeable


def seeds_of(graph_seed: int | None, op_seed: int | None, number: int) -> tuple[int | None, int | None]:
    """Returns the two seeds of an op; two None if neither the graph nor the op has a seed.

    Args:
      graph_seed: the graph's seed.
      op_seed: the op's own seed.
      number: index of the op among those without a seed, which distinguishes them.
    """
    if graph_seed is None and op_seed is None:
        return None, None
    first = SEED_OF_UNSEEDED if graph_seed is None else graph_seed
    second = number if op_seed is None else op_seed
    pair = int(first) % LARGEST, int(second) % LARGEST
    return pair if pair != (0, 0) else (0, LARGEST)  # two zeros would mean: no seed


class GraphStream:
    """The seeds of a random op of a graph. Each session draws its own stream of numbers from them."""

    __slots__ = ("seed", "seed2")

    def __init__(self, seed: int | None, seed2: int | None) -> None:
        """Stores both seeds; None for unpredictable numbers."""
        self.seed = seed
        self.seed2 = seed2

    def started(self) -> Stream:
        """Returns a new stream of numbers, for one session."""
        if self.seed is None or self.seed2 is None:
            return Stream(*unforeseeable())
        return Stream(self.seed, self.seed2)


class FunctionSeeds:
    """The random state while a function is traced: each op of the trace has its own random stream."""

    def __init__(self, outer: Seeds) -> None:
        """Stores the program's random state, whose global seed is used."""
        self._outer = outer
        self._unseeded = 0

    def stream(self, purpose: Any, op_seed: int | None) -> GraphStream:
        """Returns the seeds of an op; ops without their own seed are counted."""
        counts = self._outer._seed is not None and op_seed is None
        self._unseeded += counts
        return GraphStream(*seeds_of(self._outer._seed, op_seed, self._unseeded - counts))

    def __getattr__(self, name: str) -> Any:
        """Returns an attribute of the program's random state, such as its generator."""
        return getattr(self._outer, name)
