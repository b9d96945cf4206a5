"""Which Keras generation a program expects: that of TensorFlow 2.21, or Keras 2, which older guides use."""

from __future__ import annotations

import os
from typing import TypeVar

LEGACY = "TF_USE_LEGACY_KERAS"
"""TensorFlow's environment variable for Keras 2."""

E = TypeVar("E", bound=Exception)


def is_legacy() -> bool:
    """Returns whether Keras 2 was requested; code that only older guides use then keeps working.

    >>> is_legacy()
    False
    """
    return os.environ.get(LEGACY) in ("1", "true", "True")  # as TensorFlow reads it


def of_keras_2(error: E) -> E:
    """Returns the error with a note that explains how to run programs written for Keras 2."""
    error.add_note(f"Keras 2 allowed this. To run a program for Keras 2, set {LEGACY}=1 in the environment.")
    return error


def check_ending(filepath: str, subject: str = "The filename") -> None:
    """Checks that Keras 3 accepts a path for weights.

    Args:
      filepath: path of the file for the weights.
      subject: name of the path in the error message.

    Raises:
      ValueError: if `filepath` does not end in `.weights.h5`.
    """
    if not filepath.endswith(".weights.h5") and not is_legacy():
        form = "" if subject == "The filename" else " (Keras weights format)"
        raise of_keras_2(ValueError(f"{subject} must end in `.weights.h5`{form}. Received: filepath={filepath}"))
