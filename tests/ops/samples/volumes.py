"""Samples of convolutions and pooling of volumes, and of convolutions per channel."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

import nbtf as tf
from tests.ops.samples import Sample
from tests.ops.samples.convolution import IMAGES, grouped, places

RANDOM = np.random.default_rng(2)
VOLUMES = RANDOM.permutation(2 * 4 * 3 * 5 * 2).astype(np.float32).reshape(2, 4, 3, 5, 2) / 60
FILTERS = RANDOM.standard_normal((2, 3, 2, 2, 3)).astype(np.float32)
POOLED_SHAPE = 2, 2, 2, 3, 2
OF_POOL = {"ksize": 2, "strides": 2, "padding": "SAME"}
PER_CHANNEL = RANDOM.standard_normal((3, 2, 2, 2)).astype(np.float32)
MIXING = RANDOM.standard_normal((1, 1, 4, 3)).astype(np.float32)
SMALL = RANDOM.standard_normal((2, 3, 2, 4)).astype(np.float32)


def at(array: Any, n: tuple[int, ...]) -> Any:
    """The numbers of all volumes at a position; None outside."""
    return array[:, *n] if all(0 <= i < length for i, length in zip(n, array.shape[1:4], strict=True)) else None


def slid(volumes: Any, size: Any, strides: Any, padding: str, take: Any) -> Any:
    """Gives what lies under each place to a function: pairs of a window element and the numbers there."""
    lengths = zip(volumes.shape[1:4], size, strides, strict=True)
    axes = [places(n, taps, stride, padding) for n, taps, stride in lengths]
    rows = []
    for windows in product(*axes):
        positions = product(*windows)
        under = zip(product(*map(range, size)), (at(volumes, n) for n in positions), strict=True)
        rows.append(take([(where, numbers) for where, numbers in under if numbers is not None]))
    return np.stack(rows, 1).reshape(len(volumes), *map(len, axes), -1)


def convolved(volumes: Any, filters: Any, strides: list[int], padding: str) -> Any:
    def take(under: Any) -> Any:
        return sum(numbers @ filters[where] for where, numbers in under)

    return slid(volumes, filters.shape[:3], tuple(strides[1:4]), padding, take)


def largest(volumes: Any, *_: Any) -> Any:
    return slid(volumes, (2, 2, 2), (2, 2, 2), "SAME", lambda under: np.max([part for _, part in under], 0))


def mean(volumes: Any, *_: Any) -> Any:
    return slid(volumes, (2, 2, 2), (2, 2, 2), "SAME", lambda under: np.mean([part for _, part in under], 0))


def adjoint(function: Any, shape: tuple[int, ...], weights: Any) -> Any:
    """The gradient of a linear function for its argument: one element at a time."""
    result = np.zeros(shape, np.float32)
    for where in np.ndindex(*shape):
        probe = np.zeros(shape, np.float32)
        probe[where] = 1
        result[where] = np.sum(function(probe) * weights)
    return result


def largest_back(volumes: Any, pooled: Any, grad: Any, *_: Any) -> Any:
    """No number comes twice, so the position of each maximum is known."""
    result = np.zeros_like(volumes)
    for n, d, y, x, c in np.ndindex(*pooled.shape):
        (where,) = np.argwhere(volumes[n, ..., c] == pooled[n, d, y, x, c])
        result[n, *where, c] += grad[n, d, y, x, c]
    return result


def largest_twice(volumes: Any, pooled: Any, change: Any, *_: Any) -> Any:
    result = np.zeros_like(pooled)
    for n, d, y, x, c in np.ndindex(*pooled.shape):
        result[n, d, y, x, c] = change[n, ..., c][volumes[n, ..., c] == pooled[n, d, y, x, c]][0]
    return result


def per_channel(images: Any, filters: Any, strides: Any, padding: str) -> Any:
    height, width, channels, multiplier = filters.shape
    return grouped(images, filters.reshape(height, width, 1, channels * multiplier), strides[1], padding)


POOLED = largest(VOLUMES)
BACK = RANDOM.standard_normal((2, 2, 2, 3, 3)).astype(np.float32)
PLANES = RANDOM.standard_normal((2, 2, 2, 3, 2)).astype(np.float32)
TWICE = [1, 2, 2, 2, 1]

SAMPLES = [
    Sample("Conv3D", tf.nn.conv3d, [VOLUMES, FILTERS, TWICE, "SAME"], convolved, {}, [0, 1], 1e-5),
    Sample("Conv3D", tf.nn.conv3d, [VOLUMES, FILTERS, [1, 1, 1, 2, 1], "VALID"], convolved, {}, [0, 1], 1e-5),
    Sample(
        "Conv3D",
        tf.nn.conv3d,
        [np.ascontiguousarray(VOLUMES.transpose(0, 4, 1, 2, 3)), FILTERS, [1, 1, 2, 2, 2], "SAME"],
        convolved(VOLUMES, FILTERS, TWICE, "SAME").transpose(0, 4, 1, 2, 3),
        {"data_format": "NCDHW"},
        [0, 1],
        1e-5,
    ),
    Sample(
        "Conv3DBackpropInputV2",
        tf.nn.conv3d_transpose,
        [BACK, FILTERS, VOLUMES.shape, 2],
        adjoint(lambda volumes: convolved(volumes, FILTERS, TWICE, "SAME"), VOLUMES.shape, BACK),
        {},
        [0, 1],
        1e-5,
    ),
    Sample(
        "Conv3DBackpropFilterV2",
        tf.raw_ops.Conv3DBackpropFilterV2,
        [VOLUMES, BACK, FILTERS.shape, TWICE, "SAME"],
        adjoint(lambda filters: convolved(VOLUMES, filters, TWICE, "SAME"), FILTERS.shape, BACK),
        {},
        [0, 1],
        1e-5,
    ),
    Sample("MaxPool3D", tf.nn.max_pool3d, [VOLUMES, 2, 2, "SAME"], largest, differentiable=[0]),
    Sample("MaxPool3D", tf.nn.pool, [VOLUMES, [2, 2, 2], "MAX", [2, 2, 2], "SAME"], largest, differentiable=[0]),
    Sample("MaxPool3DGrad", tf.raw_ops.MaxPool3DGrad, [VOLUMES, POOLED, PLANES], largest_back, OF_POOL, [2]),
    Sample("MaxPool3DGradGrad", tf.raw_ops.MaxPool3DGradGrad, [VOLUMES, POOLED, VOLUMES], largest_twice, OF_POOL, [2]),
    Sample("AvgPool3D", tf.nn.avg_pool3d, [VOLUMES, 2, 2, "SAME"], mean, {}, [0], 1e-5),
    Sample(
        "AvgPool3DGrad",
        tf.raw_ops.AvgPool3DGrad,
        [PLANES, VOLUMES.shape],
        adjoint(mean, VOLUMES.shape, PLANES),
        OF_POOL,
        [0],
        1e-5,
    ),
    Sample(
        "DepthwiseConv2dNative",
        tf.nn.depthwise_conv2d,
        [IMAGES, PER_CHANNEL, [1, 2, 2, 1], "SAME"],
        per_channel,
        {},
        [0, 1],
        1e-5,
    ),
    Sample(
        "DepthwiseConv2dNative",
        tf.nn.separable_conv2d,
        [IMAGES, PER_CHANNEL, MIXING, [1, 2, 2, 1], "SAME"],
        per_channel(IMAGES, PER_CHANNEL, [1, 2, 2, 1], "SAME") @ MIXING[0, 0],
        {},
        [0, 1, 2],
        1e-5,
    ),
    Sample(
        "DepthwiseConv2dNativeBackpropInput",
        tf.raw_ops.DepthwiseConv2dNativeBackpropInput,
        [PER_CHANNEL, SMALL, IMAGES.shape, [1, 2, 2, 1], "SAME"],
        adjoint(lambda images: per_channel(images, PER_CHANNEL, [1, 2], "SAME"), IMAGES.shape, SMALL),
        {},
        [0, 1],
        1e-5,
    ),
    Sample(
        "DepthwiseConv2dNativeBackpropFilter",
        tf.raw_ops.DepthwiseConv2dNativeBackpropFilter,
        [IMAGES, SMALL, PER_CHANNEL.shape, [1, 2, 2, 1], "SAME"],
        adjoint(lambda filters: per_channel(IMAGES, filters, [1, 2], "SAME"), PER_CHANNEL.shape, SMALL),
        {},
        [0, 1],
        1e-5,
    ),
]
