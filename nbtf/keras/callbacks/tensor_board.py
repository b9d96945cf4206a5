"""What stands for TensorBoard."""

from __future__ import annotations

from typing import Any

from nbtf.keras.callbacks.callback import Callback
from nbtf.summary import _warn_of_no_files


class TensorBoard(Callback):
    """Takes all arguments and writes no event files, which a warning says. The results are in what `fit` returns.

    Args:
      log_dir: kept, and not used.
      **kwargs: accepted and ignored.

    >>> tf.keras.callbacks.TensorBoard(log_dir="./logs", histogram_freq=1).log_dir
    './logs'
    """

    def __init__(self, log_dir: Any = "logs", **kwargs: Any) -> None:
        """Keeps the name of the folder."""
        self.log_dir = str(log_dir)
        _warn_of_no_files()
