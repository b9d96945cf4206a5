"""Seeds for the random ops of a graph, from which each session draws its own stream of numbers."""

from __future__ import annotations

from nbtf._runtime.seeds import LARGEST, SEED_OF_UNSEEDED, Stream, unforeseeable


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
