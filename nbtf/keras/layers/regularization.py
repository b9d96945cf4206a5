"""The layer that only acts in training."""

from __future__ import annotations

from typing import Any

from nbtf._runtime.arguments import check_number
from nbtf.keras import random
from nbtf.keras.layers.same_shape import SameShape


class Dropout(SameShape):
    """Sets random elements to 0 in training and scales the others so that the expected sum stays the same.

    Args:
      rate: fraction of elements to set to 0.
      noise_shape: shape of the random mask, which is broadcast; use None for the length in the input.
      seed: random seed; drawn by default.

    Raises:
      ValueError: if `rate` is not between 0 and 1.

    >>> layer = tf.keras.layers.Dropout(0.5)
    >>> layer([1.0, 2.0]).numpy()
    array([1., 2.], dtype=float32)
    """

    _config = ("rate", "seed", "noise_shape")

    def __init__(self, rate: float, noise_shape: Any = None, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not 0 <= check_number(rate, "rate") <= 1:
            raise ValueError(
                "Invalid value received for argument `rate`. Expected a float value between 0 and 1. "
                f"Received: rate={rate}"
            )
        self.rate: Any = rate
        self.noise_shape: tuple[Any, ...] | None = None if noise_shape is None else tuple(noise_shape)
        self.seed = seed
        self.seed_generator: random.SeedGenerator = random.SeedGenerator(seed)
        self.built = True

    def call(self, inputs: Any, training: Any = False) -> Any:
        """Returns the input; in training, with random elements set to 0."""
        if not training or self.rate == 0:
            return inputs
        if self.rate == 1:
            return inputs * 0.0
        return random.dropout(inputs, self.rate, self.noise_shape, self.seed_generator)
