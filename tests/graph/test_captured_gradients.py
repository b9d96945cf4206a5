"""Do gradients flow into a `tf.function` through the tensors that it captures, wherever function and tape are?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nbtf as tf

A = [2.0, 3.0]


def as_written(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def derivative(inner_wrap: Any, outer_wrap: Any, is_argument: bool, through_twice: bool) -> list[float]:
    variable = tf.Variable(A)

    def outer() -> Any:
        with tf.GradientTape() as tape:
            product = variable * 2.0
            inner = inner_wrap((lambda x: x * product) if is_argument else (lambda: product * product))
            result = inner(product) if is_argument else inner()
            total = tf.reduce_sum(result * inner(product) if is_argument and through_twice else result)
        return tape.gradient(total, variable)

    return outer_wrap(outer)().numpy().tolist()


@pytest.mark.parametrize("is_argument", [False, True])
@pytest.mark.parametrize("through_twice", [False, True])
@pytest.mark.parametrize("inner_wrap", [as_written, tf.function], ids=["plain inner", "traced inner"])
@pytest.mark.parametrize("outer_wrap", [as_written, tf.function], ids=["plain outer", "traced outer"])
def test_captured_tensors_have_gradients(
    inner_wrap: Any, outer_wrap: Any, is_argument: bool, through_twice: bool
) -> None:
    power, factor = (4, 16) if is_argument and through_twice else (2, 4)

    assert [factor * power * a ** (power - 1) for a in A] == derivative(
        inner_wrap, outer_wrap, is_argument, through_twice
    )
