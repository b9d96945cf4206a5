"""Small handwritten digits from scikit-learn, which need no download."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from nbtf._storage.archives import read_arrays
from nbtf.keras.datasets.cache import Split

_FILE = Path(__file__).with_name("digits.npz")
"""Only in the wheel for web pages without a server, where scikit-learn is too large; `nbtf site` adds the file."""


def load_data(test_split: float = 0.2, seed: int = 113) -> tuple[Split, Split]:
    """Returns 1797 images, 8 x 8, each with its digit. Keras has no such data set.

    Args:
      test_split: fraction of the images for testing; 0.2 by default.
      seed: seed of the random order.

    Returns:
      `(x_train, y_train), (x_test, y_test)`: uint8 from 0 to 16, shapes `[n, 8, 8]` and `[n]`.

    Raises:
      ModuleNotFoundError: if scikit-learn is not installed.

    >>> (x_train, y_train), (x_test, y_test) = tf.keras.datasets.digits.load_data()
    >>> x_train.shape, y_test.shape
    ((1437, 8, 8), (360,))
    """
    images, target = _digits()
    order = np.arange(len(target))
    np.random.RandomState(seed).shuffle(order)
    x, y = images[order], target[order]
    last = int(len(x) * (1 - test_split))
    return (x[:last], y[:last]), (x[last:], y[last:])


def _digits() -> tuple[Any, Any]:
    """Returns the images and their digits in scikit-learn's order."""
    if _FILE.exists():
        data = read_arrays(_FILE)
        return data["images"], data["target"]
    try:
        datasets: Any = import_module("sklearn.datasets")  # part of the extra `lab`
    except ModuleNotFoundError:
        raise ModuleNotFoundError("The digits need scikit-learn: pip install scikit-learn", name="sklearn") from None
    data: Any = datasets.load_digits()
    return data.images.astype(np.uint8), data.target.astype(np.uint8)
