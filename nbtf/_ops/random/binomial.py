"""Binomial random numbers: the number of successes in a number of trials.

Source: Hörmann, "The generation of binomial random variates", 1993, algorithm BTRS; for few expected successes the
geometric method of Devroye, "Non-uniform random variate generation", 1986, chapter X.4.3. The order of random words
follows `stateful_random_binomial_op` (`random_binomial_op.cc`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.attributes import HostInput
from nbtf._ops.math.arithmetic import preferring
from nbtf._ops.op import no_gradient, op
from nbtf._ops.random import philox
from nbtf._ops.random.arguments import as_vector, count_of, drawn_spec
from nbtf._ops.random.stateless import check_seed, key_and_counter
from nbtf._ops.specs import as_asked, broadcast_shapes, may_be_equal
from nbtf._runtime.tensor import Tensor
from nbtf._types import DType, DTypeLike, TensorLike, as_dtype, float16, float32, float64, int32, int64
from nbtf.errors import InvalidArgumentError

REJECTION_FROM = 10
"""Expected rarer outcomes from which numbers are drawn by rejection; below, by the gaps between them."""

RESERVED_FOR_GAPS = 42
"""Counters that TensorFlow reserves for a number that is drawn by gaps."""

_Draw = Callable[[float, float, Iterator[float]], float]

_TAILS = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)
"""The error of Stirling's formula for 0 to 9; Hörmann, section 4."""


_COUNTED = frozenset({float16, float32, float64, int32, int64})


def _as_counted(value: Any) -> DType:
    dtype = as_dtype(value)
    if dtype not in _COUNTED:
        raise InvalidArgumentError(
            f"Value for attr 'dtype' of {dtype.c_name} is not in the list of allowed values: half, float, double, "
            "int32, int64"
        )
    return dtype


def _drawn(xp: Any, key: int, start: int, counts: Any, probs: Any, shape: Any, dtype: DType) -> Any:
    """Returns binomial numbers, each from its own words."""
    counts, probs = xp.broadcast_arrays(counts, probs)
    batch = counts.shape
    if tuple(shape)[len(shape) - len(batch) :] != batch:
        raise ValueError("the shape must end with that of the parameters")
    samples = count_of(shape) // max(1, counts.size)
    rare = xp.where(probs > 0.5, 1 - probs, probs).astype(probs.dtype)
    by_rejection = counts * rare >= REJECTION_FROM  # TensorFlow decides in the dtype of the parameters
    columns = [column.reshape(-1).tolist() for column in (counts, probs, rare, by_rejection)]
    drawn = xp.empty((samples, counts.size), xp.float64)
    for column, (trials, chance, rarer, rejects) in enumerate(zip(*columns, strict=True)):
        reserved = philox.RESERVED if rejects else RESERVED_FOR_GAPS
        for sample in range(samples):
            words = _uniform(xp, key, start + (column * samples + sample) * reserved)
            drawn[sample, column] = _binomial(trials, chance, rarer, _by_rejection if rejects else _by_gaps, words)
    return drawn.astype(dtype.np_dtype).reshape(shape)


def _drawn_spec(counts: Spec, probs: Spec, shape: Any, dtype: DType) -> Spec:
    spec = drawn_spec(shape, dtype)
    batch = broadcast_shapes(counts.shape, probs.shape)
    if not may_be_equal(tuple(shape)[len(shape) - len(batch) :], batch):
        raise InvalidArgumentError("Shape passed in must end with broadcasted shape.")
    return spec


@op(
    "uint64 uint64 T T -> dtype",
    T=_COUNTED,
    host={"shape": as_vector},
    plain={"dtype": as_dtype},
    cpu_only=True,
    partly=as_asked("shape"),
)
def StatefulRandomBinomial(xp: Any, key: Any, counter: Any, counts: Any, probs: Any, shape: Any, dtype: DType) -> Any:
    start = int(counter[0]) + (int(counter[1]) << 64)
    return _drawn(xp, int(key.reshape(())), start, counts, probs, shape, dtype)


@StatefulRandomBinomial.infer
def _(key: Spec, counter: Spec, counts: Spec, probs: Spec, shape: Any, dtype: DType) -> Spec:
    return _drawn_spec(counts, probs, shape, dtype)


@op(
    "Tseed T T -> dtype",
    Tseed=frozenset({int32, int64}),
    T=_COUNTED,
    host={"shape": as_vector},
    plain={"dtype": _as_counted},
    cpu_only=True,
    partly=as_asked("shape"),
    inputs={"shape": HostInput("shape", 0)},
    index_type="S",
)
def StatelessRandomBinomial(xp: Any, seed: Any, counts: Any, probs: Any, shape: Any, dtype: DType) -> Any:
    key, counter = key_and_counter(xp, seed)
    start = int(counter[0]) + (int(counter[1]) << 64)
    return _drawn(xp, int(key.reshape(())), start, counts, probs, shape, dtype)


@StatelessRandomBinomial.infer
def _(seed: Spec, counts: Spec, probs: Spec, shape: Any, dtype: DType) -> Spec:
    check_seed(seed)
    return _drawn_spec(counts, probs, shape, dtype)


def stateless_binomial(
    shape: Any,
    seed: TensorLike,
    counts: TensorLike,
    probs: TensorLike,
    output_dtype: DTypeLike = int32,
    name: str | None = None,
) -> Tensor:
    """Returns binomial random numbers, the number of successes in a number of trials, which depend only on a seed.

    The op runs on the CPU, since TensorFlow has no GPU kernel for it.

    Args:
      shape: the shape of the result; it ends with the broadcast shape of `counts` and `probs`.
      seed: two integers, shape `[2]`.
      counts: number of trials.
      probs: probability of success in each trial, from 0 to 1.
      output_dtype: the dtype: int32 (default), int64, float16, float32 or float64.

    Returns:
      TensorFlow's numbers for this seed; where `counts` or `probs` is not a valid parameter, nan.

    Raises:
      InvalidArgumentError: if `seed` is not two integers, or `shape` does not fit the parameters.

    >>> tf.random.stateless_binomial([3], seed=[1, 2], counts=10.0, probs=1.0).numpy()
    array([10, 10, 10], dtype=int32)
    """
    chances = preferring(probs, float32)
    trials = preferring(counts, chances.dtype)
    return StatelessRandomBinomial(seed, trials, chances, shape=shape, dtype=output_dtype, name=name)


def binomial_reserve(counts: Sequence[int | None], probs: Sequence[int | None], shape: Any) -> int:
    """Returns how many numbers an op reserves; 0 if the shapes do not fit. Source: `random_binomial_op.cc`."""
    batch, lengths = broadcast_shapes(tuple(counts), tuple(probs)), tuple(as_vector(shape))
    first = len(lengths) - len(batch)
    if first < 0 or lengths[first:] != batch:
        return 0
    return count_of(lengths[first:]) * 2 * 100 * (count_of(lengths[:first]) + 3) // 4


def _uniform(xp: Any, key: int, start: int) -> Iterator[float]:
    """Yields numbers in [0, 1), the second of each pair first, in the kernel's order."""
    count = 4
    while True:
        words = (start & (1 << 64) - 1, start >> 64)
        numbers: list[float] = philox.uniform(xp, key, words, 2 * count, float64).tolist()
        for position in range(0, 2 * count, 2):
            yield numbers[position + 1]
            yield numbers[position]
        start += count
        count *= 2


def _binomial(trials: float, chance: float, rarer: float, draw: _Draw, words: Iterator[float]) -> float:
    """Returns a binomial number; `rarer` is the probability of the rarer outcome, a success or a failure."""
    if trials <= 0 or chance <= 0:
        return 0.0
    if chance >= 1:
        return trials
    if math.isnan(chance) or not math.isfinite(trials):
        return math.nan
    number = draw(trials, rarer, words)
    return trials - number if chance > 0.5 else number


def _by_gaps(trials: float, chance: float, uniform: Iterator[float]) -> float:
    """Counts successes by drawing the geometric numbers of trials between them."""
    passed, successes = 0.0, 0
    while True:
        number = next(uniform)
        passed += math.ceil(math.log(number) / math.log1p(-chance)) if number > 0 else math.inf
        if passed > trials:
            return float(successes)
        successes += 1


def _by_rejection(trials: float, chance: float, uniform: Iterator[float]) -> float:
    """Draws a number with Hörmann's algorithm BTRS; the names are his."""
    deviation = math.sqrt(trials * chance * (1 - chance))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * chance
    c = trials * chance + 0.5
    v_r = 0.92 - 4.2 / b
    r = chance / (1 - chance)
    alpha = (2.83 + 5.1 / b) * deviation
    m = math.floor((trials + 1) * chance)
    while True:
        u, v = next(uniform) - 0.5, next(uniform)
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + c)
        if us >= 0.07 and v <= v_r:
            return float(k)
        if k < 0 or k > trials:
            continue
        bound = (
            (m + 0.5) * math.log((m + 1) / (r * (trials - m + 1)))
            + (trials + 1) * math.log((trials - m + 1) / (trials - k + 1))
            + (k + 0.5) * math.log(r * (trials - k + 1) / (k + 1))
            + _tail(m)
            + _tail(trials - m)
            - _tail(k)
            - _tail(trials - k)
        )
        if math.log(v * alpha / (a / (us * us) + b)) <= bound:
            return float(k)


def _tail(k: float) -> float:
    """Returns the error of Stirling's formula."""
    if k <= 9:
        return _TAILS[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


no_gradient(StatefulRandomBinomial, StatelessRandomBinomial)
