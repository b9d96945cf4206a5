"""Prices of houses."""

from __future__ import annotations

import numpy as np

from nbtf.keras.datasets.cache import Split, arrays


def load_data(path: str = "boston_housing.npz", test_split: float = 0.2, seed: int = 113) -> tuple[Split, Split]:
    """Returns 13 numbers about each of 506 places, and the price of houses there.

    Args:
      path: the file, in the folder of data sets if it is no full path.
      test_split: the part that is for testing.
      seed: of the order.

    Returns:
      `(x_train, y_train), (x_test, y_test)`: float64, shapes `[n, 13]` and `[n]`.

    Raises:
      FileNotFoundError: the file is not on this computer.
    """
    data = arrays(path)
    x, y = data["x"], data["y"]
    order = np.arange(len(x))
    np.random.RandomState(seed).shuffle(order)
    x, y = x[order], y[order]
    last = int(len(x) * (1 - test_split))
    return (x[:last], y[:last]), (x[last:], y[last:])
