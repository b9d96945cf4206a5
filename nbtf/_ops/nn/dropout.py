"""Dropout: sets random elements to 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf._ops.math.arithmetic import multiply, subtract
from nbtf._ops.math.comparison import greater_equal, where
from nbtf._ops.math.division import divide
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import TensorLike


def dropout(
    x: TensorLike, rate: Any, noise_shape: Any = None, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Returns a tensor with random elements set to 0 and the others scaled so that the sum stays the same on average.

    Args:
      x: floats.
      rate: the fraction of elements that become 0, in `[0, 1)`: a number or a scalar tensor.
      noise_shape: the shape of the random decisions, broadcast to `x`'s shape; None for a length means `x`'s.
      seed: an integer that selects a stream of its own; see `tf.random.set_seed`.

    Returns:
      A tensor of `x`'s shape; `x` itself if `rate` is the number 0.

    Raises:
      ValueError: if `rate` is not in `[0, 1)`, or `x` does not hold floats.
      InvalidArgumentError: if `noise_shape` does not fit `x`.

    >>> tf.random.set_seed(1)
    >>> tf.nn.dropout([1.0, 1.0, 1.0, 1.0], rate=0.5, seed=3).numpy().max()
    np.float32(2.0)
    """
    from nbtf._ops.random.streams import uniform  # loaded on first use, like `tf.random`

    return _dropped(x, rate, noise_shape, lambda shape, dtype: uniform(shape, dtype=dtype, seed=seed), name)


def stateless_dropout(
    x: TensorLike, rate: Any, seed: TensorLike, rng_alg: Any = None, noise_shape: Any = None, name: str | None = None
) -> Tensor:
    """Returns a tensor with random elements set to 0 as `dropout` does; the same seed gives the same result.

    Args:
      x: floats.
      rate: the fraction of elements that become 0, in `[0, 1)`: a number or a scalar tensor.
      seed: two integers, shape `[2]`.
      rng_alg: the algorithm: "philox" or "auto_select" (default), which means the same.
      noise_shape: the shape of the random decisions, broadcast to `x`'s shape; None for a length means `x`'s.
      name: accepted and ignored.

    Returns:
      A tensor of `x`'s shape; `x` itself if `rate` is the number 0.

    Raises:
      ValueError: if `rate` is not in `[0, 1)`, or `x` does not hold floats.
      InvalidArgumentError: if `noise_shape` does not fit `x`, or `seed` is not two integers.

    >>> tf.nn.experimental.stateless_dropout([1.0, 1.0, 1.0, 1.0], rate=0.5, seed=[1, 0]).numpy()
    array([2., 0., 2., 0.], dtype=float32)
    """
    from nbtf._ops.random.stateless import stateless_uniform  # loaded on first use, like `tf.random`

    alg = "auto_select" if rng_alg is None else rng_alg
    return _dropped(
        x, rate, noise_shape, lambda shape, dtype: stateless_uniform(shape, seed, dtype=dtype, alg=alg), name
    )


def general_dropout(
    x: TensorLike, rate: Any, uniform_sampler: Callable[..., Any], noise_shape: Any = None, name: str | None = None
) -> Tensor:
    """Returns a tensor with random elements set to 0 as `dropout` does, with random numbers from a function.

    Args:
      x: floats.
      rate: the fraction of elements that become 0, in `[0, 1)`: a number or a scalar tensor.
      uniform_sampler: takes `shape` and `dtype` and returns random numbers in `[0, 1)`.
      noise_shape: the shape of the random decisions, broadcast to `x`'s shape; None for a length means `x`'s.
      name: accepted and ignored.

    Returns:
      A tensor of `x`'s shape; `x` itself if `rate` is the number 0.

    Raises:
      ValueError: if `rate` is not in `[0, 1)`, or `x` does not hold floats.
      InvalidArgumentError: if `noise_shape` does not fit `x`.

    >>> tf.nn.experimental.general_dropout([1.0, 1.0], 0.5, lambda shape, dtype: tf.constant([0.2, 0.7])).numpy()
    array([0., 2.], dtype=float32)
    """
    return _dropped(x, rate, noise_shape, lambda shape, dtype: uniform_sampler(shape=shape, dtype=dtype), name)


def _dropped(x: Any, rate: Any, noise_shape: Any, draw: Callable[[Any, Any], Any], name: str | None) -> Tensor:
    """Returns a tensor without the elements for which the drawn number is below the rate."""
    _check_rate(rate)
    tensor = as_tensor(x)
    if not tensor.dtype.is_floating:
        raise ValueError(
            f"`x.dtype` must be a floating point tensor as `x` will be scaled. Received: x_dtype={tensor.dtype!s}"
        )
    if isinstance(rate, int | float) and rate == 0:
        return tensor
    if isinstance(rate, int | float):
        scaled = multiply(tensor, 1 / (1 - rate))
    else:
        rate = as_tensor(rate, tensor.dtype)
        scaled = divide(tensor, subtract(as_tensor(1, tensor.dtype), rate))
    shape = tensor.shape if noise_shape is None else _filled(noise_shape, tensor)
    mask = greater_equal(draw(shape, tensor.dtype), rate)
    return where(mask, scaled, as_tensor(0, tensor.dtype), name=name)


def _check_rate(rate: Any) -> None:
    if isinstance(rate, int | float):
        if not 0 <= rate < 1:
            raise ValueError(f"`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate={rate}")
    elif getattr(rate, "shape", None) != ():
        raise ValueError(f"`rate` must be a scalar or scalar tensor. Received: rate={rate}")


def _filled(noise_shape: Any, tensor: Tensor) -> Any:
    if isinstance(noise_shape, Tensor):
        return noise_shape
    lengths = list(noise_shape)
    if len(lengths) != len(tensor.shape):
        return lengths
    return [tensor.shape[i] if n is None else n for i, n in enumerate(lengths)]
