"""Where data sets are kept on this computer."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from nbtf._storage.archives import read_arrays

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
