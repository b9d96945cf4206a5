"""Binomial random numbers: the number of successes in a number of trials.

Source: Hörmann, "The generation of binomial random variates", 1993, algorithm BTRS; for few expected successes the
geometric method of Devroye, "Non-uniform random variate generation", 1986, chapter X.4.3. The order of random words
follows `stateful_random_binomial_op` (`random_binomial_op.cc`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.op import no_gradient, op
from nbtf._ops.random import philox
from nbtf._ops.random.arguments import as_vector, count_of, drawn_spec
from nbtf._ops.specs import as_asked, broadcast_shapes, may_be_equal
from nbtf._types import DType, as_dtype, float16, float32, float64, int32, int64
from nbtf.errors import InvalidArgumentError

INVERSION_BELOW = 10
"""Expected successes below which the geometric method is used."""

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


@op(
    "uint64 uint64 T T -> dtype",
    T=frozenset({float16, float32, float64, int32, int64}),
    host={"shape": as_vector},
    plain={"dtype": as_dtype},
    cpu_only=True,
    partly=as_asked("shape"),
)
def StatefulRandomBinomial(xp: Any, key: Any, counter: Any, counts: Any, probs: Any, shape: Any, dtype: DType) -> Any:
    pairs = xp.broadcast_arrays(counts.astype(xp.float64), probs.astype(xp.float64))
    batch = pairs[0].shape
    if tuple(shape)[len(shape) - len(batch) :] != batch:
        raise ValueError("the shape must end with that of the parameters")
    samples = count_of(shape) // max(1, pairs[0].size)
    trials, chances = pairs[0].reshape(-1).tolist(), pairs[1].reshape(-1).tolist()
    start = int(counter[0]) + (int(counter[1]) << 64)
    drawn = xp.empty((samples, len(trials)), xp.float64)
    for batch, (count, chance) in enumerate(zip(trials, chances, strict=True)):
        for sample in range(samples):
            # Each number has its own words, as many as an op reserves for it.
            position = start + (batch * samples + sample) * philox.RESERVED
            drawn[sample, batch] = _binomial(count, chance, _uniform(xp, int(key.reshape(())), position))
    return drawn.astype(dtype.np_dtype).reshape(shape)


@StatefulRandomBinomial.infer
def _(key: Spec, counter: Spec, counts: Spec, probs: Spec, shape: Any, dtype: DType) -> Spec:
    spec = drawn_spec(shape, dtype)
    batch = broadcast_shapes(counts.shape, probs.shape)
    if not may_be_equal(tuple(shape)[len(shape) - len(batch) :], batch):
        raise InvalidArgumentError("Shape passed in must end with broadcasted shape.")
    return spec


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


def _binomial(trials: float, chance: float, uniform: Iterator[float]) -> float:
    if not (trials >= 0 and chance >= 0 and chance <= 1) or math.isinf(trials):
        return math.nan
    if chance in (0.0, 1.0) or trials == 0:
        return trials if chance == 1.0 else 0.0
    if chance > 0.5:
        return trials - _binomial_of_rare(trials, 1 - chance, uniform)
    return _binomial_of_rare(trials, chance, uniform)


def _binomial_of_rare(trials: float, chance: float, uniform: Iterator[float]) -> float:
    if trials * chance < INVERSION_BELOW:
        return _by_gaps(trials, chance, uniform)
    return _by_rejection(trials, chance, uniform)


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


no_gradient(StatefulRandomBinomial)
