"""Where data sets are kept on this computer, and what is in their files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nbtf._storage.archives import read_arrays
from nbtf._storage.reading import read_bytes

Split = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]
"""Examples and labels."""


def folder() -> Path:
    """Returns the folder of data sets: Keras' own, `~/.keras/datasets`; `KERAS_HOME` moves it."""
    return Path(os.environ.get("KERAS_HOME") or Path.home() / ".keras") / "datasets"


def find_data_set(name: str) -> Path:
    """Returns the file or folder of a data set.

    Raises:
      FileNotFoundError: it is not there.
    """
    path = Path(name) if os.path.isabs(name) else folder() / name
    if path.exists():
        return path
    raise FileNotFoundError(
        f"{path} is not there, and nbtf downloads nothing. If Keras has fetched it on another computer, copy it from "
        "~/.keras/datasets there. Without it, tf.keras.datasets.digits.load_data() gives 1797 small pictures of digits."
    )


def arrays(name: str) -> dict[str, np.ndarray[Any, Any]]:
    """Returns the arrays of a `.npz` file.

    Raises:
      FileNotFoundError: it is not there.
      DataLossError: it is damaged, or holds pickled objects.
    """
    return read_arrays(find_data_set(name))


def batch(path: Path, labels: int, label_column: int = 0) -> Split:
    """Returns pictures and labels of a file.

    Args:
      path: the file.
      labels: how many labels stand before each picture.
      label_column: the one that is wanted.
    """
    rows = np.frombuffer(read_bytes(path), np.uint8).reshape(-1, labels + 3 * 32 * 32)
    pictures = rows[:, labels:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(pictures), rows[:, label_column : label_column + 1].copy()


def join_splits(splits: Sequence[Split]) -> Split:
    """Returns several files as one."""
    return np.concatenate([x for x, _ in splits]), np.concatenate([y for _, y in splits])
