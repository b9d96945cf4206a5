"""Decodes image files with the Pillow library, which is loaded on first use. Everything runs on the CPU."""

from __future__ import annotations

from importlib import import_module
from io import BytesIO
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.image.values import convert_image_dtype
from nbtf._ops.op import no_gradient, op
from nbtf._ops.specs import Dims, bracketed
from nbtf._runtime.arguments import check_whole
from nbtf._runtime.tensor import Tensor
from nbtf._types import DType, DTypeLike, TensorLike, as_dtype, float32, uint8, uint16
from nbtf.errors import InvalidArgumentError, UnimplementedError

DECODED = frozenset({uint8, uint16, float32})
"""The dtypes of decoded images; others are converted."""

_SIGNATURES = {b"\x89PNG\r\n\x1a\n": "PNG", b"\xff\xd8\xff": "JPEG", b"GIF8": "GIF", b"BM": "BMP"}
"""The first bytes of files. Source: the formats' specifications."""

_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
_OWN_MODES = {"1": "L", "L": "L", "LA": "LA", "I;16": "I;16", "RGBA": "RGBA"}
"""Pillow's modes of pixels by their number of channels, and for those of a file if no number is asked for."""

_CHANNELS = {"JPEG": (0, 1, 3), "PNG": (0, 1, 3, 4), "GIF": (0, 3), "BMP": (0, 3, 4)}


def _as_decoded(value: Any) -> DType:
    dtype = as_dtype(value)
    if dtype not in DECODED:
        raise InvalidArgumentError(
            f"Value for attr 'dtype' of {dtype.c_name} is not in the list of allowed values: uint8, uint16, float"
        )
    return dtype


def _decoded_partly(contents: Any, channels: int, dtype: Any, expand_animations: bool) -> Dims:
    return None if expand_animations else (None, None, channels or None)


@op(
    "string -> dtype",
    plain={"dtype": _as_decoded, "channels": int},
    data_dependent=True,
    cpu_only=True,
    partly=_decoded_partly,
)
def DecodeImage(xp: Any, contents: Any, channels: int, dtype: DType, expand_animations: bool) -> Any:
    if contents.ndim:
        raise InvalidArgumentError(f"`contents` must be scalar but got shape{bracketed(contents.shape)}")
    _check_channels(channels)
    content = bytes(contents[()])
    file_format = _format_of(content)
    if channels not in _CHANNELS[file_format]:
        allowed = ", ".join(map(str, _CHANNELS[file_format]))
        raise InvalidArgumentError(f"`channels` must be one of {allowed} for {file_format}, but got {channels}")
    if (
        file_format == "PNG"
        and content[24:25] == b"\x10"
        and content[25:26] not in (b"\0", b"\4")
        and dtype is not uint8
    ):
        raise UnimplementedError("Pillow reads colours of 16 bits with 8 bits only: decode the image as uint8.")
    library = _pillow()
    try:
        with library.open(BytesIO(content), formats=[file_format]) as image:
            pixels = (
                _frames(xp, image, expand_animations)
                if file_format == "GIF"
                else _pixels(xp, image, file_format, channels)
            )
    except UnimplementedError:
        raise
    except Exception as error:  # Pillow raises errors of many classes for damaged files
        raise InvalidArgumentError(f"Invalid {file_format} data, size {len(content)}: {error}") from None
    return _scaled(xp, pixels, file_format, dtype)


def _check_channels(channels: int) -> None:
    if channels not in (0, 1, 3, 4):
        raise InvalidArgumentError(f"`channels` must be 0, 1, 3 or 4 but got {channels}")


def _format_of(content: bytes) -> str:
    if not content:
        raise InvalidArgumentError("Input is empty.")
    for signature, file_format in _SIGNATURES.items():
        if content.startswith(signature):
            return file_format
    raise InvalidArgumentError("Unknown image file format. One of JPEG, PNG, GIF, BMP required.")


def _pillow() -> Any:
    try:
        return import_module("PIL.Image")
    except ImportError:
        raise UnimplementedError("Decoding images requires the Pillow library: pip install pillow") from None


def _pixels(xp: Any, image: Any, file_format: str, channels: int) -> Any:
    """Returns the pixels of an image, shape `[height, width, channels]`, uint8 or uint16."""
    if file_format == "JPEG" and channels == 1:
        image.draft("L", image.size)  # the brightness is stored; a conversion would round
    if file_format == "BMP" and (image.mode == "P" or (image.info.get("compression") == 3 and channels != 3)):
        raise UnimplementedError("Pillow does not decode BMP files with a palette or with alpha as TensorFlow does.")
    if image.mode == "CMYK" and channels == 1:
        raise UnimplementedError("nbtf decodes JPEG files of four inks as colours only: channels=3.")
    if image.mode == "I;16":
        grey = xp.asarray(image).astype(xp.uint16)[..., None]
        opaque = [xp.full_like(grey, 0xFFFF)] if channels == 4 else []
        return xp.concatenate([grey] * min(max(channels, 1), 3) + opaque, -1)
    with_alpha = image.mode == "P" and "transparency" in image.info
    own_mode = "RGBA" if with_alpha else _OWN_MODES.get(image.mode, "RGB")
    array = xp.asarray(image.convert(_MODES.get(channels, own_mode)))
    return array if array.ndim == 3 else array[..., None]


def _frames(xp: Any, image: Any, all_frames: bool) -> Any:
    """Returns the frames of an animation, shape `[frames, height, width, 3]`, or the pixels of the first."""
    frames: list[Any] = []
    for number in range(image.n_frames if all_frames else 1):
        image.seek(number)
        frames.append(xp.asarray(image.convert("RGB")))
    return xp.stack(frames) if all_frames else frames[0]


def _scaled(xp: Any, pixels: Any, file_format: str, dtype: DType) -> Any:
    """Returns pixels in the range of a dtype; as in TensorFlow, only PNG uses the whole range of uint16."""
    largest = 0xFF if pixels.dtype == xp.uint8 else 0xFFFF
    if dtype is float32:
        return pixels.astype(xp.float32) / xp.float32(largest)
    if dtype is uint8:
        return pixels if largest == 0xFF else (pixels >> 8).astype(xp.uint8)
    return pixels.astype(xp.uint16) * xp.uint16(1 if largest == 0xFFFF else 257 if file_format == "PNG" else 256)


@DecodeImage.infer
def _(contents: Spec, channels: int, dtype: DType, expand_animations: bool) -> Spec | None:
    if contents.shape:
        raise InvalidArgumentError(f"`contents` must be scalar but got shape{bracketed(contents.shape)}")
    _check_channels(channels)
    return None if expand_animations else Spec((None, None, channels or None), dtype)


no_gradient(DecodeImage)


def decode_image(
    contents: TensorLike,
    channels: int | None = None,
    dtype: DTypeLike = uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """Returns the pixels of a JPEG, PNG, GIF or BMP file, decoded by the Pillow library.

    Args:
      contents: the bytes of a file, a scalar string.
      channels: 1 for shades of grey, 3 for colours, or 4 for colours with alpha; those of the file by default. JPEG has
        no alpha, GIF always has 3 channels, and BMP cannot be converted to 1.
      dtype: the dtype: uint8 (default), or another integer or floating-point dtype, whose range the values fill.
      expand_animations: whether a GIF gives all its frames; True by default. Otherwise its first frame.

    Returns:
      The pixels, shape `[height, width, channels]`, or for a GIF `[frames, height, width, 3]`. For JPEG files,
      TensorFlow uses a less precise cosine transform, so values of 0 to 255 may differ by up to 3; shades of grey made
      from the colours of PNG files by 1.

    Raises:
      AttributeError: if `dtype` is neither an integer nor a floating-point dtype.
      InvalidArgumentError: if `contents` is not a scalar or not a valid file, or `channels` does not fit its format.
      UnimplementedError: if Pillow is not installed, or cannot decode the file with all its bits.

    >>> white = bytes.fromhex("424d1e000000000000001a0000000c0000000100010001001800ffffff00")
    >>> tf.io.decode_image(white).numpy().tolist()
    [[[255, 255, 255]]]
    """
    result_dtype = as_dtype(dtype)
    if not result_dtype.is_floating and not result_dtype.is_integer:
        raise AttributeError("dtype must be either floating point or integer")
    image = DecodeImage(
        contents,
        channels=0 if channels is None else check_whole(channels, "channels"),
        dtype=result_dtype if result_dtype in DECODED else uint16,
        expand_animations=bool(expand_animations),
        name=name,
    )
    return image if image.dtype is result_dtype else convert_image_dtype(image, result_dtype)
