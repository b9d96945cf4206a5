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
COLORS = np.array([[[0.75, 0.25, 0.5], [0.125, 0.625, 0.375]]], np.float32)
"""Colours whose channels differ; hue, saturation and value follow, and the colours of the opposite hues."""
HUES = np.array([[[11 / 12, 2 / 3, 0.75], [5 / 12, 0.8, 0.625]]], np.float32)
OPPOSITE = np.array([[[0.25, 0.75, 0.5], [0.625, 0.125, 0.375]]], np.float32)
PALER = np.array([[[0.75, 0.5, 0.625], [0.375, 0.625, 0.5]]], np.float32)
BOX, OF_FIRST = np.array([[1 / 6, 1 / 6, 1.5 / 3, 2.5 / 3]], np.float32), np.array([0], np.int32)
"""A box from pixel 0.5 to 1.5 downwards and from 0.5 to 2.5 across."""
CROP = np.array([[2.5, 4.5], [6.5, 8.5]], np.float32).reshape(1, 2, 2, 1)
SPREAD = np.zeros((1, 4, 4, 1), np.float32)
for row, column, value in ((0, 0, 2.5), (0, 2, 4.5), (1, 0, 6.5), (1, 2, 8.5)):
    SPREAD[0, row : row + 2, column : column + 2, 0] += value / 4


WHITE = bytes.fromhex("424d1e000000000000001a0000000c0000000100010001001800ffffff00")
"""A BMP file of one white pixel."""

SAMPLES = [
    Sample("DecodeImage", tf.io.decode_image, [WHITE], np.full((1, 1, 3), 255, np.uint8)),
    Sample("DecodeImage", tf.io.decode_image, [WHITE, 4, tf.float32], np.ones((1, 1, 4))),
    Sample("CropAndResize", tf.image.crop_and_resize, [SQUARE, BOX, OF_FIRST, [2, 2]], CROP),
    Sample(
        "CropAndResizeGradImage",
        tf.raw_ops.CropAndResizeGradImage,
        [CROP, BOX, OF_FIRST],
        SPREAD,
        {"image_size": [1, 4, 4, 1], "T": tf.float32, "method": "bilinear"},
    ),
    Sample(
        "CropAndResizeGradBoxes",
        tf.raw_ops.CropAndResizeGradBoxes,
        [np.ones_like(CROP), SQUARE, BOX, OF_FIRST],
        np.array([[24.0, 6, 24, 6]]),
        {"method": "bilinear"},
    ),
    Sample(
        "ExtractImagePatches",
        tf.image.extract_patches,
        [SQUARE, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID"],
        np.array([[[[0.0, 1, 4, 5], [2, 3, 6, 7]], [[8, 9, 12, 13], [10, 11, 14, 15]]]]),
        differentiable=[0],
    ),
    Sample("RGBToHSV", tf.image.rgb_to_hsv, [COLORS], HUES, differentiable=[0]),
    Sample("HSVToRGB", tf.image.hsv_to_rgb, [HUES], COLORS),
    Sample("AdjustHue", tf.image.adjust_hue, [COLORS, 0.5], OPPOSITE),
    Sample("AdjustSaturation", tf.image.adjust_saturation, [COLORS, 0.5], PALER),
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
