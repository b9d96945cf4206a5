"""Layers that prepare data: numbers scaled to a common range, categories encoded as vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.creation import convert_to_tensor
from nbtf._ops.arrays.ranges import one_hot
from nbtf._ops.math.arithmetic import cast
from nbtf._ops.math.exponentials import sqrt
from nbtf._ops.math.magnitude import maximum
from nbtf._ops.reductions.means_and_extremes import reduce_max
from nbtf._ops.reductions.sums import reduce_sum
from nbtf._runtime.arguments import check_number
from nbtf.keras.layers.base import Layer
from nbtf.keras.layers.same_shape import SameShape


class Rescaling(SameShape):
    """Multiplies inputs by a factor and adds an offset.

    Args:
      scale: the factor.
      offset: the offset; 0 by default.

    >>> tf.keras.layers.Rescaling(1 / 2, offset=-1.0)([0.0, 4.0]).numpy()
    array([-1.,  1.], dtype=float32)
    """

    _config = ("scale", "offset")

    def __init__(self, scale: Any, offset: Any = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.scale: Any = scale
        self.offset: Any = offset
        self.built = True

    def call(self, inputs: Any) -> Any:
        dtype = self.compute_dtype
        return cast(inputs, dtype) * cast(self.scale, dtype) + cast(self.offset, dtype)


class Normalization(Layer):
    """Normalizes features to mean 0 and variance 1, by given statistics or those computed with `adapt`.

    Args:
      axis: axis of the features, each of which has its own mean; None for a single mean.
      mean: the mean; by default computed with `adapt`.
      variance: the variance; by default computed with `adapt`.
      invert: whether to apply the inverse transformation; false by default.

    Raises:
      ValueError: if only one of `mean` and `variance` is given.

    >>> layer = tf.keras.layers.Normalization(axis=None, mean=3.0, variance=4.0)
    >>> layer([1.0, 5.0]).numpy()
    array([-1.,  1.], dtype=float32)
    """

    _config = ("axis", "invert")

    def __init__(
        self, axis: Any = -1, mean: Any = None, variance: Any = None, invert: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.axis: tuple[()] | tuple[int] | tuple[Any, ...] = (
            () if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
        )
        if (mean is None) != (variance is None):
            raise ValueError(
                "When setting values directly, both `mean` and `variance` must be set. "
                f"Received: mean={mean} and variance={variance}"
            )
        self.input_mean: NDArray[Any] | None = None if mean is None else np.asarray(mean, "float32")
        self.input_variance: NDArray[Any] | None = None if variance is None else np.asarray(variance, "float32")
        self.invert = invert
        self.supports_masking = True
        self.adapt_mean: Any = None
        self.adapt_variance: Any = None
        self.count: Any = None
        self.__dict__["_lengths"] = None

    _internal = Layer._internal | {"_lengths", "input_mean", "input_variance"}
    _lengths: Any

    def build(self, input_shape: Any) -> None:
        """Determines the number of features, and creates weights for mean and variance if they were not given."""
        if input_shape is None:
            return
        rank = len(input_shape)
        kept_axes = sorted(axis % rank for axis in self.axis)
        if any(input_shape[axis] is None for axis in kept_axes):
            raise ValueError(
                f"All `axis` values to be kept must have a known shape. Received axis={self.axis}, "
                f"inputs.shape={input_shape}, with unknown axis at index {kept_axes}"
            )
        shape = tuple(input_shape[axis] for axis in kept_axes)
        self.__dict__["_lengths"] = [input_shape[axis] if axis in kept_axes else 1 for axis in range(rank)]
        if self.input_mean is None:
            self.adapt_mean = self.add_weight(name="mean", shape=shape, initializer="zeros", trainable=False)
            self.adapt_variance = self.add_weight(name="variance", shape=shape, initializer="ones", trainable=False)
            self.count = self.add_weight(name="count", shape=(), dtype="int64", initializer="zeros", trainable=False)

    def adapt(self, data: Any, batch_size: int | None = None, steps: int | None = None) -> None:
        """Computes mean and variance of data.

        Args:
          data: an array, a tensor, or a dataset of batches.
          batch_size: ignored.
          steps: number of batches of a dataset to use; all by default.
        """
        if self.input_mean is not None:
            raise ValueError(
                "Cannot `adapt` a Normalization layer that is initialized with static `mean` and `variance`, you "
                "passed mean and variance when making it."
            )
        samples = batches_of(data, steps)
        if not self.built:
            self.build((None, *samples.shape[1:]))
        kept_axes = {axis % samples.ndim for axis in self.axis}
        reduced_axes = tuple(axis for axis in range(samples.ndim) if axis not in kept_axes)
        values = samples.astype("float64")
        self.adapt_mean.assign(values.mean(reduced_axes).astype("float32"))
        self.adapt_variance.assign(values.var(reduced_axes).astype("float32"))
        self.count.assign(np.int64(samples.shape[0]))

    @property
    def mean(self) -> Any:
        """The mean, with the axes of the input."""
        statistic = self.input_mean if self.input_mean is not None else self.adapt_mean.value
        return reshape(convert_to_tensor(statistic), self._broadcast(statistic))

    @property
    def variance(self) -> Any:
        """The variance, with the axes of the input."""
        statistic = self.input_variance if self.input_variance is not None else self.adapt_variance.value
        return reshape(convert_to_tensor(statistic), self._broadcast(statistic))

    def _broadcast(self, statistic: Any) -> Any:
        lengths: Any = self._lengths
        fits = math.prod(lengths) == math.prod(tuple(statistic.shape))
        return lengths if fits else [1] * (len(lengths) - 1) + [-1]

    def call(self, inputs: Any) -> Any:
        dtype = self.compute_dtype
        x, mean, variance = (cast(values, dtype) for values in (inputs, self.mean, self.variance))
        spread = maximum(sqrt(variance), cast(1e-7, dtype))
        return mean + x * spread if self.invert else (x - mean) / spread

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        initial_statistics = (self.input_mean, self.input_variance)
        mean, variance = (None if statistic is None else statistic.tolist() for statistic in initial_statistics)
        return {**super().get_config(), "mean": mean, "variance": variance}


def batches_of(data: Any, steps: int | None = None) -> Any:
    """Returns data as one array: an array unchanged, or the joined batches of a dataset."""
    if hasattr(data, "element_spec") or hasattr(data, "__next__"):
        batches = [np.asarray(batch) for number, batch in enumerate(data) if steps is None or number < steps]
        return np.concatenate(batches) if batches[0].ndim else np.stack(batches)
    return np.asarray(data)


class CategoryEncoding(Layer):
    """Encodes categories as vectors.

    Args:
      num_tokens: number of categories.
      output_mode: `"multi_hot"` for a 1 at each category of an example, `"one_hot"` for one vector per number,
        `"count"` for the frequency of each category.
      sparse: ignored.

    Raises:
      ValueError: if `num_tokens` is missing or not positive, or if the mode is unknown.

    >>> tf.keras.layers.CategoryEncoding(num_tokens=3)([[0, 2], [1, 1]]).numpy()
    array([[1., 0., 1.],
           [0., 1., 0.]], dtype=float32)
    """

    _leaf = True
    _config = ("num_tokens", "output_mode")

    def __init__(
        self, num_tokens: int | None = None, output_mode: str = "multi_hot", sparse: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if output_mode == "binary":
            output_mode = "multi_hot"
        if output_mode not in ("count", "one_hot", "multi_hot"):
            raise ValueError(f"Unknown arg for `output_mode`: `{output_mode}`. Known: count, one_hot, multi_hot.")
        if num_tokens is None:
            raise ValueError(
                "num_tokens must be set to use this layer. If the number of tokens is not known beforehand, use the "
                "IntegerLookup layer instead."
            )
        if check_number(num_tokens, "num_tokens") < 1:
            raise ValueError(f"`num_tokens` must be >= 1. Received: num_tokens={num_tokens}.")
        self.num_tokens: int = num_tokens
        self.output_mode = output_mode
        self.autocast = False
        self.built = True

    def call(self, inputs: Any, count_weights: Any = None) -> Any:
        return encoded(cast(inputs, "int64"), self.num_tokens, self.output_mode, self.compute_dtype, count_weights)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return encoded_shape(input_shape, self.num_tokens, self.output_mode)


def encoded(numbers: Any, count: int, mode: str, dtype: str, weights: Any = None) -> Any:
    """Returns integers encoded as vectors, as `CategoryEncoding` does."""
    if mode == "one_hot":
        if numbers.ndim > 1 and numbers.shape[-1] == 1:
            numbers = reshape(numbers, numbers.shape[:-1])
        return one_hot(numbers, count, dtype=dtype)
    vectors = one_hot(numbers if numbers.ndim else reshape(numbers, (1,)), count, dtype=dtype)
    if mode == "multi_hot":
        return reduce_max(vectors, axis=-2)
    if weights is not None:
        vectors = vectors * reshape(cast(weights, dtype), (*numbers.shape, 1))
    return reduce_sum(vectors, axis=-2)


def encoded_shape(shape: Any, count: int, mode: str) -> Any:
    """Returns the shape of the result of `encoded`."""
    if mode == "one_hot":
        return (*(shape[:-1] if len(shape) > 1 and shape[-1] == 1 else shape), count)
    return (*shape[:-1], count)
