"""What functions of images are tried on."""

from __future__ import annotations

import numpy as np

import nbtf as tf
from tests.ops.samples import Sample

PICTURE = np.array([[[1.0, 2.0], [3.0, 6.0]]], np.float32)

SAMPLES = [
    Sample("AdjustContrastv2", tf.image.adjust_contrast, [PICTURE, 0.5], np.array([[[1.5, 3.0], [2.5, 5.0]]])),
    Sample(
        "AdjustContrastv2",
        tf.image.adjust_contrast,
        [np.array([[[0], [255]]], np.uint8), 2.0],
        np.array([[[0], [255]]]),
    ),
]
