"""Stateless random numbers, which depend only on their arguments: the same seed gives the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.joining import stack
from nbtf._ops.math.arithmetic import add, multiply, subtract
from nbtf._ops.op import Op, no_gradient, op
from nbtf._ops.random import philox
from nbtf._ops.random.arguments import as_bound, as_bound_int, as_vector, bounds_of, check_bounds, count_of, drawn_spec
from nbtf._ops.specs import as_asked, bracketed, may_be_equal
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import (
    DType,
    DTypeLike,
    TensorLike,
    as_dtype,
    bfloat16,
    float16,
    float32,
    float64,
    int32,
    int64,
    uint32,
    uint64,
)
from nbtf.errors import InvalidArgumentError, UnimplementedError

Lengths = Any
"""The shape of the result: a list of integers or an integer tensor."""

ALGORITHMS = {"philox": 1, "threefry": 2, "auto_select": 3}
"""TensorFlow's numbers of the algorithms (`rng_alg.h`)."""

SCRAMBLING_KEY = 0x02461E293EC8F720
"""The key that turns a seed into key and counter (`GenerateKey` in `stateless_random_ops.cc`)."""


def as_algorithm(alg: Any) -> int:
    """Returns an algorithm, given its name or number.

    Raises:
      ValueError: if the algorithm is unknown.
      UnimplementedError: if TensorFlow has the algorithm but nbtf does not.
    """
    number = ALGORITHMS.get(alg, 0) if isinstance(alg, str) else int(alg)
    if number not in ALGORITHMS.values():
        raise ValueError(
            f"Argument `alg` got unsupported value {alg}. Supported values are philox for the Philox algorithm, "
            "threefry for the ThreeFry algorithm, and auto_select for auto-selection."
        )
    if number == ALGORITHMS["threefry"]:
        raise UnimplementedError("nbtf does not implement ThreeFry. Use alg='philox', which runs on every device.")
    return number


@op("T -> uint64 uint64", T=frozenset({int32, int64}))
def StatelessRandomGetKeyCounter(xp: Any, seed: Any) -> Any:
    key, counter = key_and_counter(xp, seed)
    return key.reshape(1), counter


def key_and_counter(xp: Any, seed: Any) -> tuple[Any, Any]:
    """Returns the key and the first counter for a seed.

    Raises:
      ValueError: if `seed` is not two numbers.
    """
    if seed.shape != (2,):
        raise ValueError("a seed must be two numbers")
    words = philox.philox(xp, SCRAMBLING_KEY, seed.astype(xp.int64).view(xp.uint64), 1)[0].astype(xp.uint64)
    key, high = words[1::2] << 32 | words[::2]
    return key, xp.stack((xp.zeros_like(high), high))


def check_seed(seed: Spec) -> None:
    """Raises TensorFlow's error for a seed that is not two numbers."""
    if not may_be_equal(seed.shape, (2,)):
        raise InvalidArgumentError(f"seed must have shape [2], not {bracketed(seed.shape)}")


@StatelessRandomGetKeyCounter.infer
def _(seed: Spec) -> list[Spec]:
    check_seed(seed)
    return [Spec((1,), uint64), Spec((2,), uint64)]


def stateless_uniform(
    shape: Lengths,
    seed: TensorLike,
    minval: Any = 0,
    maxval: Any = None,
    dtype: DTypeLike = float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Returns uniformly distributed random numbers from `minval` up to, but excluding, `maxval`.

    Args:
      shape: the shape of the result.
      seed: two integers, shape `[2]`.
      minval: the lower bound, 0 by default; for integers, None for both bounds means all values of the dtype.
      maxval: the upper bound (excluded); 1 by default for floats.
      dtype: the dtype: float16, float32 (default), float64, int32 or int64; without bounds also uint32 or uint64.
      alg: the algorithm: "philox" or "auto_select" (default), which means the same.

    Returns:
      TensorFlow's numbers for this seed on every type of device.

    Raises:
      ValueError: if `dtype` is not supported, or the bounds do not fit it.
      InvalidArgumentError: if `seed` is not two integers, a length is negative, or `minval` is not below `maxval`.

    >>> tf.random.stateless_uniform([2], seed=[1, 2]).numpy()
    array([0.8440604 , 0.19204533], dtype=float32)
    """
    result_dtype = as_dtype(dtype)
    _check_uniform(result_dtype, minval, maxval)
    if result_dtype.is_integer:
        return _integers(shape, seed, minval, maxval, result_dtype, name, alg)
    low = as_tensor(minval, result_dtype)
    high = as_tensor(1 if maxval is None else maxval, result_dtype)
    key, counter = StatelessRandomGetKeyCounter(seed)
    drawn = StatelessRandomUniformV2(key, counter, shape=shape, alg=alg, dtype=result_dtype, name=name)
    return add(multiply(drawn, subtract(high, low)), low)


def _check_uniform(dtype: DType, minval: Any, maxval: Any) -> None:
    if dtype not in _UNIFORM:
        raise ValueError(
            f"Argument `dtype` got invalid value {dtype!s}. Accepted dtypes are (tf.float16, tf.bfloat16, tf.float32, "
            "tf.float64, tf.int32, tf.int64, tf.uint32, tf.uint64)."
        )
    if not dtype.is_integer:
        return
    if (minval is None) is not (maxval is None):
        raise ValueError(
            f"For integer `dtype` argument {dtype!s}, argument `minval` and `maxval` must be both None or not None. "
            f"Got `minval`={minval} and `maxval`={maxval}."
        )
    if minval is not None and dtype.is_unsigned:
        raise ValueError(
            f"Argument `dtype` got invalid value {dtype!s} when argument `minval` is not None. Please don't use "
            "unsigned integers in this case."
        )


_UNIFORM = frozenset({bfloat16, float16, float32, float64, int32, int64, uint32, uint64})


def _integers(
    shape: Lengths, seed: TensorLike, minval: Any, maxval: Any, dtype: DType, name: str | None, alg: Any
) -> Tensor:
    key, counter = StatelessRandomGetKeyCounter(seed)
    if minval is None:
        return StatelessRandomUniformFullIntV2(key, counter, shape=shape, alg=alg, dtype=dtype, name=name)
    low, high = as_bound(minval, dtype), as_bound(maxval, dtype)
    return StatelessRandomUniformIntV2(
        key, counter, shape=shape, alg=alg, minval=low, maxval=high, dtype=dtype, name=name
    )


def _spec_of_drawn(key: Spec, counter: Spec, shape: Any, alg: int, dtype: DType) -> Spec:
    return drawn_spec(shape, dtype)


def _drawing(type: str, draw: Callable[..., Any]) -> Op:
    """Returns an op whose results a function of `philox` draws."""

    def kernel(xp: Any, key: Any, counter: Any, shape: Any, alg: int, dtype: DType) -> Any:
        return draw(xp, key, counter, count_of(shape), dtype).reshape(shape)

    kernel.__name__ = type
    plain = {"alg": as_algorithm, "dtype": as_dtype}
    host, partly = {"shape": as_vector}, as_asked("shape")
    return op("uint64 uint64 -> dtype", host=host, plain=plain, infer=_spec_of_drawn, partly=partly)(kernel)


StatelessRandomUniformV2 = _drawing("StatelessRandomUniformV2", philox.uniform)
StatelessRandomUniformFullIntV2 = _drawing("StatelessRandomUniformFullIntV2", philox.integers)
StatelessRandomNormalV2 = _drawing("StatelessRandomNormalV2", philox.normal)
StatelessTruncatedNormalV2 = _drawing("StatelessTruncatedNormalV2", philox.truncated_normal)


@op(
    "uint64 uint64 -> dtype",
    host={"shape": as_vector, "minval": as_bound_int, "maxval": as_bound_int},
    plain={"alg": as_algorithm, "dtype": as_dtype},
    partly=as_asked("shape"),
)
def StatelessRandomUniformIntV2(
    xp: Any, key: Any, counter: Any, shape: Any, alg: int, minval: int, maxval: int, dtype: DType
) -> Any:
    count = count_of(shape)
    bounds = bounds_of(minval, maxval, count)
    return philox.integers_between(xp, key, counter, count, bounds, dtype).reshape(shape)


@StatelessRandomUniformIntV2.infer
def _(key: Spec, counter: Spec, shape: Any, alg: int, minval: int, maxval: int, dtype: DType) -> Spec:
    spec = drawn_spec(shape, dtype)
    check_bounds(shape, minval, maxval)
    return spec


def stateless_normal(
    shape: Lengths,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Returns random numbers from a normal distribution.

    Args:
      shape: the shape of the result.
      seed: two integers, shape `[2]`.
      mean: the mean, a number or a tensor that broadcasts with `shape`; 0.0 by default.
      stddev: the standard deviation, in the same form; 1.0 by default.
      dtype: the dtype: float16, float32 (default) or float64.
      alg: the algorithm: "philox" or "auto_select" (default), which means the same.

    Returns:
      TensorFlow's numbers for this seed on every type of device; the last digit may differ.

    Raises:
      InvalidArgumentError: if `seed` is not two integers, or a length is negative.

    >>> tf.random.stateless_normal([3], seed=[1, 2]).numpy()
    array([0.5441101 , 0.20738031, 0.07356432], dtype=float32)
    """
    result_dtype = as_dtype(dtype)
    centre, width = as_tensor(mean, result_dtype), as_tensor(stddev, result_dtype)
    key, counter = StatelessRandomGetKeyCounter(seed)
    drawn = StatelessRandomNormalV2(key, counter, shape=shape, alg=alg, dtype=result_dtype, name=name)
    return add(multiply(drawn, width), centre)


def stateless_truncated_normal(
    shape: Lengths,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Returns random numbers from a normal distribution, redrawing those beyond two standard deviations.

    Args:
      shape: the shape of the result.
      seed: two integers, shape `[2]`.
      mean: the mean, a number or a tensor that broadcasts with `shape`; 0.0 by default.
      stddev: the standard deviation before truncation, in the same form; 1.0 by default.
      dtype: the dtype: float16, float32 (default) or float64.
      alg: the algorithm: "philox" or "auto_select" (default), which means the same.

    Returns:
      The numbers that TensorFlow draws for this seed on a CPU; the last digit may differ.

    Raises:
      InvalidArgumentError: if `seed` is not two integers, or a length is negative.

    >>> tf.random.stateless_truncated_normal([3], seed=[1, 2]).shape
    TensorShape([3])
    """
    result_dtype = as_dtype(dtype)
    centre, width = as_tensor(mean, result_dtype), as_tensor(stddev, result_dtype)
    key, counter = StatelessRandomGetKeyCounter(seed)
    drawn = StatelessTruncatedNormalV2(key, counter, shape=shape, alg=alg, dtype=result_dtype, name=name)
    return add(multiply(drawn, width), centre)


def split(seed: TensorLike, num: int = 2, alg: Any = "auto_select") -> Tensor:
    """Returns several independent seeds derived from one seed.

    Args:
      seed: two integers, shape `[2]`.
      num: number of seeds; 2 by default.
      alg: the algorithm: "philox" or "auto_select" (default), which means the same.

    Returns:
      Seeds of `seed`'s dtype, shape `[num, 2]`.

    >>> tf.random.split([1, 2], num=3).shape
    TensorShape([3, 2])
    """
    start = as_tensor(seed)
    return stateless_uniform([num, 2], start, minval=None, maxval=None, dtype=start.dtype, alg=alg)


def fold_in(seed: TensorLike, data: TensorLike, alg: Any = "auto_select") -> Tensor:
    """Returns a seed derived from a seed and a number, such as a step or replica number.

    Args:
      seed: two integers, shape `[2]`.
      data: an integer scalar; if it is a tensor, the result has its dtype.
      alg: the algorithm: "philox" or "auto_select" (default), which means the same.

    Returns:
      A seed of shape `[2]`; different numbers give different seeds.

    >>> tf.random.fold_in([1, 2], 3).numpy()
    array([1105988140,          3], dtype=int32)
    """
    number = as_tensor(data)
    first = stateless_uniform([1], seed, minval=None, maxval=None, dtype=number.dtype, alg=alg)
    return stack([first[0], number])


no_gradient(
    StatelessRandomGetKeyCounter,
    StatelessRandomUniformV2,
    StatelessRandomUniformFullIntV2,
    StatelessRandomUniformIntV2,
    StatelessRandomNormalV2,
    StatelessTruncatedNormalV2,
)
