"""How random numbers are drawn that depend on their arguments alone: same seed, same numbers."""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.joining import stack
from nbtf._ops.math.arithmetic import add, multiply, subtract
from nbtf._ops.op import no_gradient, op
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
"""The shape of what is drawn: a list of integers or an integer tensor."""

ALGORITHMS = {"philox": 1, "threefry": 2, "auto_select": 3}
"""TensorFlow's numbers of them (`rng_alg.h`)."""

SCRAMBLING_KEY = 0x02461E293EC8F720
"""The key that turns a seed into key and counter (`GenerateKey` in `stateless_random_ops.cc`)."""


def as_algorithm(alg: Any) -> int:
    """Reads the name or the number of an algorithm.

    Raises:
      ValueError: if there is no such algorithm.
      UnimplementedError: if it is TensorFlow's, but not nbtf's.
    """
    number = ALGORITHMS.get(alg, 0) if isinstance(alg, str) else int(alg)
    if number not in ALGORITHMS.values():
        raise ValueError(
            f"Argument `alg` got unsupported value {alg}. Supported values are philox for the Philox algorithm, "
            "threefry for the ThreeFry algorithm, and auto_select for auto-selection."
        )
    if number == ALGORITHMS["threefry"]:
        raise UnimplementedError("nbtf has no ThreeFry algorithm; alg='philox' runs on every device.")
    return number


@op("T -> uint64 uint64", T=frozenset({int32, int64}))
def StatelessRandomGetKeyCounter(xp: Any, seed: Any) -> Any:
    key, counter = key_and_counter(xp, seed)
    return key.reshape(1), counter


def key_and_counter(xp: Any, seed: Any) -> tuple[Any, Any]:
    """Returns the key and the first counter of the numbers of a seed.

    Raises:
      ValueError: if the seed is not two numbers.
    """
    if seed.shape != (2,):
        raise ValueError("two seeds")
    words = philox.philox(xp, SCRAMBLING_KEY, seed.astype(xp.int64).view(xp.uint64), 1)[0].astype(xp.uint64)
    key, high = words[1::2] << 32 | words[::2]
    return key, xp.stack((xp.zeros_like(high), high))


@StatelessRandomGetKeyCounter.infer
def _(seed: Spec) -> list[Spec]:
    if not may_be_equal(seed.shape, (2,)):
        raise InvalidArgumentError(f"seed must have shape [2], not {bracketed(seed.shape)}")
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
    """Draws numbers, all equally likely, from `minval` up to below `maxval`.

    Args:
      shape: of the result.
      seed: two integers, shape `[2]`.
      minval: the lower bound; with integers, None for both bounds means all values of the dtype.
      maxval: the upper bound, not reached; 1 for floats if not given.
      dtype: float16, float32, float64, int32 or int64; uint32 and uint64 without bounds.
      alg: "philox" or "auto_select", which is the same.

    Returns:
      TensorFlow's numbers for this seed, on every kind of device.

    Raises:
      ValueError: if another dtype, or bounds that do not suit it.
      InvalidArgumentError: if a seed that is not two integers, a negative length, or `minval` not below `maxval`.

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


_drawn = op(
    "uint64 uint64 -> dtype",
    host={"shape": as_vector},
    plain={"alg": as_algorithm, "dtype": as_dtype},
    infer=_spec_of_drawn,
    partly=as_asked("shape"),
)


@_drawn
def StatelessRandomUniformV2(xp: Any, key: Any, counter: Any, shape: Any, alg: int, dtype: DType) -> Any:
    return philox.uniform(xp, key, counter, count_of(shape), dtype).reshape(shape)


@_drawn
def StatelessRandomUniformFullIntV2(xp: Any, key: Any, counter: Any, shape: Any, alg: int, dtype: DType) -> Any:
    return philox.integers(xp, key, counter, count_of(shape), dtype).reshape(shape)


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
    """Draws numbers from a normal distribution.

    Args:
      shape: of the result.
      seed: two integers, shape `[2]`.
      mean: the centre; a tensor that broadcasts with `shape` will do.
      stddev: the standard deviation, likewise.
      dtype: float16, float32 or float64.
      alg: "philox" or "auto_select", which is the same.

    Returns:
      TensorFlow's numbers for this seed, on every kind of device; the last digit may differ.

    Raises:
      InvalidArgumentError: if a seed that is not two integers, or a negative length.

    >>> tf.random.stateless_normal([3], seed=[1, 2]).numpy()
    array([0.5441101 , 0.20738031, 0.07356432], dtype=float32)
    """
    result_dtype = as_dtype(dtype)
    centre, width = as_tensor(mean, result_dtype), as_tensor(stddev, result_dtype)
    key, counter = StatelessRandomGetKeyCounter(seed)
    drawn = StatelessRandomNormalV2(key, counter, shape=shape, alg=alg, dtype=result_dtype, name=name)
    return add(multiply(drawn, width), centre)


@_drawn
def StatelessRandomNormalV2(xp: Any, key: Any, counter: Any, shape: Any, alg: int, dtype: DType) -> Any:
    return philox.normal(xp, key, counter, count_of(shape), dtype).reshape(shape)


def stateless_truncated_normal(
    shape: Lengths,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Draws numbers from a normal distribution; what is beyond two standard deviations is drawn again.

    Args:
      shape: of the result.
      seed: two integers, shape `[2]`.
      mean: the centre; a tensor that broadcasts with `shape` will do.
      stddev: the standard deviation before the ends are cut off, likewise.
      dtype: float16, float32 or float64.
      alg: "philox" or "auto_select", which is the same.

    Returns:
      TensorFlow's numbers for this seed on a CPU, on every kind of device; the last digit may differ.

    Raises:
      InvalidArgumentError: if a seed that is not two integers, or a negative length.

    >>> tf.random.stateless_truncated_normal([3], seed=[1, 2]).shape
    TensorShape([3])
    """
    result_dtype = as_dtype(dtype)
    centre, width = as_tensor(mean, result_dtype), as_tensor(stddev, result_dtype)
    key, counter = StatelessRandomGetKeyCounter(seed)
    drawn = StatelessTruncatedNormalV2(key, counter, shape=shape, alg=alg, dtype=result_dtype, name=name)
    return add(multiply(drawn, width), centre)


@_drawn
def StatelessTruncatedNormalV2(xp: Any, key: Any, counter: Any, shape: Any, alg: int, dtype: DType) -> Any:
    return philox.truncated_normal(xp, key, counter, count_of(shape), dtype).reshape(shape)


def split(seed: TensorLike, num: int = 2, alg: Any = "auto_select") -> Tensor:
    """Makes several seeds of one, each for numbers that have nothing to do with those of the others.

    Args:
      seed: two integers, shape `[2]`.
      num: how many.
      alg: "philox" or "auto_select", which is the same.

    Returns:
      Seeds of `seed`'s dtype, shape `[num, 2]`.

    >>> tf.random.split([1, 2], num=3).shape
    TensorShape([3, 2])
    """
    start = as_tensor(seed)
    return stateless_uniform([num, 2], start, minval=None, maxval=None, dtype=start.dtype, alg=alg)


def fold_in(seed: TensorLike, data: TensorLike, alg: Any = "auto_select") -> Tensor:
    """Makes a seed of a seed and a number, such as that of a step or a replica.

    Args:
      seed: two integers, shape `[2]`.
      data: an integer scalar; the result has its dtype if that is a tensor's.
      alg: "philox" or "auto_select", which is the same.

    Returns:
      A seed of shape `[2]`; other numbers make other seeds.

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
