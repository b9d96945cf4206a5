"""Does a picture still look like the recorded one?

Pictures are compared by their pixels, which Pillow reads (it comes with Matplotlib), not by their bytes. Pictures drawn
by another version of the drawing program differ in letters and edges, so only their size is compared, with a note.
A picture beside a formula's text is not compared: the text is.
"""

from __future__ import annotations

import base64
import binascii
import importlib
import importlib.util
import io
from dataclasses import dataclass
from typing import Any

import numpy as np

PICTURES = ("image/png", "image/jpeg")

LEVELS = 8
"""Largest change of a colour channel, of 255 levels, that rounding may cause and that is not visible."""


BAND = 2**20
"""Pixels compared at once."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A description of the differences, and a note on what was not compared; both empty for the same picture."""

    difference: str = ""
    note: str = ""


def compare(recorded: str, drawn: str, allowed_share: float = 0.0) -> Comparison:
    """Compares two pictures.

    Args:
      recorded: the picture in the notebook, in base64.
      drawn: the picture of this run.
      allowed_share: share of the pixels that may look different; with 1, only the size is compared.
    """
    if recorded == drawn or "".join(recorded.split()) == "".join(drawn.split()):
        return Comparison()
    if importlib.util.find_spec("PIL") is None:
        return Comparison("the picture has other bytes; install Pillow to compare its pixels")
    try:
        then, now = _opened(recorded), _opened(drawn)
        if then.size != now.size:
            return Comparison(f"the picture has {_size(now)} pixels; recorded: {_size(then)}")
        programs = (then.info.get("Software", ""), now.info.get("Software", ""))
        if all(programs) and programs[0] != programs[1]:
            return Comparison(note=f"compared only the picture's size: drawn by {programs[0]}, now {programs[1]}")
        share = _changed_share(then, now)
    except (ValueError, OSError, binascii.Error, _pillow().DecompressionBombError) as error:
        return Comparison(f"the picture cannot be compared: {error}")
    if share <= allowed_share:
        return Comparison()
    allowed = f"; allowed: {allowed_share:.2%}" if allowed_share else ""
    return Comparison(f"the picture looks different: {max(share, 0.0001):.2%} of its pixels{allowed}")


def _pillow() -> Any:
    return importlib.import_module("PIL.Image")


def _opened(encoded: str) -> Any:
    return _pillow().open(io.BytesIO(base64.b64decode(encoded, validate=False)))


def _size(picture: Any) -> str:
    width, height = picture.size
    return f"{width} × {height}"


def _changed_share(then: Any, now: Any) -> float:
    """Returns the share of the pixels that look different, one band at a time because a picture may be large."""
    width, height = then.size
    rows = max(1, BAND // width)
    boxes = [(0, top, width, min(top + rows, height)) for top in range(0, height, rows)]
    return sum(_changed_pixels(then.crop(box), now.crop(box)) for box in boxes) / (width * height)


def _changed_pixels(then: Any, now: Any) -> int:
    pixels_then, pixels_now = (np.asarray(picture.convert("RGBA"), np.int16) for picture in (then, now))
    changes: Any = np.abs(pixels_then - pixels_now)
    return int((changes.max(axis=-1) > LEVELS).sum())
