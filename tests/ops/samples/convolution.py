"""Samples of convolutions and pooling."""

from __future__ import annotations

import numpy as np

import nbtf as tf
from tests.ops.samples import Sample

IMAGES = np.linspace(-1.0, 2.0, 2 * 5 * 4 * 2, dtype=np.float32).reshape(2, 5, 4, 2) ** 3
FILTERS = np.linspace(-0.5, 1.0, 3 * 2 * 2 * 3, dtype=np.float32).reshape(3, 2, 2, 3)
ONE_EACH = np.linspace(-0.5, 1.0, 3 * 2 * 1 * 4, dtype=np.float32).reshape(3, 2, 1, 4)
WORDS = np.linspace(-1.0, 2.0, 2 * 5 * 3, dtype=np.float32).reshape(2, 5, 3)
KNOWN = np.linspace(-0.5, 1.0, 2 * 3 * 2, dtype=np.float32).reshape(2, 3, 2)
FOUR = np.array([[[[1.0], [9], [3]], [[4], [2], [8]]]], np.float32)
SHUFFLED = np.random.default_rng(1).permutation(80).astype(np.float32).reshape(2, 5, 4, 2)
SMALL = np.linspace(-1.0, 1.0, 2 * 3 * 2 * 3, dtype=np.float32).reshape(2, 3, 2, 3)
OF_POOL = {"ksize": 2, "strides": 2, "padding": "SAME", "data_format": "NHWC"}
OF_CONVOLUTION = {"strides": 2, "padding": "SAME", "data_format": "NHWC", "dilations": None}


def places(length: int, size: int, stride: int, padding: str) -> list[range]:
    """The elements of an axis under each place of a window; SAME may reach over both ends."""
    if padding == "VALID":
        return [range(at, at + size) for at in range(0, length - size + 1, stride)]
    count = -(-length // stride)
    before = max(0, (count - 1) * stride + size - length) // 2
    return [range(at * stride - before, at * stride - before + size) for at in range(count)]


def slid(images: np.ndarray, size: tuple[int, int], stride: int, padding: str, take: object) -> np.ndarray:
    """Gives what lies under each place to a function, element by element."""
    _, height, width, _ = images.shape
    return np.stack(
        [
            np.stack(
                [
                    take(  # type: ignore[operator]
                        {
                            (i, j): images[:, y, x]
                            for i, y in enumerate(rows)
                            for j, x in enumerate(columns)
                            if 0 <= y < height and 0 <= x < width
                        }
                    )
                    for columns in places(width, size[1], stride, padding)
                ],
                axis=1,
            )
            for rows in places(height, size[0], stride, padding)
        ],
        axis=1,
    )


def convolved(images: np.ndarray, filters: np.ndarray, stride: int, padding: str) -> np.ndarray:
    return slid(
        images,
        filters.shape[:2],
        stride,
        padding,
        lambda under: sum(part @ filters[where] for where, part in under.items()),
    )


def grouped(images: np.ndarray, filters: np.ndarray, stride: int, padding: str) -> np.ndarray:
    halves = zip(np.split(images, 2, -1), np.split(filters, 2, -1), strict=True)
    return np.concatenate([convolved(*half, stride, padding) for half in halves], -1)


def largest(images: np.ndarray, size: int, stride: int, padding: str) -> np.ndarray:
    return slid(images, (size, size), stride, padding, lambda under: np.max(list(under.values()), axis=0))


def mean(images: np.ndarray, size: int, stride: int, padding: str) -> np.ndarray:
    return slid(images, (size, size), stride, padding, lambda under: np.mean(list(under.values()), axis=0))


def transposed(images: np.ndarray, filters: np.ndarray, shape: list[int], stride: int) -> np.ndarray:
    """The gradient of the convolution, by its linearity: one image element at a time."""
    result = np.zeros(shape, np.float32)
    for where in np.ndindex(*shape):
        probe = np.zeros(shape, np.float32)
        probe[where] = 1
        result[where] = np.sum(convolved(probe, filters, stride, "SAME") * images)
    return result


def filters_back(images: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """The gradient of the convolution for its filters, by its linearity."""
    result = np.zeros((2, 2, 2, 3), np.float32)
    for where in np.ndindex(*result.shape):
        probe = np.zeros(result.shape, np.float32)
        probe[where] = 1
        result[where] = np.sum(convolved(images, probe, 2, "SAME") * grad)
    return result


def pooled_back(images: np.ndarray, _: np.ndarray, grad: np.ndarray) -> np.ndarray:
    result = np.zeros_like(images)
    largest_of = largest(images, 2, 2, "SAME")
    for n, y, x, c in np.ndindex(*grad.shape):
        (where,) = np.argwhere(images[n, :, :, c] == largest_of[n, y, x, c])  # no element comes twice
        result[n, where[0], where[1], c] += grad[n, y, x, c]
    return result


def pooled_twice(images: np.ndarray, _: np.ndarray, change: np.ndarray) -> np.ndarray:
    largest_of = largest(images, 2, 2, "SAME")
    result = np.zeros_like(largest_of)
    for n, y, x, c in np.ndindex(*largest_of.shape):
        result[n, y, x, c] = change[n, :, :, c][images[n, :, :, c] == largest_of[n, y, x, c]][0]
    return result


POOLED = largest(SHUFFLED, 2, 2, "SAME")
SPREAD = mean(np.ones((2, 5, 4, 2), np.float32), 2, 2, "SAME")

SAMPLES = [
    Sample("Conv2D", tf.nn.conv2d, [IMAGES, FILTERS, 1, "SAME"], convolved, differentiable=[0, 1], tolerance=1e-5),
    Sample("Conv2D", tf.nn.conv2d, [IMAGES, FILTERS, 2, "VALID"], convolved, differentiable=[0, 1], tolerance=1e-5),
    Sample("Conv2D", tf.nn.conv2d, [IMAGES, ONE_EACH, 1, "SAME"], grouped, differentiable=[0, 1], tolerance=1e-5),
    Sample(
        "Conv2D",
        tf.nn.conv2d,
        [np.ascontiguousarray(IMAGES.transpose(0, 3, 1, 2)), FILTERS, [1, 1, 2, 2], "SAME"],
        convolved(IMAGES, FILTERS, 2, "SAME").transpose(0, 3, 1, 2),
        kwargs={"data_format": "NCHW"},
        differentiable=[0, 1],
        tolerance=1e-5,
    ),
    Sample(
        "Conv2D",
        tf.nn.conv1d,
        [WORDS, KNOWN, 1, "VALID"],
        convolved(WORDS[:, None], KNOWN[None], 1, "VALID")[:, 0],
        differentiable=[0, 1],
        tolerance=1e-5,
    ),
    Sample(
        "Conv2DBackpropInput",
        tf.nn.conv2d_transpose,
        [SMALL, FILTERS, [2, 5, 4, 2], 2],
        transposed,
        differentiable=[0, 1],
        tolerance=1e-5,
    ),
    Sample(
        "Conv2DBackpropFilter",
        tf.raw_ops.Conv2DBackpropFilter,
        [IMAGES, SMALL],
        filters_back,
        kwargs={"filter_sizes": [2, 2, 2, 3], **OF_CONVOLUTION},
        differentiable=[0, 1],
        tolerance=1e-5,
    ),
    Sample(
        "MaxPoolWithArgmax",
        tf.nn.max_pool_with_argmax,
        [FOUR, 2, 1, "VALID"],
        [[[[[9.0], [9]]]], [[[[1], [1]]]]],
        differentiable=[0],
    ),
    Sample(
        "MaxPoolGradWithArgmax",
        tf.raw_ops.MaxPoolGradWithArgmax,
        [FOUR, np.full((1, 1, 2, 1), 5, np.float32), np.ones((1, 1, 2, 1), np.int64)],
        np.array([[[[0.0], [10], [0]], [[0], [0], [0]]]]),
        {"ksize": 2, "strides": 1, "padding": "VALID", "include_batch_in_index": False},
    ),
    Sample("MaxPool", tf.nn.max_pool2d, [SHUFFLED, 2, 2, "SAME"], largest, differentiable=[0], tolerance=1e-5),
    Sample("MaxPool", tf.nn.max_pool2d, [SHUFFLED, 3, 1, "VALID"], largest, differentiable=[0], tolerance=1e-5),
    Sample(
        "MaxPool",
        tf.nn.max_pool1d,
        [SHUFFLED[0], 2, 2, "SAME"],
        [[[max(SHUFFLED[0, i, j : j + 2, k]) for k in range(2)] for j in (0, 2)] for i in range(5)],
    ),
    Sample(
        "MaxPoolGrad",
        tf.raw_ops.MaxPoolGrad,
        [SHUFFLED, POOLED, np.cos(POOLED)],
        pooled_back,
        kwargs=OF_POOL,
        differentiable=[2],
    ),
    Sample(
        "MaxPoolGradGrad",
        tf.raw_ops.MaxPoolGradGrad,
        [SHUFFLED, POOLED, IMAGES],
        pooled_twice,
        kwargs=OF_POOL,
        differentiable=[2],
    ),
    Sample("AvgPool", tf.nn.avg_pool2d, [IMAGES, 2, 2, "SAME"], mean, differentiable=[0], tolerance=1e-5),
    Sample("AvgPool", tf.nn.avg_pool2d, [IMAGES, 3, 1, "SAME"], mean, differentiable=[0], tolerance=1e-5),
    Sample(
        "AvgPoolGrad",
        tf.raw_ops.AvgPoolGrad,
        [SPREAD],
        np.where(np.arange(5)[None, :, None, None] == 4, 0.5, 0.25) * np.ones((2, 5, 4, 2), np.float32),
        kwargs={"orig_input_shape": [2, 5, 4, 2], **OF_POOL},
        differentiable=[0],
    ),
]
