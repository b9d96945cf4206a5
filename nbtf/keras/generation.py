"""Which Keras does a program want: that of TensorFlow 2.21, or the one that older guides were written for?"""

from __future__ import annotations

import os
from typing import TypeVar

LEGACY = "TF_USE_LEGACY_KERAS"
"""TensorFlow's environment variable for Keras 2."""

E = TypeVar("E", bound=Exception)


def is_legacy() -> bool:
    """Tells whether Keras 2 is asked for: what only older guides write goes on working then.

    >>> is_legacy()
    False
    """
    return os.environ.get(LEGACY) in ("1", "true", "True")  # as TensorFlow reads it


def of_keras_2(error: E) -> E:
    """Returns an error with a note that says how programs for Keras 2 run."""
    error.add_note(f"Keras 2 allowed it, and so does nbtf for older guides: set {LEGACY}=1 in the environment.")
    return error


def check_ending(filepath: str, subject: str = "The filename") -> None:
    """Refuses a path for weights that Keras 3 does not take.

    Args:
      filepath: where weights are to go.
      subject: what the path is called.

    Raises:
      ValueError: it does not end in `.weights.h5`.
    """
    if not filepath.endswith(".weights.h5") and not is_legacy():
        form = "" if subject == "The filename" else " (Keras weights format)"
        raise of_keras_2(ValueError(f"{subject} must end in `.weights.h5`{form}. Received: filepath={filepath}"))
