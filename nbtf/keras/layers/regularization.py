"""Layers that only act in training, or only change the loss."""

from __future__ import annotations

from math import sqrt
from typing import Any

from nbtf._runtime.arguments import check_number
from nbtf.keras import random
from nbtf.keras.layers.base import Layer
from nbtf.keras.layers.input_spec import InputSpec, channels_first, data_format_of
from nbtf.keras.layers.same_shape import SameShape
from nbtf.keras.regularizers import L1L2


def _rate(rate: Any) -> Any:
    if not 0 <= check_number(rate, "rate") <= 1:
        raise ValueError(
            f"Invalid value received for argument `rate`. Expected a float value between 0 and 1. Received: rate={rate}"
        )
    return rate


class _Random(SameShape):
    """Base class of the layers that draw random numbers in training."""

    def _begin(self, seed: int | None) -> None:
        self.seed = seed
        self.seed_generator: random.SeedGenerator = random.SeedGenerator(seed)
        self.built = True


class Dropout(_Random):
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
        self.rate: Any = _rate(rate)
        self.noise_shape: tuple[Any, ...] | None = None if noise_shape is None else tuple(noise_shape)
        self._begin(seed)

    def call(self, inputs: Any, training: Any = False) -> Any:
        """Returns the input; in training, with random elements set to 0."""
        if not training or self.rate == 0:
            return inputs
        if self.rate == 1:
            return inputs * 0.0
        return random.dropout(inputs, self.rate, self._noise(inputs), self.seed_generator)

    def _noise(self, inputs: Any) -> Any:
        return self.noise_shape


class SpatialDropout1D(Dropout):
    """Sets random whole channels of sequences to 0 in training.

    Args:
      rate: fraction of channels to set to 0.
      seed: random seed; drawn by default.
    """

    _config = ("rate", "seed")

    def __init__(self, rate: float, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(rate, seed=seed, **kwargs)
        self.input_spec: Any = InputSpec(ndim=3)

    def _noise(self, inputs: Any) -> Any:
        return (None, 1, None)


class SpatialDropout2D(Dropout):
    """Sets random whole channels of images to 0 in training.

    Args:
      rate: fraction of channels to set to 0.
      data_format: `"channels_last"` or `"channels_first"`.
      seed: random seed; drawn by default.
    """

    _config = ("rate", "seed", "data_format")

    def __init__(self, rate: float, data_format: str | None = None, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(rate, seed=seed, **kwargs)
        self.data_format: str = data_format_of(data_format)
        self.input_spec: Any = InputSpec(ndim=4)

    def _noise(self, inputs: Any) -> Any:
        return (None, None, 1, 1) if channels_first(self.data_format) else (None, 1, 1, None)


class GaussianNoise(_Random):
    """Adds normally distributed noise in training.

    Args:
      stddev: standard deviation of the noise.
      seed: random seed; drawn by default.

    Raises:
      ValueError: if `stddev` is negative.
    """

    _config = ("stddev", "seed")

    def __init__(self, stddev: float, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if check_number(stddev, "stddev") < 0:
            raise ValueError(
                "Invalid value received for argument `stddev`. Expected a float value between 0 and 1. Received: "
                f"stddev={stddev}"
            )
        self.stddev = stddev
        self._begin(seed)

    def call(self, inputs: Any, training: Any = False) -> Any:
        """Returns the input; in training, with noise."""
        if not training or self.stddev == 0:
            return inputs
        return inputs + random.normal(inputs.shape, 0.0, self.stddev, self.compute_dtype, self.seed_generator)


class GaussianDropout(_Random):
    """Multiplies by normally distributed numbers with mean 1 in training.

    Args:
      rate: sets the standard deviation `sqrt(rate / (1 - rate))`.
      seed: random seed; drawn by default.
    """

    _config = ("rate", "seed")

    def __init__(self, rate: float, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate: Any = _rate(rate)
        self._begin(seed)

    def call(self, inputs: Any, training: Any = False) -> Any:
        """Returns the input; in training, multiplied by random numbers."""
        if not training or self.rate == 0:
            return inputs
        spread = sqrt(self.rate / (1.0 - self.rate))
        return inputs * random.normal(inputs.shape, 1.0, spread, self.compute_dtype, self.seed_generator)


class ActivityRegularization(Layer):
    """Returns its input, and adds a penalty for large elements to the loss.

    Args:
      l1: factor of the absolute values; 0 by default.
      l2: factor of the squares; 0 by default.
    """

    _config = ("l1", "l2")
    supports_masking = True

    def __init__(self, l1: float = 0.0, l2: float = 0.0, **kwargs: Any) -> None:
        super().__init__(activity_regularizer=L1L2(l1, l2), **kwargs)
        self.l1: float = l1
        self.l2: float = l2
        self.built = True

    def call(self, inputs: Any) -> Any:
        return inputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        del config["activity_regularizer"]
        return config
