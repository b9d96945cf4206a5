"""Samples of ops that move blocks of pixels into channels or into the batch."""

from __future__ import annotations

import numpy as np

import nbtf as tf
from tests.ops.samples import Sample

PIXELS = np.arange(2 * 2 * 3 * 8, dtype=np.float32).reshape(2, 2, 3, 8)
WIDE = np.arange(2 * 4 * 6 * 2, dtype=np.float32).reshape(2, 4, 6, 2)


def apart(images: np.ndarray, size: int) -> np.ndarray:
    """The pixels of each block, line by line, as channels of one pixel."""
    places = [images[:, i::size, j::size] for i in range(size) for j in range(size)]
    return np.concatenate(places, -1)


def together(images: np.ndarray, size: int) -> np.ndarray:
    batch, height, width, channels = images.shape
    result = np.zeros((batch, height * size, width * size, channels // size**2), images.dtype)
    for place, part in enumerate(np.split(images, size**2, -1)):
        result[:, place // size :: size, place % size :: size] = part
    return result


def phases(images: np.ndarray, block: list[int], pairs: list[list[int]]) -> np.ndarray:
    """Each phase of the padded images as examples of its own."""
    wide = np.pad(images, [(0, 0), *map(tuple, pairs), (0, 0)])
    return np.concatenate([wide[:, i :: block[0], j :: block[1]] for i in range(block[0]) for j in range(block[1])])


BLOCK, PAIRS = [2, 3], [[1, 1], [0, 3]]

SAMPLES = [
    Sample("DepthToSpace", tf.nn.depth_to_space, [PIXELS, 2], together, differentiable=[0]),
    Sample(
        "DepthToSpace",
        tf.nn.depth_to_space,
        [np.ascontiguousarray(PIXELS.transpose(0, 3, 1, 2)), 2],
        together(PIXELS, 2).transpose(0, 3, 1, 2),
        {"data_format": "NCHW"},
        [0],
    ),
    Sample("SpaceToDepth", tf.nn.space_to_depth, [WIDE, 2], apart, differentiable=[0]),
    Sample("SpaceToBatchND", tf.space_to_batch, [WIDE, BLOCK, PAIRS], phases, differentiable=[0]),
    Sample("BatchToSpaceND", tf.batch_to_space, [phases(WIDE, BLOCK, PAIRS), BLOCK, PAIRS], WIDE, differentiable=[0]),
]
