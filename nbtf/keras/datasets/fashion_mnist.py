"""Pictures of clothes, 28 x 28."""

from __future__ import annotations

import gzip
from typing import Any

import numpy as np

from nbtf.keras.datasets.cache import Split, found


def load_data() -> tuple[Split, Split]:
    """Returns 60,000 pictures for training and 10,000 for testing, each with the number of its kind.

    Returns:
      `(x_train, y_train), (x_test, y_test)`: uint8, shapes `[n, 28, 28]` and `[n]`.

    Raises:
      FileNotFoundError: the files are not on this computer.
    """
    return _split("train"), _split("t10k")


def _split(name: str) -> Split:
    labels = _content(f"{name}-labels-idx1-ubyte.gz", 8)
    return _content(f"{name}-images-idx3-ubyte.gz", 16).reshape(len(labels), 28, 28), labels


def _content(name: str, header: int) -> np.ndarray[Any, Any]:
    with gzip.open(found(f"fashion-mnist/{name}"), "rb") as opened:
        return np.frombuffer(opened.read(), np.uint8, offset=header)
