"""Handwritten digits, 28 x 28."""

from __future__ import annotations

from nbtf.keras.datasets.cache import Split, arrays


def load_data(path: str = "mnist.npz") -> tuple[Split, Split]:
    """Returns 60,000 images for training and 10,000 for testing, each with its digit.

    Args:
      path: path of the file, relative to the folder of data sets.

    Returns:
      `(x_train, y_train), (x_test, y_test)`: uint8, shapes `[n, 28, 28]` and `[n]`.

    Raises:
      FileNotFoundError: if the file is not on this computer.
    """
    data = arrays(path)
    return (data["x_train"], data["y_train"]), (data["x_test"], data["y_test"])
