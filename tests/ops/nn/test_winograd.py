"""Does a convolution by fewer products compute what one by windows does?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._ops.nn import winograd


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(winograd, "FEWEST", 1)
    monkeypatch.setattr(winograd, "FEWEST_PLACES", 1)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    calls: list[Any] = []
    convolve = winograd.convolve
    monkeypatch.setattr(winograd, "convolve", lambda *args: calls.append(args) or convolve(*args))
    return calls


def all_ways(images: Any, filters: Any, padding: str, data_format: str = "NHWC") -> list[np.ndarray]:
    x, k = tf.constant(images), tf.constant(filters)
    with tf.GradientTape() as outer:
        outer.watch([x, k])
        with tf.GradientTape() as tape:
            tape.watch([x, k])
            y = tf.nn.conv2d(x, k, 1, padding, data_format)
            total = tf.reduce_sum(y * y)
        slopes = tape.gradient(total, [x, k])
        squares = tf.reduce_sum(slopes[0] * slopes[0])
    return [tensor.numpy() for tensor in (y, *slopes, *outer.gradient(squares, [x, k]))]


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("lengths", [(8, 8), (7, 9), (4, 5), (5, 4), (3, 3), (40, 31)])
def test_results_and_gradients_are_those_of_windows(
    lengths: tuple[int, int], padding: str, calls: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    images, filters = drawn(3, *lengths, 5), drawn(3, 3, 5, 4, seed=1)
    actual = all_ways(images, filters, padding)
    monkeypatch.setattr(winograd, "serves", lambda *args: False)

    for left, right in zip(actual, all_ways(images, filters, padding), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-5 * np.abs(right).max())
    assert calls


def test_channels_may_come_first(calls: list[Any]) -> None:
    images, filters = drawn(2, 6, 7, 5), drawn(3, 3, 5, 4, seed=1)
    expected = all_ways(images, filters, "SAME")[0]

    actual = all_ways(images.transpose(0, 3, 1, 2), filters, "SAME", "NCHW")[0]

    np.testing.assert_array_equal(actual.transpose(0, 2, 3, 1), expected)
    assert calls


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_stays_under_its_windows(value: float) -> None:
    images = drawn(1, 8, 8, 3)
    images[0, 2, 2, 0] = value

    result = tf.nn.conv2d(images, drawn(3, 3, 3, 2), 1, "SAME").numpy()

    where = np.isfinite(result).all((0, 3))
    assert (np.argwhere(~where).min(0).tolist(), np.argwhere(~where).max(0).tolist()) == ([1, 1], [3, 3])


@pytest.mark.parametrize("options", [{"strides": 2}, {"strides": 1, "dilations": 2}])
def test_other_windows_are_laid_out(options: Any, calls: list[Any]) -> None:
    tf.nn.conv2d(drawn(1, 8, 8, 3), drawn(3, 3, 3, 2), padding="SAME", **options)

    assert calls == []


def test_whole_numbers_stay_whole() -> None:
    images, filters = tf.ones((1, 6, 6, 4)), tf.ones((3, 3, 4, 2))

    assert set(tf.nn.conv2d(images, filters, 1, "VALID").numpy().ravel().tolist()) == {36.0}
