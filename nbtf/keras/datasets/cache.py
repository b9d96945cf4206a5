"""Location and format of the data set files on this computer."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from nbtf._storage.archives import read_arrays

Split = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]
"""Examples and labels."""


def folder() -> Path:
    """Returns the folder of data sets: Keras' own, `~/.keras/datasets`, or the one below `KERAS_HOME`."""
    return Path(os.environ.get("KERAS_HOME") or Path.home() / ".keras") / "datasets"


def find_data_set(name: str) -> Path:
    """Returns the file or folder of a data set.

    Raises:
      FileNotFoundError: if it does not exist.
    """
    path = Path(name) if os.path.isabs(name) else folder() / name
    if path.exists():
        return path
    raise FileNotFoundError(
        f"{path} does not exist, and nbtf downloads nothing. If Keras downloaded it on another computer, copy it from "
        "~/.keras/datasets there. Without it, tf.keras.datasets.digits.load_data() gives 1797 small images of digits."
    )


def arrays(name: str) -> dict[str, np.ndarray[Any, Any]]:
    """Returns the arrays of a `.npz` file.

    Raises:
      FileNotFoundError: if the file does not exist.
      DataLossError: if the file is damaged or contains pickled objects.
    """
    return read_arrays(find_data_set(name))
