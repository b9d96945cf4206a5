"""Image files have the pixels that were written into them, in each dtype, and damaged files raise clear errors."""

from __future__ import annotations

import sys
from importlib import import_module
from io import BytesIO
from typing import Any

import numpy as np
import pytest

import nbtf as tf

Image: Any = pytest.importorskip("PIL.Image", reason="needs Pillow, which Matplotlib brings")
RANDOM = np.random.default_rng(0)
GREY = RANDOM.integers(0, 256, (13, 17), np.uint8)
COLOURS = RANDOM.integers(0, 256, (13, 17, 3), np.uint8)
ALPHA = RANDOM.integers(0, 256, (13, 17, 4), np.uint8)
DEEP = RANDOM.integers(0, 65536, (13, 17), np.uint16)
SMOOTH = np.stack(np.broadcast_arrays(*np.ogrid[0:208:16, 0:255:15], 90), -1).astype(np.uint8)


def encoded(pixels: Any, kind: str, **options: Any) -> bytes:
    file = BytesIO()
    Image.fromarray(pixels).save(file, kind, **options)
    return file.getvalue()


@pytest.mark.parametrize("pixels", [GREY, COLOURS, ALPHA], ids=["grey", "colours", "alpha"])
def test_png_and_bmp_files_keep_each_pixel(pixels: Any) -> None:
    shaped = pixels if pixels.ndim == 3 else pixels[..., None]
    file = encoded(pixels, "PNG")

    np.testing.assert_array_equal(tf.io.decode_image(file), shaped)
    np.testing.assert_array_equal(tf.image.decode_image(file, dtype=tf.uint16), shaped.astype(np.uint16) * 257)
    np.testing.assert_allclose(tf.io.decode_image(file, dtype=tf.float32), shaped / 255, atol=1e-6)
    np.testing.assert_allclose(tf.io.decode_image(file, dtype=tf.float64), shaped / 255, atol=1e-9)
    if pixels.shape[-1] != 4:
        np.testing.assert_array_equal(tf.io.decode_image(encoded(pixels, "BMP")), shaped)


def test_channels_are_converted() -> None:
    assert tf.io.decode_image(encoded(COLOURS, "PNG"), channels=1).shape == [13, 17, 1]
    np.testing.assert_array_equal(tf.io.decode_image(encoded(GREY, "PNG"), channels=3), np.stack([GREY] * 3, -1))
    np.testing.assert_array_equal(tf.io.decode_image(encoded(ALPHA, "PNG"), channels=3), ALPHA[..., :3])
    np.testing.assert_array_equal(
        tf.io.decode_image(encoded(COLOURS, "PNG"), channels=4)[..., 3], np.full((13, 17), 255)
    )
    for channels in (1, 3, 4):
        deep = tf.io.decode_image(encoded(DEEP, "PNG"), channels=channels, dtype=tf.uint16)
        np.testing.assert_array_equal(deep[..., 0], DEEP)
        assert deep.shape == [13, 17, channels]
    np.testing.assert_array_equal(tf.io.decode_image(encoded(DEEP, "PNG"))[..., 0], DEEP >> 8)


def test_jpeg_files_are_close_to_what_was_written() -> None:
    file = encoded(SMOOTH, "JPEG", quality=95)

    assert abs(tf.io.decode_image(file).numpy().astype(int) - SMOOTH).max() < 12
    assert tf.io.decode_image(file, channels=1).shape == [13, 17, 1]
    np.testing.assert_array_equal(
        tf.io.decode_image(file, dtype=tf.uint16), tf.io.decode_image(file).numpy().astype(np.uint16) * 256
    )


def test_gif_files_have_frames() -> None:
    frames = [Image.fromarray(np.roll(SMOOTH, turn, 1)).quantize() for turn in range(3)]
    file = BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:])

    animation = tf.io.decode_image(file.getvalue())
    first = tf.io.decode_image(file.getvalue(), expand_animations=False)

    assert animation.shape == [3, 13, 17, 3]
    np.testing.assert_array_equal(first, animation[0])


def test_a_traced_function_decodes_files_of_any_size() -> None:
    traced = tf.function(
        lambda content: tf.io.decode_image(content, 3, expand_animations=False),
        input_signature=[tf.TensorSpec([], tf.string)],
    )

    assert traced.get_concrete_function().structured_outputs.shape.as_list() == [None, None, 3]
    np.testing.assert_array_equal(traced(encoded(COLOURS, "PNG")), COLOURS)


def test_damaged_files_raise_errors_of_one_class() -> None:
    files = [encoded(COLOURS, kind) for kind in ("PNG", "JPEG", "BMP", "GIF")]
    for file in files:
        for end in range(0, len(file), 41):
            content = file[:end] + bytes(RANDOM.integers(0, 256, RANDOM.integers(0, 9), np.uint8))
            try:
                tf.io.decode_image(content)
            except (tf.errors.InvalidArgumentError, tf.errors.UnimplementedError):
                pass


def test_faults_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    decode, png = tf.io.decode_image, encoded(COLOURS, "PNG")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Input is empty"):
        decode(b"")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Unknown image file format"):
        decode(b"text")
    with pytest.raises(tf.errors.InvalidArgumentError, match="`channels` must be 0, 1, 3 or 4 but got 2"):
        decode(png, channels=2)
    for kind, channels in (("JPEG", 4), ("GIF", 1), ("BMP", 1)):
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"for {kind}, but got {channels}"):
            decode(encoded(COLOURS, kind), channels=channels)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"must be scalar but got shape\[1\]"):
        decode([png])
    with pytest.raises(AttributeError, match="either floating point or integer"):
        decode(png, dtype=tf.string)
    with pytest.raises(TypeError, match="`channels` must be an integer"):
        decode(png, channels="3")  # pyright: ignore[reportArgumentType]
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(tf.errors.UnimplementedError, match="pip install pillow"):
        decode(png)


def test_pillow_is_loaded_on_first_use() -> None:
    assert "PIL" not in vars(import_module("nbtf._ops.image.decoding"))
