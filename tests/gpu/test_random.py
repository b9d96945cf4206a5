"""Does a seed produce the same numbers on a GPU as on the CPU? Integers and uniform numbers are bit-identical."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._ops.random import philox
from nbtf._runtime.context import Context, use_context
from tests.fake_cupy.machine import MACHINE

pytestmark = pytest.mark.usefixtures("used")
SEED = [2**31 - 1, -7]
SEVERAL_ROUNDS = 9 * philox.BLOCKS_AT_ONCE  # numbers; the CPU generates them in three pieces


def on_the_cpu(draw: Any) -> Any:
    with use_context(Context(environ={"NBTF_GPU": "off"})):
        return draw().numpy()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_uniform_numbers_are_those_of_the_cpu(dtype: str) -> None:
    def draw() -> Any:
        return tf.random.stateless_uniform([SEVERAL_ROUNDS], SEED, dtype=dtype)

    assert (on_the_cpu(draw) == draw().numpy()).all()


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("bounds", [(-5, 5), (-(2**31), 2**31 - 1), (None, None)])
def test_integers_are_those_of_the_cpu(dtype: str, bounds: tuple[int | None, int | None]) -> None:
    def draw() -> Any:
        return tf.random.stateless_uniform([1000], SEED, *bounds, dtype=dtype)

    assert (on_the_cpu(draw) == draw().numpy()).all()


@pytest.mark.parametrize("function", [tf.random.stateless_normal, tf.random.stateless_truncated_normal])
def test_normal_numbers_are_those_of_the_cpu(function: Any) -> None:
    def draw() -> Any:
        return function([10_000], SEED)

    np.testing.assert_array_almost_equal_nulp(on_the_cpu(draw), draw().numpy())


def test_many_numbers_take_as_many_kernels_as_few(request: pytest.FixtureRequest) -> None:
    if "real" in request.node.name:
        pytest.skip("kernels of a real GPU are not counted")
    kernels: list[int] = []
    for count in (1000, SEVERAL_ROUNDS):
        MACHINE.diary.clear()
        tf.random.stateless_uniform([count], SEED)
        kernels.append(sum(step[0] == "kernel" for step in MACHINE.diary))

    assert kernels[0] == kernels[1] > 0
