"""Images of clothes, 28 x 28."""

from __future__ import annotations

import gzip
from typing import Any

import numpy as np

from nbtf._storage.reading import open_bytes
from nbtf._storage.refusal import refusing
from nbtf.keras.datasets.cache import Split, find_data_set

_MOST_BYTES = 2**26
"""Limit for an unpacked file; 60,000 images need 45 MiB."""


def load_data() -> tuple[Split, Split]:
    """Returns 60,000 images for training and 10,000 for testing, each with the number of its class.

    Returns:
      `(x_train, y_train), (x_test, y_test)`: uint8, shapes `[n, 28, 28]` and `[n]`.

    Raises:
      FileNotFoundError: if the files are not on this computer.
      DataLossError: if a file is damaged.
    """
    return _split("train"), _split("t10k")


def _split(name: str) -> Split:
    labels = _content(f"{name}-labels-idx1-ubyte.gz", 8)
    return _content(f"{name}-images-idx3-ubyte.gz", 16).reshape(len(labels), 28, 28), labels


def _content(name: str, header: int) -> np.ndarray[Any, Any]:
    path = find_data_set(f"fashion-mnist/{name}")
    with open_bytes(path) as file, refusing(path), gzip.open(file) as opened:
        content = opened.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise ValueError(f"it has more than {_MOST_BYTES} bytes.")
        return np.frombuffer(content, np.uint8, offset=header)
