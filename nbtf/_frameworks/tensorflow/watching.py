"""Records the ops of TensorFlow for a while."""

from __future__ import annotations

import os
from functools import cache

from nbtf._frameworks.base import Listening
from nbtf._frameworks.tensorflow.executions import Executions
from nbtf._frameworks.tensorflow.internals import internals


@cache
def executions() -> Executions:
    """Returns what observes the ops of the imported TensorFlow.

    Raises:
      RuntimeError: if this release lacks a private name.
    """
    observed = Executions(internals())
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=observed.forget_observers)
    return observed


class TensorFlowListening(Listening):
    """Records ops on all threads of this process."""

    def __init__(self) -> None:
        """Starts nothing."""
        self._is_on = False

    def start(self) -> None:
        """Starts recording.

        Raises:
          RuntimeError: if this release of TensorFlow lacks a private name that is needed.
        """
        observed = executions()
        self._is_on = True
        observed.begin(is_wanted=True)

    def join(self) -> None:
        """Does nothing, because all threads are recorded."""

    def renew(self) -> None:
        """Does nothing, because an interrupt leaves nothing behind."""

    def stop(self) -> None:
        """Stops recording."""
        if self._is_on:
            self._is_on = False
            executions().end(is_wanted=True)
