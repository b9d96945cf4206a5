"""Gamma random numbers, and how they change with the shape of their distribution.

Source: Marsaglia, Tsang, "A simple method for generating gamma variables", 2000. The order of random words follows
TensorFlow's `stateless_random_gamma_op.cc`, so that a seed gives TensorFlow's numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.creation import ones_like
from nbtf._ops.attributes import HostInput
from nbtf._ops.math.arithmetic import multiply
from nbtf._ops.math.division import divide
from nbtf._ops.math.magnitude import maximum
from nbtf._ops.op import Gradients, op, unregistered
from nbtf._ops.random import philox
from nbtf._ops.random.arguments import as_vector, count_of, drawn_spec
from nbtf._ops.random.stateless import StatelessRandomGetKeyCounter, as_algorithm
from nbtf._ops.reductions.sums import reduce_sum
from nbtf._ops.specs import as_asked, may_be_equal
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import DTypeLike, TensorLike, as_dtype, float16, float32, float64
from nbtf.errors import InvalidArgumentError

SQUEEZE = 0.0331
"""Marsaglia and Tsang, section 3: below `1 - 0.0331 x**4`, a number is accepted without logarithms."""

Chosen = Any
"""Positions of the numbers that are still to be drawn."""


class _Words:
    """Random words of many numbers, each of which has its own counters and takes as many as it needs.

    Normal and uniform numbers come in pairs, of which the second is used first.
    """

    def __init__(self, xp: Any, key: Any, counter: Any, count: int) -> None:
        self.xp, self.key = xp, key
        self.low, self.high = philox.counters(xp, counter, count, philox.RESERVED)

    def source(self, draw: Callable[..., Any]) -> Callable[[Chosen], Any]:
        """Returns a function that draws the next number for each of the chosen positions."""
        pairs = self.xp.empty((self.low.size, 2), self.xp.float64)
        left = self.xp.zeros(self.low.size, self.xp.int64)

        def take(chosen: Chosen) -> Any:
            used_up = chosen[left[chosen] == 0]
            if used_up.size:
                pairs[used_up] = draw(self.xp, self.key, self.low[used_up], self.high[used_up], float64)
                self.low[used_up] += self.xp.uint64(1)
                self.high[used_up] += self.low[used_up] == 0
                left[used_up] = 2
            left[chosen] -= 1
            return pairs[chosen, left[chosen]]

        return take


def _numbers(xp: Any, key: Any, counter: Any, shapes: Any) -> Any:
    """Returns gamma numbers for each shape parameter, a vector of float64; the names are Marsaglia's and Tsang's."""
    words = _Words(xp, key, counter, shapes.size)
    normal, uniform = words.source(philox.normals), words.source(philox.uniforms)
    drawn = xp.full(shapes.size, xp.nan)
    exponential = xp.flatnonzero(shapes == 1)
    drawn[exponential] = -xp.log1p(-uniform(exponential))
    small = shapes < 1
    d = shapes + xp.where(small, 2 / 3, -1 / 3)
    waiting = xp.flatnonzero((d > 0) & (shapes != 1))
    while waiting.size:
        x = normal(waiting)
        v = 1 + 1 / 3 / xp.sqrt(d[waiting]) * x
        tried, x, v = waiting[v > 0], x[v > 0], v[v > 0] ** 3
        u, scale, squares = uniform(tried), d[tried], x * x
        bound = 0.5 * squares + scale * (1 - v + xp.log(v))
        accepted = (u < 1 - SQUEEZE * squares * squares) | (u < xp.exp(bound))
        finished = tried[accepted]
        drawn[finished] = scale[accepted] * v[accepted]
        shrunk = finished[small[finished]]
        drawn[shrunk] *= _power(xp, uniform(shrunk), shapes[shrunk])
        waiting = xp.setdiff1d(waiting, finished, assume_unique=True)
    return drawn


def _power(xp: Any, base: Any, shapes: Any) -> Any:
    """Returns `base ** (1 / shapes)`, the factor by which a number of the next larger shape shrinks."""
    return xp.where(shapes == 0, 0.0, base ** (1 / xp.where(shapes == 0, 1.0, shapes)))


@op(
    "uint64 uint64 T -> T",
    T=frozenset({float16, float32, float64}),
    host={"shape": as_vector},
    plain={"alg": as_algorithm},
    partly=as_asked("shape"),
    inputs={"shape": HostInput("shape", 0)},
    index_type="shape_dtype",
)
def StatelessRandomGammaV3(xp: Any, key: Any, counter: Any, alpha: Any, shape: Any, alg: int) -> Any:
    count = count_of(shape)
    if tuple(shape)[len(shape) - alpha.ndim :] != alpha.shape:
        raise ValueError("the shape must end with that of the parameters")
    samples = count // max(1, alpha.size)
    # All numbers of a parameter come before those of the next one.
    numbers = _numbers(xp, key, counter, xp.repeat(alpha.reshape(-1).astype(xp.float64), samples))
    return numbers.reshape(alpha.size, samples).T.reshape(shape).astype(alpha.dtype)


@StatelessRandomGammaV3.infer
def _(key: Spec, counter: Spec, alpha: Spec, shape: Any, alg: int) -> Spec:
    spec = drawn_spec(shape, alpha.dtype)
    if not may_be_equal(tuple(shape)[len(shape) - len(alpha.shape) :], alpha.shape):
        raise InvalidArgumentError("Shape passed in must end with broadcasted shape.")
    return spec


@StatelessRandomGammaV3.gradient_keeping("inputs", "outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    alpha, drawn = call.inputs[2], call.output
    slopes = RandomGammaGrad(alpha, drawn)
    return [None, None, reduce_sum(grad * slopes, list(range(len(drawn.shape) - len(alpha.shape))))]


SHIFTS = 10
"""Steps of the recurrence that takes the digamma function to where its asymptotic series is exact."""

_COEFFICIENTS = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760)
"""NIST Digital Library of Mathematical Functions, equation 5.11.2."""

MOST_TERMS = 10_000
"""Terms of the series of a derivative: enough for parameters up to a million."""


def _digamma(xp: Any, z: Any) -> Any:
    """Returns the logarithmic derivative of the gamma function for positive numbers."""
    below = xp.zeros_like(z)
    for _ in range(SHIFTS):
        below += 1 / z
        z = z + 1
    total = xp.log(z) - 0.5 / z
    for power, coefficient in enumerate(_COEFFICIENTS, 1):
        total -= coefficient / z ** (2 * power)
    return total - below


@op("T T -> T", T=frozenset({float32, float64}), broadcasts=True)
def RandomGammaGrad(xp: Any, alpha: Any, sample: Any) -> Any:
    # A number keeps its quantile: its slope is minus that of the distribution function, divided by the density. The
    # quotient of the function's series (NIST, equation 8.7.1) and of the density needs neither powers nor exponentials.
    shapes, numbers = (x.astype(xp.float64) for x in xp.broadcast_arrays(alpha, sample))
    valid = (shapes > 0) & (numbers > 0) & xp.isfinite(shapes) & xp.isfinite(numbers)
    shapes, numbers = xp.where(valid, shapes, 1.0), xp.where(valid, numbers, 1.0)
    slope = _digamma(xp, shapes + 1) - xp.log(numbers)
    terms = numbers / shapes
    total = xp.zeros_like(terms)
    counts = numbers - shapes + 10 * xp.sqrt(numbers)
    largest = float(counts.max()) if counts.size else 0.0
    for _ in range(min(MOST_TERMS, max(0, int(largest)) + 40)):
        total += terms * slope
        shapes = shapes + 1
        slope += 1 / shapes
        terms *= numbers / shapes
    unknown = xp.isnan(alpha) | xp.isnan(sample) | (alpha <= 0)
    return xp.where(unknown, xp.nan, xp.where(valid, total, 0.0)).astype(alpha.dtype)


unregistered(RandomGammaGrad)


def stateless_gamma(
    shape: Any,
    seed: TensorLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """Returns random numbers from gamma distributions, which depend only on a seed.

    Gradients flow to `alpha` and `beta`: each number moves as its quantile does.

    Args:
      shape: the shape of the result; it ends with the broadcast shape of `alpha` and `beta`.
      seed: two integers, shape `[2]`.
      alpha: the shape parameters, positive numbers.
      beta: the rates, the inverse scales; 1 by default.
      dtype: the dtype of parameters and result: float16, float32 (default) or float64.

    Returns:
      TensorFlow's numbers for this seed on every type of device; the last digit may differ.

    Raises:
      InvalidArgumentError: if `seed` is not two integers, a length is negative, or `shape` does not fit the parameters.

    >>> tf.random.stateless_gamma([4], seed=[1, 2], alpha=1.0).numpy().round(3)
    array([3.499, 1.719, 2.249, 1.894], dtype=float32)
    """
    result_dtype = as_dtype(dtype)
    shapes = as_tensor(alpha, result_dtype)
    rates = as_tensor(1 if beta is None else beta, result_dtype)
    key, counter = StatelessRandomGetKeyCounter(seed)
    drawn = StatelessRandomGammaV3(
        key, counter, multiply(shapes, ones_like(rates)), shape=shape, alg="auto_select", name=name
    )
    return maximum(_SMALLEST[result_dtype], divide(drawn, rates))


_SMALLEST = {float16: 2.0**-14, float32: 2.0**-126, float64: 2.0**-1022}
"""The smallest normal number. Source: IEEE 754."""
