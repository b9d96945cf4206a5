"""Where the random ops of a graph get their seeds, and each session its own row of numbers."""

from __future__ import annotations

from nbtf._runtime.seeds import LARGEST, SEED_OF_UNSEEDED, Stream, unforeseeable


def seeds_of(graph_seed: int | None, op_seed: int | None, number: int) -> tuple[int | None, int | None]:
    """Returns the two seeds of an op; two None where there is no seed at all.

    Args:
      graph_seed: the graph's.
      op_seed: the op's own.
      number: which one it is among the ops that have no seed, which tells them apart.
    """
    if graph_seed is None and op_seed is None:
        return None, None
    first = SEED_OF_UNSEEDED if graph_seed is None else graph_seed
    second = number if op_seed is None else op_seed
    pair = int(first) % LARGEST, int(second) % LARGEST
    return pair if pair != (0, 0) else (0, LARGEST)  # two zeros would mean: no seed


class GraphStream:
    """The seeds of a random op of a graph. Each session draws a row of numbers of its own from them."""

    __slots__ = ("seed", "seed2")

    def __init__(self, seed: int | None, seed2: int | None) -> None:
        """Takes both seeds; None for numbers that nobody can foresee."""
        self.seed = seed
        self.seed2 = seed2

    def started(self) -> Stream:
        """Returns the row of numbers from its start, for one session."""
        if self.seed is None or self.seed2 is None:
            return Stream(*unforeseeable())
        return Stream(self.seed, self.seed2)
