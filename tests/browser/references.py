"""Does a picture look as it did when a person last looked at it? The references lie beside the tests."""

from __future__ import annotations

import json
import os
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from PIL.Image import Image

FOLDER = Path(__file__).with_name("references")
SHARE = 0.001
"""The part of the pixels that may differ: letters are drawn a little differently by another build of the browser."""
VISIBLE = 32
"""A pixel differs when one of its colours does by more than this, of 255."""
COLOURS = 256
"""Of a reference, to keep it small; a view has about three hundred, and they stay within VISIBLE."""

RENEW = "NBTF_RENEW"


def differences(name: str, picture: bytes, seen: Path) -> str:
    """Compares a picture with its reference; returns what differs in words, nothing if it looks the same.

    With NBTF_RENEW set the picture becomes the reference.

    Args:
      name: of the reference, without `.png`.
      picture: a PNG.
      seen: a folder for the pictures that differ.
    """
    file = FOLDER / f"{name}.png"
    if os.environ.get(RENEW):
        FOLDER.mkdir(exist_ok=True)
        _image(picture).quantize(COLOURS).save(file, optimize=True)
        return ""
    said = _compared(_image(file.read_bytes()), _image(picture)) if file.exists() else "there is no reference"
    if said:
        (seen / f"{name}.png").write_bytes(picture)
        said += f" ({file.relative_to(FOLDER.parents[2])}, seen: {seen / name}.png; {RENEW}=1 makes it the reference)"
    return said


def frozen(states: dict[str, Any]) -> dict[str, Any]:
    """Returns the states that the references show. With NBTF_RENEW set they become the given ones."""
    file = FOLDER / "states.json"
    if os.environ.get(RENEW):
        FOLDER.mkdir(exist_ok=True)
        file.write_text(json.dumps(states, indent=1), encoding="utf-8")
    return json.loads(file.read_text(encoding="utf-8"))


def _compared(expected: Image, actual: Image) -> str:
    if expected.size != actual.size:
        return f"expected {expected.width}×{expected.height} pixels, got {actual.width}×{actual.height}"
    apart = np.abs(np.asarray(expected).astype(np.int16) - np.asarray(actual).astype(np.int16)).max(axis=-1)
    share = float((apart > VISIBLE).mean())
    return f"{share:.2%} of the pixels differ" if share > SHARE else ""


def _image(picture: bytes) -> Image:
    from PIL import Image

    return Image.open(BytesIO(picture)).convert("RGB")
