"""Convolutions laid out in any way and in blocks of any size: values by definition, gradients by the inner product."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._ops.nn import inside, layouts
from nbtf._ops.nn.windows import padded, steps, window

SEEDS = range(60)


@pytest.fixture(params=[(1 << 20, 256, 0.0), (512, 1, 1.0), (4096, 16, 0.75)], ids=["whole", "small", "middling"])
def block_size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layouts, "BLOCK_BYTES", request.param[0])
    monkeypatch.setattr(layouts, "FEWEST_WINDOWS", request.param[1])
    monkeypatch.setattr(inside, "MOST_INSIDE", request.param[2])
    monkeypatch.setattr(inside, "FEWEST_CHANNELS", 1)


def drawn(seed: int) -> tuple[Any, Any, dict[str, Any]]:
    """Images, filters and attributes that fit each other."""
    random = np.random.default_rng(seed)
    size, strides, dilations = (random.integers(1, high, 2) for high in (5, 4, 3))
    groups, depth, per_group = (int(random.choice(numbers)) for numbers in ([1, 1, 2, 3], [1, 2, 5, 17], [1, 2, 9]))
    lengths = random.integers(1, 8, 2) + (size - 1) * dilations
    images = random.standard_normal((int(random.integers(1, 4)), *lengths, groups * depth))
    filters = random.standard_normal((*size, depth, groups * per_group))
    pairs = [[0, 0], *random.integers(0, 3, (2, 2)).tolist(), [0, 0]]
    padding = ["SAME", "VALID", pairs][random.integers(3)]
    return images, filters, {"strides": strides.tolist(), "padding": padding, "dilations": dilations.tolist()}


def by_definition(images: Any, filters: Any, attrs: dict[str, Any]) -> Any:
    w = window(filters.shape[:2], attrs["strides"], attrs["padding"], "NHWC", attrs["dilations"])
    rows, columns = steps(images.shape[1], 0, w), steps(images.shape[2], 1, w)
    wide, groups = padded(np, images, rows, columns), images.shape[3] // filters.shape[2]
    result = np.zeros((len(images), rows.windows, columns.windows, filters.shape[3]))
    for y, x, i, j in np.ndindex(rows.windows, columns.windows, *w.size):
        place = wide[:, y * w.strides[0] + i * w.dilations[0], x * w.strides[1] + j * w.dilations[1]]
        parts = zip(np.split(place, groups, 1), np.split(filters[i, j], groups, 1), strict=True)
        result[:, y, x] += np.concatenate([part @ factors for part, factors in parts], 1)
    return result


@pytest.mark.usefixtures("block_size")
@pytest.mark.parametrize("seed", SEEDS)
def test_a_convolution_is_what_its_definition_says(seed: int) -> None:
    images, filters, attrs = drawn(seed)

    np.testing.assert_allclose(tf.nn.conv2d(images, filters, **attrs), by_definition(images, filters, attrs), atol=1e-9)


@pytest.mark.usefixtures("block_size")
@pytest.mark.parametrize("seed", SEEDS)
def test_both_gradients_are_the_transposes_of_the_convolution(seed: int) -> None:
    images, filters, attrs = drawn(seed)
    x, w = tf.constant(images), tf.constant(filters)
    with tf.GradientTape() as tape:
        tape.watch([x, w])
        y = tf.nn.conv2d(x, w, **attrs)
    grad = np.random.default_rng(seed).standard_normal(tuple(y.shape))
    towards_images, towards_filters = tape.gradient(y, [x, w], tf.constant(grad))
    change = np.random.default_rng(seed + 1).standard_normal(images.shape)
    other = np.random.default_rng(seed + 2).standard_normal(filters.shape)

    # <A change, grad> = <change, A' grad>, for any change of the images and of the filters.
    assert np.sum(by_definition(change, filters, attrs) * grad) == pytest.approx(np.sum(change * towards_images))
    assert np.sum(by_definition(images, other, attrs) * grad) == pytest.approx(np.sum(other * towards_filters))


@pytest.mark.parametrize("seed", SEEDS)
def test_channels_may_stand_in_front(seed: int) -> None:
    images, filters, attrs = drawn(seed)
    padding = attrs["padding"]
    turned = padding if isinstance(padding, str) else [padding[0], padding[3], *padding[1:3]]
    attrs_turned: dict[str, Any] = {**attrs, "padding": turned, "data_format": "NCHW"}
    result = tf.nn.conv2d(images.transpose(0, 3, 1, 2), filters, **attrs_turned)

    np.testing.assert_allclose(
        result, tf.transpose(tf.nn.conv2d(images, filters, **attrs), [0, 3, 1, 2]), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("filters", [(3, 3, 64, 64), (7, 7, 64, 2), (3, 3, 1, 64), (3, 3, 16, 64)], ids=str)
def test_numbers_of_16_bits_are_rounded_once(filters: tuple[int, ...]) -> None:
    random = np.random.default_rng(1)
    images = random.standard_normal((2, 9, 9, 64)).astype(np.float16)
    weights = random.standard_normal(filters).astype(np.float16)
    exact = tf.nn.conv2d(images.astype(np.float64), weights.astype(np.float64), 1, "SAME").numpy()
    result = tf.nn.conv2d(images, weights, 1, "SAME")

    assert result.dtype == tf.float16
    np.testing.assert_allclose(result, exact, rtol=2**-10, atol=1e-4)


CASES = {
    "few filters": ((8, 28, 28, 128), (7, 7, 128, 1), 1),
    "many filters": ((4, 56, 56, 32), (3, 3, 32, 64), 1),
    "strides": ((2, 112, 112, 3), (7, 7, 3, 64), 2),
    "zeros around": ((128, 7, 7, 32), (5, 5, 32, 32), 1),
    "one channel each": ((4, 56, 56, 64), (3, 3, 1, 64), 1),
}


@pytest.mark.parametrize("case", CASES)
def test_a_convolution_and_its_gradients_take_memory_like_their_arrays(case: str) -> None:
    (images, filters, stride) = CASES[case]
    x, w = tf.ones(images), tf.ones(filters)

    def step() -> int:
        with tf.GradientTape() as tape:
            tape.watch([x, w])
            y = tf.nn.conv2d(x, w, stride, "SAME")
        tape.gradient(y, [x, w])
        return 4 * int(tf.size(x) + tf.size(y))

    step()  # what is loaded and kept once
    tracemalloc.start()
    try:
        arrays = step()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak <= 3 * arrays
