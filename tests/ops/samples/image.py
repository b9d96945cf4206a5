"""What functions of images are tried on."""

from __future__ import annotations

import numpy as np

import nbtf as tf
from tests.ops.samples import Sample

PICTURE = np.array([[[1.0, 2.0], [3.0, 6.0]]], np.float32)

SQUARE = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
HALVED = np.array([[2.5, 4.5], [10.5, 12.5]], np.float32).reshape(1, 2, 2, 1)
NEAREST = np.array([[5.0, 7.0], [13.0, 15.0]], np.float32).reshape(1, 2, 2, 1)

TURNED = np.rot90(SQUARE, 1, (1, 2))
QUARTER_TURN = np.array([[0, -1, 3, 1, 0, 0, 0, 0]], np.float32)
"""A projective transformation that turns an image of four by four pixels by 90 degrees."""


SAMPLES = [
    Sample("AdjustContrastv2", tf.image.adjust_contrast, [PICTURE, 0.5], np.array([[[1.5, 3.0], [2.5, 5.0]]])),
    Sample(
        "AdjustContrastv2",
        tf.image.adjust_contrast,
        [np.array([[[0], [255]]], np.uint8), 2.0],
        np.array([[[0], [255]]]),
    ),
    Sample(
        "ImageProjectiveTransformV3",
        tf.raw_ops.ImageProjectiveTransformV3,
        [SQUARE, QUARTER_TURN],
        TURNED,
        {"output_shape": [4, 4], "fill_value": 0.0, "interpolation": "BILINEAR"},
    ),
    Sample("ResizeBilinear", tf.image.resize, [SQUARE, [2, 2]], HALVED, tolerance=1e-5),
    Sample("ResizeNearestNeighbor", tf.image.resize, [SQUARE, [2, 2], "nearest"], NEAREST, differentiable=[0]),
    Sample("ResizeBicubic", tf.image.resize, [SQUARE, [4, 4], "bicubic"], SQUARE, tolerance=1e-5),
    Sample("ResizeArea", tf.image.resize, [SQUARE, [2, 2], "area"], HALVED),
    Sample("ScaleAndTranslate", tf.image.resize, [SQUARE, [4, 4], "lanczos3"], SQUARE, tolerance=1e-5),
    Sample("ResizeBilinearGrad", tf.raw_ops.ResizeBilinearGrad, [SQUARE, SQUARE], SQUARE),
    Sample("ResizeBicubicGrad", tf.raw_ops.ResizeBicubicGrad, [SQUARE, SQUARE], SQUARE),
    Sample("ResizeNearestNeighborGrad", tf.raw_ops.ResizeNearestNeighborGrad, [SQUARE], SQUARE, {"size": [4, 4]}),
    Sample(
        "ScaleAndTranslateGrad",
        tf.raw_ops.ScaleAndTranslateGrad,
        [SQUARE, SQUARE],
        SQUARE,
        {"scale": [1.0, 1.0], "translation": [0.0, 0.0]},
        tolerance=1e-5,
    ),
]
