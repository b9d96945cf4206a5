"""Learning rates that depend on the number of steps, as tensors.

Source of the formulas: the docstrings of keras/optimizers/schedules/learning_rate_schedule.py of TensorFlow 2.21.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from nbtf._ops.arrays.creation import ones_like
from nbtf._ops.math.arithmetic import add, cast, multiply, subtract
from nbtf._ops.math.comparison import equal, less_equal, where
from nbtf._ops.math.division import divide
from nbtf._ops.math.exponentials import exp, log, pow
from nbtf._ops.math.magnitude import minimum
from nbtf._ops.math.rounding import ceil, floor
from nbtf._ops.math.trigonometry import cos
from nbtf._runtime.conversion import as_tensor
from nbtf._types import float32
from nbtf.compat._v1._graph.defaults import building
from nbtf.compat._v1._surface.scoping import opened

Rate = Any
"""A scalar tensor; while ops run eagerly, a function without arguments that returns one."""


def exponential_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Rate:
    """Returns `learning_rate * decay_rate ** (global_step / decay_steps)`.

    Args:
      learning_rate: the rate at step 0.
      global_step: number of steps.
      decay_steps: number of steps after which the factor has been applied once.
      decay_rate: the factor.
      staircase: whether the factor is applied in discrete steps, every `decay_steps` steps.

    >>> import nbtf.compat.v1 as tf1
    >>> with tf1.Graph().as_default(), tf1.Session() as sess:
    ...     print(sess.run(tf1.train.exponential_decay(0.5, tf1.constant(20), 10, 0.5)))
    0.125
    """

    def rate(scope: str | None) -> Any:
        start = _number(learning_rate)
        times = _times(global_step, decay_steps, start, staircase)
        return multiply(start, pow(_number(decay_rate, start), times), name=scope)

    return _built(rate, name, "ExponentialDecay")


def natural_exp_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Rate:
    """Returns `learning_rate * exp(-decay_rate * global_step / decay_steps)`; see `exponential_decay`."""

    def rate(scope: str | None) -> Any:
        start = _number(learning_rate)
        times = _times(global_step, decay_steps, start, staircase)
        return multiply(start, exp(multiply(_negative(decay_rate, start), times)), name=scope)

    return _built(rate, name, "ExponentialDecay")


def inverse_time_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Rate:
    """Returns `learning_rate / (1 + decay_rate * global_step / decay_steps)`; see `exponential_decay`."""

    def rate(scope: str | None) -> Any:
        start = _number(learning_rate)
        times = _times(global_step, decay_steps, start, staircase)
        return divide(start, add(multiply(_number(decay_rate, start), times), 1.0), name=scope)

    return _built(rate, name, "InverseTimeDecay")


def piecewise_constant(x: Any, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None) -> Rate:
    """Returns `values[0]` up to and including `boundaries[0]`, then `values[1]` up to `boundaries[1]`, and so on.

    Args:
      x: number of steps.
      boundaries: increasing numbers of steps.
      values: rates; one more than there are boundaries.

    Raises:
      ValueError: if the number of values does not match.
    """
    if len(boundaries) != len(values) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")

    def rate(scope: str | None) -> Any:
        step = as_tensor(x)
        rate = _number(values[-1])
        for boundary, value in reversed(list(zip(boundaries, values, strict=False))):
            rate = where(less_equal(step, cast(boundary, step._dtype)), _number(value, rate), rate)
        return rate

    return _built(rate, name, "PiecewiseConstant")


piecewise_constant_decay = piecewise_constant


def polynomial_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    end_learning_rate: Any = 0.0001,
    power: Any = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Rate:
    """Returns a rate that decreases polynomially to an end value and then stays constant.

    Args:
      learning_rate: the rate at step 0.
      global_step: number of steps.
      decay_steps: number of steps until the end value.
      end_learning_rate: the end value.
      power: exponent of the polynomial; 1 for a linear decrease.
      cycle: whether to decay again afterwards, over two, three and more times `decay_steps`.
    """

    def rate(scope: str | None) -> Any:
        start = _number(learning_rate)
        end = _number(end_learning_rate, start)
        step, steps = _number(global_step, start), _number(decay_steps, start)
        if cycle:
            times = where(equal(step, 0.0), ones_like(step), ceil(divide(step, steps)))
            steps = multiply(steps, times)
        else:
            step = minimum(step, steps)
        remaining = pow(subtract(_number(1.0, start), divide(step, steps)), _number(power, start))
        return add(multiply(subtract(start, end), remaining), end, name=scope)

    return _built(rate, name, "PolynomialDecay")


def cosine_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, alpha: Any = 0.0, name: str | None = None
) -> Rate:
    """Returns a rate that decreases along half a cosine wave.

    Args:
      learning_rate: the rate at step 0.
      global_step: number of steps.
      decay_steps: number of steps until the end of the wave.
      alpha: fraction of the initial rate that is left at the end.
    """

    def rate(scope: str | None) -> Any:
        start = _number(learning_rate)
        steps = _number(decay_steps, start)
        progress = divide(minimum(_number(global_step, start), steps), steps)
        return multiply(start, _above(alpha, _half_wave(progress), start))

    return _built(rate, name, "CosineDecay")


def cosine_decay_restarts(
    learning_rate: Any,
    global_step: Any,
    first_decay_steps: Any,
    t_mul: float = 2.0,
    m_mul: float = 1.0,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Rate:
    """Returns a rate that repeatedly decreases along half a cosine wave.

    Args:
      learning_rate: the rate at step 0.
      global_step: number of steps.
      first_decay_steps: number of steps in the first period.
      t_mul: ratio of each period's length to that of the previous one.
      m_mul: ratio of each period's initial rate to that of the previous one.
      alpha: minimum rate, as a fraction of `learning_rate`.
    """

    def rate(scope: str | None) -> Any:
        start = _number(learning_rate)
        progress = divide(_number(global_step, start), _number(first_decay_steps, start))
        if t_mul == 1.0:
            times = floor(progress)
            progress = subtract(progress, times)
        else:
            grown = subtract(_number(1.0, start), multiply(progress, 1.0 - t_mul))
            times = floor(divide(log(grown), math.log(t_mul)))
            restarted = divide(subtract(_number(1.0, start), pow(_number(t_mul, start), times)), 1.0 - t_mul)
            progress = divide(subtract(progress, restarted), pow(_number(t_mul, start), times))
        share = multiply(_half_wave(progress), pow(_number(m_mul, start), times))
        return multiply(start, _above(alpha, share, start), name=scope)

    return _built(rate, name, "SGDRDecay")


def linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    num_periods: float = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Rate:
    """Returns a rate that is the product of a linear decrease and a cosine wave.

    Args:
      learning_rate: the rate at step 0.
      global_step: number of steps.
      decay_steps: number of steps until the end.
      num_periods: number of cosine periods in these steps.
      alpha: number added to the linear factor.
      beta: number added to the product.
    """

    def rate(scope: str | None) -> Any:
        start = _number(learning_rate)
        steps = _number(decay_steps, start)
        step = minimum(_number(global_step, start), steps)
        line = divide(subtract(steps, step), steps)
        wave = _half_wave(multiply(divide(step, steps), 2.0 * num_periods))
        share = add(multiply(add(line, _number(alpha, start)), wave), _number(beta, start))
        return multiply(start, share, name=scope)

    return _built(rate, name, "LinearCosineDecay")


def _built(rate: Callable[[str | None], Any], name: str | None, default: str) -> Rate:
    if building() is None:
        return partial(rate, None)
    with opened(default, name) as scope:
        return rate(scope)


def _number(value: Any, like: Any = None) -> Any:
    """Returns a number as a float tensor, with the dtype of `like` if given."""
    if value is None:
        raise ValueError("None values not supported.")
    dtype = None if like is None else like._dtype
    if isinstance(value, int | float):
        return as_tensor(float(value), dtype)
    tensor = as_tensor(value)
    number_dtype = dtype or (tensor._dtype if tensor._dtype.is_floating else float32)
    return tensor if tensor._dtype is number_dtype else cast(tensor, number_dtype)


def _negative(value: Any, like: Any) -> Any:
    return -value if isinstance(value, int | float) else multiply(_number(value, like), -1.0)


def _times(step: Any, steps: Any, like: Any, staircase: bool) -> Any:
    times = divide(_number(step, like), _number(steps, like))
    return floor(times) if staircase else times


def _half_wave(progress: Any) -> Any:
    return multiply(add(cos(multiply(progress, math.pi)), 1.0), 0.5)


def _above(alpha: Any, share: Any, like: Any) -> Any:
    """Scales a fraction from the range 0 to 1 to the range `alpha` to 1."""
    floor_ = _number(alpha, like)
    return add(multiply(subtract(_number(1.0, like), floor_), share), floor_)
