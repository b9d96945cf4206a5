"""Converts images to arrays and back; requires Pillow, which nbtf does not install."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import numpy as np

from nbtf._runtime.arguments import unexpected
from nbtf._storage import files
from nbtf._storage.reading import open_bytes
from nbtf.keras.dtypes import floatx

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


def img_to_array(img: Any, data_format: str | None = None, dtype: Any = None) -> Array:
    """Returns an image as an array of shape `(height, width, channels)`.

    Args:
      img: a Pillow image or an array.
      data_format: `"channels_first"` to put the channels first.
      dtype: dtype of the array; `floatx()` by default.

    Raises:
      ValueError: if the image has another number of axes.
    """
    values: Array = np.asarray(img, dtype=dtype or floatx())
    if values.ndim == 2:
        values = values[:, :, None]
    if values.ndim != 3:
        raise ValueError(f"Unsupported image shape: {values.shape}")
    return values.transpose(2, 0, 1) if data_format == "channels_first" else values


def load_img(
    path: Any, color_mode: str = "rgb", target_size: tuple[int, int] | None = None, interpolation: str = "nearest"
) -> Any:
    """Returns the image in a file.

    Args:
      path: path of the file.
      color_mode: `"rgb"`, `"rgba"` or `"grayscale"`.
      target_size: height and width to which the image is resized; its own by default.
      interpolation: `"nearest"`, `"bilinear"` or `"bicubic"`.

    Raises:
      FileNotFoundError: if the file does not exist.
      OSError: if `path` is not a regular file, such as a FIFO or a device.
      ImportError: if Pillow is not installed.
    """
    image = _pillow()
    if not isinstance(path, str | bytes | os.PathLike) and not hasattr(path, "read"):
        raise unexpected(path, "path", "the path of a file")
    with contextlib.ExitStack() as stack:
        file: Any = path  # pyright: ignore[reportUnknownVariableType]
        if not hasattr(file, "read"):
            file = stack.enter_context(open_bytes(os.fsdecode(file)))
        opened = stack.enter_context(image.open(file))
        picture = opened.convert({"grayscale": "L", "rgba": "RGBA"}.get(color_mode, "RGB"))
    if target_size is None:
        return picture
    return picture.resize((target_size[1], target_size[0]), getattr(image.Resampling, interpolation.upper()))


def save_img(
    path: Any, x: Any, data_format: str | None = None, file_format: str | None = None, scale: bool = True
) -> None:
    """Saves an array as an image.

    Args:
      path: path of the file, or an open file.
      x: array of the image, as in `array_to_img`.
      data_format: as in `array_to_img`.
      file_format: Pillow's name of the format; by default the one for the file extension.
      scale: as in `array_to_img`.

    Raises:
      ImportError: if Pillow is not installed.
      ValueError: if no format has this file extension.
    """
    picture = array_to_img(x, data_format, scale)
    if not isinstance(path, str | os.PathLike):
        picture.save(path, format=file_format)
        return
    if file_format is None:
        ending = Path(os.fspath(path)).suffix.lower()  # pyright: ignore[reportUnknownArgumentType]
        file_format = _pillow().registered_extensions().get(ending)
        if file_format is None:
            raise ValueError(f"unknown file extension: {ending}")
    with files.open_draft(path) as stream:  # pyright: ignore[reportUnknownArgumentType]
        picture.save(stream, format=file_format)
