"""Draws classes with the probabilities that logits give."""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.attributes import as_int
from nbtf._ops.op import no_gradient, op
from nbtf._ops.random import philox
from nbtf._ops.random.stateless import check_seed, key_and_counter
from nbtf._ops.random.streams import stream_of
from nbtf._ops.specs import bracketed, of_rank
from nbtf._runtime.conversion import as_tensor, host_array
from nbtf._runtime.seeds import Stream
from nbtf._runtime.tensor import Tensor
from nbtf._types import FLOATS, DType, DTypeLike, TensorLike, as_dtype, float64, int32, int64
from nbtf.errors import InvalidArgumentError


def categorical(
    logits: TensorLike,
    num_samples: Any,
    dtype: DTypeLike | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns random classes for each row of logits.

    Args:
      logits: unnormalised logarithms of probabilities, shape `[rows, classes]`.
      num_samples: number of classes to draw per row.
      dtype: the dtype of the result: int64 (default) or int32.
      seed: an integer that selects a stream of its own; see `tf.random.set_seed`.

    Returns:
      The class numbers, shape `[rows, num_samples]`, as TensorFlow draws them on a CPU.

    Raises:
      InvalidArgumentError: if `logits` is not a matrix or has no classes, or `num_samples` is negative.

    >>> tf.random.categorical([[0.0, -1e9]], 3).numpy()
    array([[0, 0, 0]])
    """
    tensor = as_tensor(logits)
    result_dtype = int64 if dtype is None else as_dtype(dtype)
    stream = stream_of("Multinomial", tensor.dtype, seed)
    return Multinomial(tensor, num_samples=num_samples, stream=stream, output_dtype=result_dtype, name=name)


def as_samples(value: Any) -> int:
    """Returns the number of classes to draw."""
    try:
        return as_int(value)
    except (AttributeError, TypeError):
        text = f"num_samples should be a scalar, got shape {bracketed(host_array(value)[0].shape)}"
        raise InvalidArgumentError(text) from None


@op(
    "T -> output_dtype",
    T=FLOATS,
    host={"num_samples": as_samples},
    asked={"num_samples": int32},
    plain={"output_dtype": as_dtype},
    partly=of_rank(2),
)
def Multinomial(xp: Any, logits: Any, num_samples: int, stream: Stream, output_dtype: DType) -> Any:
    rows, samples = _counts(logits, num_samples)
    # Source of the reserved count: `multinomial_op.cc`.
    counter = stream.take(rows * -(-samples // 4) * 4 * 2 * philox.RESERVED)
    return _drawn(xp, logits, samples, stream.key, counter, output_dtype)


def stateless_categorical(
    logits: TensorLike, num_samples: Any, seed: TensorLike, dtype: DTypeLike = int64, name: str | None = None
) -> Tensor:
    """Returns random classes for each row of logits; the same seed gives the same classes.

    Args:
      logits: unnormalised logarithms of probabilities, shape `[rows, classes]`.
      num_samples: number of classes to draw per row.
      seed: two integers, shape `[2]`.
      dtype: the dtype of the result: int64 (default) or int32.

    Returns:
      The class numbers, shape `[rows, num_samples]`, as TensorFlow draws them on a CPU.

    Raises:
      InvalidArgumentError: if `logits` is not a matrix or has no classes, `num_samples` is negative, or `seed` has
        another shape.

    >>> tf.random.stateless_categorical([[0.0, 1.0, 2.0]], 5, seed=[1, 2]).numpy()
    array([[2, 2, 1, 2, 2]])
    """
    return StatelessMultinomial(logits, seed, num_samples=num_samples, output_dtype=dtype, name=name)


@op(
    "T Tseed -> output_dtype",
    T=FLOATS,
    Tseed=frozenset({int32, int64}),
    host={"num_samples": as_samples},
    asked={"num_samples": int32},
    plain={"output_dtype": as_dtype},
    partly=of_rank(2),
)
def StatelessMultinomial(xp: Any, logits: Any, seed: Any, num_samples: int, output_dtype: DType) -> Any:
    samples = _counts(logits, num_samples)[1]
    return _drawn(xp, logits, samples, *key_and_counter(xp, seed), output_dtype)


def _counts(logits: Any, num_samples: int) -> tuple[int, int]:
    if logits.ndim != 2 or not logits.shape[1] or num_samples < 0:
        raise ValueError("expected rows of classes and a number of samples")
    return logits.shape[0], num_samples


def _drawn(xp: Any, logits: Any, samples: int, key: Any, counter: Any, dtype: DType) -> Any:
    """Returns classes: random points in the cumulative sums of probabilities. Source: `MultinomialFunctor`."""
    rows, classes = logits.shape
    points = philox.uniform(xp, key, counter, rows * samples, float64).reshape(rows, samples)
    drawn = xp.empty((rows, samples), dtype.np_dtype)
    for row in range(rows):
        finite = xp.isfinite(logits[row])
        highest = xp.where(finite, logits[row], -xp.inf).max()
        shares = xp.where(finite, xp.exp(logits[row].astype(xp.float64) - highest.astype(xp.float64)), 0.0)
        sums = xp.cumsum(shares)
        found = xp.searchsorted(sums, points[row] * sums[-1], side="right")
        drawn[row] = xp.minimum(found, classes - 1)
    return drawn


@Multinomial.infer
def _(logits: Spec, num_samples: int, stream: Stream, output_dtype: DType) -> Spec:
    return _drawn_spec(logits, num_samples, output_dtype)


@StatelessMultinomial.infer
def _(logits: Spec, seed: Spec, num_samples: int, output_dtype: DType) -> Spec:
    check_seed(seed)
    return _drawn_spec(logits, num_samples, output_dtype)


def _drawn_spec(logits: Spec, num_samples: int, dtype: DType) -> Spec:
    if len(logits.shape) != 2:
        raise InvalidArgumentError(f"logits should be a matrix, got shape {bracketed(logits.shape)}")
    if num_samples < 0:
        raise InvalidArgumentError(f"num_samples should be non-negative, got {num_samples}")
    if logits.shape[1] == 0:
        raise InvalidArgumentError("num_classes should be positive, got 0")
    return Spec((logits.shape[0], num_samples), dtype)


no_gradient(Multinomial, StatelessMultinomial)
