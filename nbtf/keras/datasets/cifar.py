"""How the files of CIFAR are read: labels, then 3 x 32 x 32 bytes, for each picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nbtf.keras.datasets.cache import Split


def batch(path: Path, labels: int, label_column: int = 0) -> Split:
    """Returns pictures and labels of a file.

    Args:
      path: the file.
      labels: how many labels stand before each picture.
      label_column: the one that is wanted.
    """
    rows = np.fromfile(path, np.uint8).reshape(-1, labels + 3 * 32 * 32)
    pictures = rows[:, labels:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(pictures), rows[:, label_column : label_column + 1].copy()


def join_splits(splits: Sequence[Split]) -> Split:
    """Returns several files as one."""
    return np.concatenate([x for x, _ in splits]), np.concatenate([y for _, y in splits])
