"""House prices."""

from __future__ import annotations

import numpy as np

from nbtf.keras.datasets.cache import Split, arrays


def load_data(path: str = "boston_housing.npz", test_split: float = 0.2, seed: int = 113) -> tuple[Split, Split]:
    """Returns 13 numbers about each of 506 districts, and the price of houses there.

    Args:
      path: path of the file, relative to the folder of data sets.
      test_split: fraction of the examples for testing; 0.2 by default.
      seed: seed of the random order.

    Returns:
      `(x_train, y_train), (x_test, y_test)`: float64, shapes `[n, 13]` and `[n]`.

    Raises:
      FileNotFoundError: if the file is not on this computer.
    """
    data = arrays(path)
    x, y = data["x"], data["y"]
    order = np.arange(len(x))
    np.random.RandomState(seed).shuffle(order)
    x, y = x[order], y[order]
    last = int(len(x) * (1 - test_split))
    return (x[:last], y[:last]), (x[last:], y[last:])
