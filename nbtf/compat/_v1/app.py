"""`tf.app`: the entry point of TensorFlow 1 scripts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from nbtf.compat._v1 import flags as flags

__all__ = ["flags", "run"]


def __dir__() -> list[str]:
    return __all__


def run(main: Callable[[Any], Any] | None = None, argv: Sequence[str] | None = None) -> None:
    """Parses the flags and calls the program's main function.

    Args:
      main: function called with the arguments that are not flags; by default the script's `main`.
      argv: the command line; by default that of the process.

    Raises:
      SystemExit: if `main` returns something other than None or 0. In a notebook, the cell otherwise continues.
    """
    words = flags.FLAGS(sys.argv if argv is None else argv)
    result = (main or sys.modules["__main__"].main)(words)
    if result:
        sys.exit(result)
