"""Stateful random ops: each continues a stream, whose seeds the context keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.attributes import HostInput
from nbtf._ops.math.arithmetic import add, multiply, subtract
from nbtf._ops.op import no_gradient, op
from nbtf._ops.random import philox
from nbtf._ops.random.arguments import as_bound, as_bound_int, as_vector, bounds_of, check_bounds, count_of, drawn_spec
from nbtf._ops.specs import as_asked, spec_of_first
from nbtf._runtime.blocks import current_scope
from nbtf._runtime.context import CURRENT, Context
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.scopes import SCOPE
from nbtf._runtime.seeds import Seeds, Stream
from nbtf._runtime.tensor import Tensor
from nbtf._types import ALL, DType, DTypeLike, TensorLike, as_dtype, bfloat16, float16, float32, float64, int32, int64

Lengths = Any
"""The shape of the result: a list of integers or an integer tensor."""


def set_seed(seed: Any) -> None:
    """Sets the global seed, so that random ops give the same numbers in each run.

    With a global seed, each op without its own seed derives one from it, so that two calls differ. An op with a
    seed continues where its last call ended. `set_seed` restarts all streams. The numbers are the same as TensorFlow's.

    Args:
      seed: an integer; None removes the global seed.

    >>> tf.random.set_seed(42)
    >>> first = tf.random.uniform([2])
    >>> tf.random.set_seed(42)
    >>> bool(tf.reduce_all(first == tf.random.uniform([2])))
    True
    """
    seeds().set_seed(seed)


def seeds() -> Seeds:
    """Returns the random state of the current context, or of the trace while a function is being traced."""
    scope = SCOPE()
    graph_seeds = None if scope is None else getattr(scope.graph, "seeds", None)
    if graph_seeds is not None:
        return graph_seeds
    context = CURRENT.context
    if context.seeds is None:
        with Context._lock:
            context.seeds = context.seeds or Seeds()
    return context.seeds


def stream_of(op_type: str, dtype: DType, seed: int | None) -> Stream:
    """Returns the stream that an op reads; each requested device has its own, as in TensorFlow."""
    scope = SCOPE() and current_scope()
    device_name = None if scope is None or scope.request is None else scope.request.name
    return seeds().stream((op_type, dtype, device_name), seed)


def uniform(
    shape: Lengths,
    minval: Any = 0,
    maxval: Any = None,
    dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns uniformly distributed random numbers from `minval` up to, but excluding, `maxval`.

    Args:
      shape: the shape of the result.
      minval: the lower bound, 0 by default; for floats, also a tensor that broadcasts with `shape`.
      maxval: the upper bound (excluded); 1 by default, but required for integers.
      dtype: the dtype: float16, float32 (default), float64, int32 or int64.
      seed: an integer that selects a stream of its own; see `tf.random.set_seed`.

    Returns:
      A tensor of this shape and dtype, with the same numbers on every type of device.

    Raises:
      ValueError: if `dtype` is not supported, or `maxval` is missing for integers.
      InvalidArgumentError: if a length is negative, or `minval` is not below `maxval` for integers.

    >>> tf.random.uniform([2, 3], 1, 7, dtype=tf.int32).shape
    TensorShape([2, 3])
    """
    result_dtype = as_dtype(dtype)
    if result_dtype not in _UNIFORM:
        raise ValueError(
            f"Argument `dtype` got invalid value {result_dtype!s}. Accepted dtypes are "
            "(tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.int32, tf.int64)."
        )
    if maxval is None:
        if result_dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {result_dtype!r}")
        maxval = 1
    if result_dtype.is_integer:
        low, high = as_bound(minval, result_dtype), as_bound(maxval, result_dtype)
        stream = stream_of("RandomUniformInt", result_dtype, seed)
        return RandomUniformInt(shape=shape, minval=low, maxval=high, stream=stream, dtype=result_dtype, name=name)
    drawn = RandomUniform(
        shape=shape, stream=stream_of("RandomUniform", result_dtype, seed), dtype=result_dtype, name=name
    )
    return _between(drawn, minval, maxval)


_UNIFORM = frozenset({bfloat16, float16, float32, float64, int32, int64})


def _between(drawn: Tensor, minval: Any, maxval: Any) -> Tensor:
    """Returns numbers in [0, 1) scaled to other bounds, with no more ops than TensorFlow uses."""
    from_zero = isinstance(minval, int) and minval == 0
    if not from_zero:
        low = as_tensor(minval, drawn.dtype)
        return add(multiply(drawn, subtract(as_tensor(maxval, drawn.dtype), low)), low)
    return drawn if isinstance(maxval, int) and maxval == 1 else multiply(drawn, as_tensor(maxval, drawn.dtype))


Draw = Callable[[Any, Any, Any, int, DType], Any]


def draw_from(xp: Any, draw: Draw, shape: Any, stream: Stream, dtype: DType) -> Any:
    """Returns numbers from a stream, which advances by as many as TensorFlow reserves."""
    count = count_of(shape)
    return draw(xp, stream.key, stream.take(count * philox.RESERVED), count, dtype).reshape(shape)


def _spec_of_drawn(shape: Any, stream: Stream, dtype: DType) -> Spec:
    return drawn_spec(shape, dtype)


_drawn = op(
    "-> dtype",
    host={"shape": as_vector},
    plain={"dtype": as_dtype},
    infer=_spec_of_drawn,
    partly=as_asked("shape"),
    index_type="T",
)


@_drawn
def RandomUniform(xp: Any, shape: Any, stream: Stream, dtype: DType) -> Any:
    return draw_from(xp, philox.uniform, shape, stream, dtype)


@op(
    "-> dtype",
    host={"shape": as_vector, "minval": as_bound_int, "maxval": as_bound_int},
    plain={"dtype": as_dtype},
    partly=as_asked("shape"),
    inputs={"minval": HostInput("min", of_result=True), "maxval": HostInput("max", of_result=True)},
    index_type="T",
)
def RandomUniformInt(xp: Any, shape: Any, minval: int, maxval: int, stream: Stream, dtype: DType) -> Any:
    count = count_of(shape)
    bounds = bounds_of(minval, maxval, count)
    counter = stream.take(count * philox.RESERVED)
    return philox.integers_between(xp, stream.key, counter, count, bounds, dtype).reshape(shape)


@RandomUniformInt.infer
def _(shape: Any, minval: int, maxval: int, stream: Stream, dtype: DType) -> Spec:
    spec = drawn_spec(shape, dtype)
    check_bounds(shape, minval, maxval)
    return spec


def normal(
    shape: Lengths,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns random numbers from a normal distribution.

    Args:
      shape: the shape of the result.
      mean: the mean, a number or a tensor that broadcasts with `shape`; 0.0 by default.
      stddev: the standard deviation, in the same form; 1.0 by default.
      dtype: the dtype: float16, float32 (default) or float64.
      seed: an integer that selects a stream of its own; see `tf.random.set_seed`.

    Returns:
      A tensor of this shape and dtype, with the same numbers on every type of device.

    >>> tf.random.normal([4, 2], mean=5.0).shape
    TensorShape([4, 2])
    """
    result_dtype = as_dtype(dtype)
    centre, width = as_tensor(mean, result_dtype), as_tensor(stddev, result_dtype)
    stream = stream_of("RandomStandardNormal", result_dtype, seed)
    drawn = RandomStandardNormal(shape=shape, stream=stream, dtype=result_dtype, name=name)
    return add(multiply(drawn, width), centre)


@_drawn
def RandomStandardNormal(xp: Any, shape: Any, stream: Stream, dtype: DType) -> Any:
    return draw_from(xp, philox.normal, shape, stream, dtype)


def truncated_normal(
    shape: Lengths,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns random numbers from a normal distribution, redrawing those beyond two standard deviations.

    Args:
      shape: the shape of the result.
      mean: the mean, a number or a tensor that broadcasts with `shape`; 0.0 by default.
      stddev: the standard deviation before truncation, in the same form; 1.0 by default.
      dtype: the dtype: float16, float32 (default) or float64.
      seed: an integer that selects a stream of its own; see `tf.random.set_seed`.

    Returns:
      A tensor of this shape and dtype, with the same numbers on every type of device.

    >>> drawn = tf.random.truncated_normal([1000], stddev=3.0)
    >>> bool(tf.reduce_max(tf.abs(drawn)) < 6.0)
    True
    """
    result_dtype = as_dtype(dtype)
    centre, width = as_tensor(mean, result_dtype), as_tensor(stddev, result_dtype)
    drawn = TruncatedNormal(
        shape=shape, stream=stream_of("TruncatedNormal", result_dtype, seed), dtype=result_dtype, name=name
    )
    return add(multiply(drawn, width), centre)


@_drawn
def TruncatedNormal(xp: Any, shape: Any, stream: Stream, dtype: DType) -> Any:
    return draw_from(xp, philox.truncated_normal, shape, stream, dtype)


def shuffle(value: TensorLike, seed: int | None = None, name: str | None = None) -> Tensor:
    """Returns a tensor with the slices along its first axis in random order.

    Args:
      value: a tensor of any dtype.
      seed: an integer that selects a stream of its own; see `tf.random.set_seed`.

    Returns:
      A tensor with the same slices, computed on the CPU, since TensorFlow has no GPU kernel for this op.

    >>> tf.sort(tf.random.shuffle([3, 1, 2])).numpy()
    array([1, 2, 3], dtype=int32)
    """
    tensor = as_tensor(value)
    return RandomShuffle(tensor, stream=stream_of("RandomShuffle", tensor.dtype, seed), name=name)


@op("T -> T", T=ALL, cpu_only=True, infer=spec_of_first)
def RandomShuffle(xp: Any, value: Any, stream: Stream) -> Any:
    if value.ndim == 0 or value.shape[0] < 2:
        return value
    swaps = value.shape[0] - 1
    blocks = -(-swaps // 4)
    words = philox.philox(xp, stream.key, stream.take(blocks), blocks).reshape(-1)[:swaps]
    order = list(range(swaps + 1))
    for position, offset in enumerate((words % xp.arange(swaps + 1, 1, -1, dtype=xp.uint32)).tolist()):
        order[position], order[position + offset] = order[position + offset], order[position]
    return value[xp.asarray(order)]


no_gradient(RandomUniform, RandomUniformInt, RandomStandardNormal, TruncatedNormal, RandomShuffle)
