"""Learning rates that depend on the number of steps, as tensors.

Source of the formulas: the docstrings of keras/optimizers/schedules/learning_rate_schedule.py of TensorFlow 2.21.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from nbtf._ops.math.arithmetic import add, cast, multiply, subtract
from nbtf._ops.math.comparison import less_equal, where
from nbtf._ops.math.division import divide
from nbtf._ops.math.exponentials import pow
from nbtf._ops.math.magnitude import maximum, minimum
from nbtf._ops.math.rounding import ceil, floor
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
        times = divide(_number(global_step, start), _number(decay_steps, start))
        times = floor(times) if staircase else times
        return multiply(start, pow(_number(decay_rate, start), times), name=scope)

    return _built(rate, name, "ExponentialDecay")


def piecewise_constant(x: Any, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None) -> Rate:
    """Returns the first of `values` up to the first boundary, the second up to the second, and so on.

    Args:
      x: number of steps.
      boundaries: numbers of steps, in ascending order.
      values: the rates, one more than boundaries.

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
            steps = multiply(steps, maximum(ceil(divide(step, steps)), 1.0))
        else:
            step = minimum(step, steps)
        remaining = pow(subtract(_number(1.0, start), divide(step, steps)), _number(power, start))
        return add(multiply(subtract(start, end), remaining), end, name=scope)

    return _built(rate, name, "PolynomialDecay")


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
