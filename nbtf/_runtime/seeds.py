"""Which random numbers come next: the global seed, and how far each stream of numbers has been read.

TensorFlow's rules. With a global seed, each op that has no seed of its own gets the next number of a generator that
the global seed started; `set_seed` starts all over. An op with a seed continues its stream from call to call. Without
any seed, numbers cannot be foretold.
"""

from __future__ import annotations

import os
from collections.abc import Hashable
from random import Random
from typing import Any

from nbtf._locks import new_lock

LARGEST = 2**31 - 1
"""Seeds are taken modulo this number, as in TensorFlow's `random_seed.py`."""

SEED_OF_UNSEEDED = 87654321
"""The global seed of ops that have one of their own while the global one is not set (`DEFAULT_GRAPH_SEED`)."""

WORD = 2**64 - 1


_TAKING = new_lock()
"""One for all streams: most are read once, and a stream is plain data, which can be pickled."""


class Stream:
    """Random numbers in one row: a key, and the counter of the next one. Safe to share between threads.

    A pickled one goes on from where this one was.
    """

    __slots__ = ("_counter", "key")

    def __init__(self, key: int, high: int, low: int = 0) -> None:
        """Starts at the counter with these two words."""
        self.key = key
        self._counter = high << 64 | low

    def take(self, count: int) -> tuple[int, int]:
        """Returns the next counter as two words, low one first, and sets `count` counters aside."""
        with _TAKING:
            counter = self._counter
            self._counter += count
        return counter & WORD, counter >> 64 & WORD


class Seeds:
    """The random state of one context."""

    def __init__(self) -> None:
        """Starts without a global seed."""
        self.generator: Any = None  # `tf.random.get_global_generator()`, once somebody has asked for it
        self.lock = new_lock()
        self.set_seed(None)

    def set_seed(self, seed: Any) -> None:
        """Sets the global seed and starts all streams again."""
        with self.lock:
            self._seed = seed
            self._op_seeds = Random(seed if isinstance(seed, str | int | float | None) else int(seed))
            self._streams: dict[Hashable, Stream] = {}
            self._unseeded = Stream(*unforeseeable())

    def pair(self, op_seed: int | None) -> tuple[int, int] | None:
        """Returns the two seeds that an op's numbers start from, or None where no seed is set at all.

        Raises:
          TypeError: a seed is not a number.
        """
        if self._seed is None and op_seed is None:
            return None
        first = SEED_OF_UNSEEDED if self._seed is None else self._seed
        second = self._op_seeds.randint(0, LARGEST) if op_seed is None else op_seed
        try:
            pair = int(int(first) % LARGEST), int(int(second) % LARGEST)
        except OverflowError:
            raise ValueError(f"A seed is a number, got {op_seed!r}") from None
        return pair if pair != (0, 0) else (0, LARGEST)  # two zeros would mean: no seed

    def stream(self, stream_key: Hashable, op_seed: int | None) -> Stream:
        """Returns the stream of a kind of op; with a seed of its own, the one it has read from before."""
        with self.lock:
            pair = self.pair(op_seed)
            if pair is None:
                return self._unseeded
            if op_seed is None:  # a fresh seed: nobody will read from this stream again
                return Stream(*pair)
            return self._streams.setdefault((stream_key, pair), Stream(*pair))


def unforeseeable() -> tuple[int, int]:
    """Returns two numbers to start from that nobody can foretell."""
    return int.from_bytes(os.urandom(8)), int.from_bytes(os.urandom(8))
