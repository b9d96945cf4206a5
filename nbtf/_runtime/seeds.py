"""Seeds and streams of random numbers, with TensorFlow's rules.

With a global seed, each op without a seed of its own gets the next number of a generator that the global seed started;
`set_seed` restarts everything. An op with a seed continues its stream from call to call. Without any seed, numbers are
unpredictable.
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
"""The global seed for ops with a seed of their own while no global seed is set (`DEFAULT_GRAPH_SEED`)."""

WORD = 2**64 - 1


_TAKING = new_lock()
"""One lock for all streams: most are read only once, and a stream must stay plain, picklable data."""


class Stream:
    """A stream of random numbers: a key, and the counter of the next one. Safe to share between threads.

    A pickled stream continues at the position of the original.
    """

    __slots__ = ("_counter", "key")

    def __init__(self, key: int, high: int, low: int = 0) -> None:
        """Starts at the counter that these two words form."""
        self.key = key
        self._counter = high << 64 | low

    def take(self, count: int) -> tuple[int, int]:
        """Returns the next counter as two words, low word first, and reserves `count` counters."""
        with _TAKING:
            counter = self._counter
            self._counter += count
        return counter & WORD, counter >> 64 & WORD


class Seeds:
    """The random state of one context."""

    def __init__(self) -> None:
        """Starts without a global seed."""
        self.generator: Any = None  # `tf.random.get_global_generator()`, created on first use
        self.lock = new_lock()
        self.set_seed(None)

    def set_seed(self, seed: Any) -> None:
        """Sets the global seed and restarts all streams."""
        with self.lock:
            self._seed = seed
            self._op_seeds = Random(seed if isinstance(seed, str | int | float | None) else int(seed))
            self._streams: dict[Hashable, Stream] = {}
            self._unseeded = Stream(*unforeseeable())

    def pair(self, op_seed: int | None) -> tuple[int, int] | None:
        """Returns the two seeds for an op's numbers, or None if no seed is set.

        Raises:
          TypeError: if a seed is not a number.
        """
        if self._seed is None and op_seed is None:
            return None
        first = SEED_OF_UNSEEDED if self._seed is None else self._seed
        second = self._op_seeds.randint(0, LARGEST) if op_seed is None else op_seed
        try:
            pair = int(int(first) % LARGEST), int(int(second) % LARGEST)
        except OverflowError:
            raise ValueError(f"Invalid seed {op_seed!r}. Expected a number.") from None
        return pair if pair != (0, 0) else (0, LARGEST)  # two zeros would mean that no seed is set

    def stream(self, stream_key: Hashable, op_seed: int | None) -> Stream:
        """Returns the stream for a kind of op; an op with its own seed continues its earlier stream."""
        with self.lock:
            pair = self.pair(op_seed)
            if pair is None:
                return self._unseeded
            if op_seed is None:  # a fresh seed: this stream will not be read again
                return Stream(*pair)
            return self._streams.setdefault((stream_key, pair), Stream(*pair))


def unforeseeable() -> tuple[int, int]:
    """Returns two unpredictable numbers to start a stream from."""
    return int.from_bytes(os.urandom(8)), int.from_bytes(os.urandom(8))
