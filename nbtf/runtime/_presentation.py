"""Presents nbtf as TensorFlow to other libraries."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbtf._as_tensorflow.presentation import Presentation


def present_as_tensorflow() -> Presentation:
    """Makes `import tensorflow` mean nbtf in this process, so that Keras 3 runs on nbtf.

    The module `tensorflow` is then nbtf, with TensorFlow's private names that Keras imports. `KERAS_BACKEND` becomes
    `tensorflow` if it is not set. `import keras` loads the installed Keras, which stays on nbtf until the process ends;
    `tf.keras` remains nbtf's own small Keras. `NBTF_AS_TENSORFLOW=1` calls this function when nbtf is imported.

    Returns:
      An object whose `undo()` makes `import tensorflow` mean TensorFlow again; in a `with` statement, the end of the
      block does so. If an earlier call is still in effect, it has nothing to undo.

    Raises:
      RuntimeError: if TensorFlow, or Keras with another backend, is already imported in this process.

    >>> with tf.runtime.present_as_tensorflow():
    ...     __import__("tensorflow") is tf
    True
    """
    return import_module("nbtf._as_tensorflow.presentation").present_as_tensorflow()
