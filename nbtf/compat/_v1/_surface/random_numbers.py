"""Random ops of TensorFlow 1: the graph determines their seeds, and each session draws from the beginning."""

from __future__ import annotations

from typing import Any

import nbtf
from nbtf._graph.host_inputs import holds_tensors
from nbtf._graph.seeds import GraphStream
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.math.arithmetic import add, multiply, subtract
from nbtf._ops.random.categorical import Multinomial
from nbtf._ops.random.streams import (
    RandomShuffle,
    RandomStandardNormal,
    RandomUniform,
    RandomUniformInt,
    TruncatedNormal,
)
from nbtf._runtime.conversion import as_tensor
from nbtf._types import DTypeLike, as_dtype, float32, int32, int64
from nbtf.compat._v1._graph.defaults import building, get_default_graph
from nbtf.compat._v1._surface.making import shape as shape_of
from nbtf.compat._v1._surface.scoping import opened, tensor_called


def set_random_seed(seed: int | None) -> None:
    """Sets the seed of the default graph, so that every session draws the same numbers.

    Args:
      seed: an integer; None removes the seed. Existing ops keep their seeds.

    >>> import nbtf.compat.v1 as tf1
    >>> tf1.set_random_seed(1)
    >>> x = tf1.random_uniform([2])
    >>> first, second = tf1.Session().run(x), tf1.Session().run(x)
    >>> bool((first == second).all())
    True
    """
    if building() is None:
        nbtf.random.set_seed(seed)
    else:
        get_default_graph().seed = seed


def _stream(seed: int | None) -> GraphStream:
    return GraphStream(*get_default_graph().seeds_for(seed))


def _shape(shape: Any) -> Any:
    """Returns a shape as a graph tensor named `shape`."""
    if isinstance(shape, GraphTensor):
        return shape
    if holds_tensors(shape):
        return nbtf.stack(shape, name="shape")
    if shape.__class__ in (list, tuple, nbtf.TensorShape):
        return tensor_called("shape", [length.__index__() for length in shape], int32)
    return tensor_called("shape", shape, int32)


def random_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Returns normally distributed random numbers.

    Args:
      shape: shape of the result; may be a tensor.
      mean: mean of the distribution.
      stddev: standard deviation of the distribution.
      dtype: dtype of the result; must be a float type.
      seed: seed of this op; None uses only the graph's seed.
    """
    with opened("random_normal", name) as scope:
        if scope is None:
            return nbtf.random.normal(shape, mean, stddev, dtype, seed)
        return _draw_scaled(RandomStandardNormal, shape, mean, stddev, dtype, seed, scope)


def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Returns normally distributed random numbers, at most two standard deviations from the mean.

    Args:
      shape: shape of the result; may be a tensor.
      mean: mean of the distribution.
      stddev: standard deviation of the distribution.
      dtype: dtype of the result; must be a float type.
      seed: seed of this op; None uses only the graph's seed.
    """
    with opened("truncated_normal", name) as scope:
        if scope is None:
            return nbtf.random.truncated_normal(shape, mean, stddev, dtype, seed)
        return _draw_scaled(TruncatedNormal, shape, mean, stddev, dtype, seed, scope)


def _draw_scaled(op: Any, shape: Any, mean: Any, stddev: Any, dtype: DTypeLike, seed: int | None, scope: str) -> Any:
    value_dtype = as_dtype(dtype)
    lengths = _shape(shape)
    centre, width = tensor_called("mean", mean, value_dtype), tensor_called("stddev", stddev, value_dtype)
    drawn = op(shape=lengths, stream=_stream(seed), dtype=value_dtype)
    return add(multiply(drawn, width, "mul"), centre, scope)


def random_uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Returns uniformly distributed random numbers from `minval` (included) to `maxval` (excluded).

    Args:
      shape: shape of the result; may be a tensor.
      minval: lower bound.
      maxval: upper bound, exclusive; 1 by default, but required for integers.
      dtype: float16, float32, float64, int32 or int64.
      seed: seed of this op; None uses only the graph's seed.

    Raises:
      ValueError: if `dtype` is an integer type and `maxval` is missing.
    """
    value_dtype = as_dtype(dtype)
    if maxval is None and value_dtype.is_integer:
        raise ValueError(f"Must specify maxval for integer dtype {value_dtype!r}")
    with opened("random_uniform", name) as scope:
        if scope is None:
            return nbtf.random.uniform(shape, minval, maxval, value_dtype, seed)
        lengths = _shape(shape)
        if value_dtype.is_integer:
            return RandomUniformInt(
                shape=lengths, minval=minval, maxval=maxval, stream=_stream(seed), dtype=value_dtype, name=scope
            )
        return _between(lengths, minval, 1 if maxval is None else maxval, value_dtype, seed, scope)


def _between(shape: Any, minval: Any, maxval: Any, dtype: Any, seed: int | None, scope: str) -> Any:
    from_zero, to_one = minval.__class__ is int and not minval, maxval.__class__ is int and maxval == 1
    low: Any = None if from_zero else tensor_called("min", minval, dtype)
    high: Any = None if to_one and from_zero else tensor_called("max", maxval, dtype)
    drawn = RandomUniform(shape=shape, stream=_stream(seed), dtype=dtype)
    if low is not None:
        return add(multiply(drawn, subtract(high, low, "sub"), "mul"), low, scope)
    return drawn if high is None else multiply(drawn, high, scope)


def random_shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Any:
    """Shuffles a tensor along its first axis.

    Args:
      value: any tensor.
      seed: seed of this op; None uses only the graph's seed.
    """
    graph = building()
    if graph is None:
        return nbtf.random.shuffle(value, seed)
    with graph.inside():
        return RandomShuffle(value, stream=_stream(seed), name=name)


def multinomial(
    logits: Any, num_samples: Any, seed: int | None = None, name: str | None = None, output_dtype: Any = None
) -> Any:
    """Draws classes according to log-probabilities.

    Args:
      logits: log-probabilities of the classes, one row for each distribution.
      num_samples: number of samples for each row.
      seed: seed of this op; None uses only the graph's seed.
      output_dtype: int64 or int32.
    """
    return _classes("multinomial", logits, num_samples, output_dtype, seed, name)


def categorical(
    logits: Any, num_samples: Any, dtype: Any = None, seed: int | None = None, name: str | None = None
) -> Any:
    """Draws classes according to log-probabilities; see `nbtf.random.categorical`."""
    return _classes("categorical", logits, num_samples, dtype, seed, name)


def _classes(scope_name: str, logits: Any, count: Any, dtype: Any, seed: int | None, name: str | None) -> Any:
    with opened(scope_name, name) as scope:
        if scope is None:
            return nbtf.random.categorical(logits, count, dtype, seed)
        class_dtype = int64 if dtype is None else as_dtype(dtype)
        values = as_tensor(logits)
        return Multinomial(values, num_samples=count, stream=_stream(seed), output_dtype=class_dtype)


def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Any:
    """Returns a random crop of a tensor.

    Args:
      value: any tensor.
      size: shape of the crop; -1 is not allowed.
      seed: seed of this op; None uses only the graph's seed.
    """
    with opened("random_crop", name) as scope:
        tensor: Any = as_tensor(value)
        lengths: Any = tensor_called("size", size, int32)
        limit = shape_of(tensor) - lengths + 1
        drawn = random_uniform(shape_of(limit), maxval=int32.max, dtype=int32, seed=seed)
        return nbtf.slice(tensor, nbtf.math.floormod(drawn, limit), lengths, scope)


normal = random_normal
uniform = random_uniform
shuffle = random_shuffle
