"""Small colour images of ten classes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nbtf._storage.reading import read_bytes
from nbtf.keras.datasets.cache import Split, find_data_set


def load_data() -> tuple[Split, Split]:
    """Returns 50,000 images for training and 10,000 for testing, each with the number of its class.

    Returns:
      `(x_train, y_train), (x_test, y_test)`: uint8, shapes `[n, 32, 32, 3]` and `[n, 1]`.

    Raises:
      FileNotFoundError: if the files (the binary version) are not on this computer.
    """
    folder = find_data_set("cifar-10-batches-bin")
    images, labels = zip(*[_batch(folder / f"data_batch_{number}.bin") for number in range(1, 6)], strict=True)
    return (np.concatenate(images), np.concatenate(labels)), _batch(folder / "test_batch.bin")


def _batch(path: Path) -> Split:
    """Returns the images and labels in a file, where each image follows its label."""
    rows = np.frombuffer(read_bytes(path), np.uint8).reshape(-1, 1 + 3 * 32 * 32)
    images = rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(images), rows[:, :1].copy()
