"""Converts images to arrays and back; requires Pillow, which nbtf does not install."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def _pillow() -> Any:
    try:
        from PIL import Image  # pyright: ignore[reportMissingImports, reportUnknownVariableType]
    except ImportError:
        raise ImportError("Could not import PIL.Image. Pictures need Pillow, which is not installed.") from None
    return Image  # pyright: ignore[reportUnknownVariableType]


def array_to_img(x: Any, data_format: str | None = None, scale: bool = True, dtype: Any = None) -> Any:
    """Returns an array as a Pillow image.

    Args:
      x: array of shape `(height, width, channels)` with 1, 3 or 4 channels.
      data_format: `"channels_first"` if the channels come first.
      scale: whether to scale the values, so that the smallest is black and the largest white; true by default.
      dtype: ignored.

    Raises:
      ImportError: if Pillow is not installed.
      ValueError: if the array has another shape.
    """
    image = _pillow()
    values: Array = np.asarray(x, dtype=np.float32)
    if values.ndim != 3:
        raise ValueError(
            "Expected image array to have rank 3 (single image). "
            f"Got array with shape: {tuple(int(length) for length in values.shape)}"
        )
    if data_format == "channels_first":
        values = values.transpose(1, 2, 0)
    if scale:
        values = values - values.min()
        largest = values.max()
        values = (values / largest if largest else values) * 255
    modes = {1: "L", 3: "RGB", 4: "RGBA"}
    if values.shape[2] not in modes:
        raise ValueError(f"Unsupported channel number: {values.shape[2]}")
    pixels = values.astype(np.uint8)
    return image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels, modes[pixels.shape[2]])
