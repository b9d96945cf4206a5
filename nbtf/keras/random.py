"""`tf.keras.random`: the random numbers of layers."""

from __future__ import annotations

import random as _random
from collections.abc import Sequence
from typing import Any

from nbtf._graph.trial import is_silent
from nbtf._locks import new_lock
from nbtf._ops.arrays.creation import constant, convert_to_tensor
from nbtf._ops.math.arithmetic import cast
from nbtf._ops.math.comparison import greater_equal, where
from nbtf._ops.random import stateless as _stateless
from nbtf._runtime.arguments import check_whole
from nbtf._runtime.context import open_graph
from nbtf._runtime.conversion import as_tensor
from nbtf._types import int32
from nbtf.keras import border as _border
from nbtf.keras.dtypes import standardized

_DRAWING = new_lock()
"""Shared by all generators, because a lock of their own would prevent copying and pickling."""


class SeedGenerator:
    """Returns a different seed at each call. The same first seed always leads to the same sequence.

    Args:
      seed: the first seed; by default drawn from Python's generator, which `tf.keras.utils.set_random_seed` seeds.

    >>> one, other = tf.keras.random.SeedGenerator(1), tf.keras.random.SeedGenerator(1)
    >>> one.next() == other.next(), one.next() == [1, 0]
    (True, False)
    """

    def __init__(self, seed: int | None = None, name: str | None = None, **ignored: Any) -> None:
        """Stores the first seed.

        Raises:
          ValueError: if `seed` is not an integer.
        """
        if seed is None:
            seed = _random.randint(1, int(1e9))
        if not isinstance(seed, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"Argument `seed` must be an integer. Received: seed={seed}")
        self.seed = seed
        self._count = 0

    @property
    def state(self) -> list[int]:
        """The next seed."""
        return [self.seed & 0x7FFFFFFF, self._count]

    def next(self, ordered: bool = True) -> Any:
        """Returns a new seed; in a traced function, a tensor that differs in each call."""
        graph = open_graph()
        if hasattr(graph, "call"):
            return graph.call("SeedGenerator", self._next_tensor, [], [((2,), int32)])[0]
        with _DRAWING:
            state = self.state
            self._count += not is_silent()
        return state

    def _next_tensor(self, values: Sequence[Any]) -> Sequence[Any]:
        return [as_tensor(self.next())]

    def get_config(self) -> dict[str, Any]:
        return {"seed": self.seed}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> SeedGenerator:
        return cls(**config)


_GLOBAL: list[SeedGenerator] = []


def _pair(seed: Any) -> Any:
    if seed is None:
        with _DRAWING:
            if not _GLOBAL:
                _GLOBAL.append(SeedGenerator())
            return _GLOBAL[0].next()
    return seed.next() if isinstance(seed, SeedGenerator) else [check_whole(seed, "seed") & 0x7FFFFFFF, 0]


def forget_global_seed() -> None:
    """Restarts the generator that is used when no seed is given."""
    _GLOBAL.clear()


def normal(shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    """Returns normally distributed values.

    Args:
      shape: shape of the result.
      mean: mean of the distribution; 0 by default.
      stddev: standard deviation of the distribution; 1 by default.
      dtype: dtype of the result; `floatx()` by default.
      seed: a number or a `SeedGenerator`.
    """
    return _stateless.stateless_normal(shape, _pair(seed), mean, stddev, standardized(dtype))


def dropout(inputs: Any, rate: float, noise_shape: Any = None, seed: Any = None) -> Any:
    """Sets random elements to 0 and scales the others so that the expected sum stays the same.

    Args:
      inputs: a tensor of floats.
      rate: fraction of elements to set to 0.
      noise_shape: shape of the random mask, which is broadcast; use None for the length in `inputs`.
      seed: a number or a `SeedGenerator`.
    """
    inputs = inputs if hasattr(inputs, "shape") else convert_to_tensor(inputs)
    lengths = list(inputs.shape)
    if noise_shape is not None:
        lengths = [have if length is None else length for have, length in zip(lengths, noise_shape, strict=True)]
    dtype = inputs.dtype
    drawn = _stateless.stateless_uniform(lengths, _pair(seed), dtype=dtype)
    survives = greater_equal(drawn, constant(rate, dtype))
    return where(survives, inputs * (1.0 / (1.0 - rate)), cast(constant(0.0), dtype))


_border.guard(__name__)
