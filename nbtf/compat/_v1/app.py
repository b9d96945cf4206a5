"""`tf.app`: how scripts of TensorFlow 1 start."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from nbtf.compat._v1 import flags as flags

__all__ = ["flags", "run"]


def __dir__() -> list[str]:
    return __all__


def run(main: Callable[[Any], Any] | None = None, argv: Sequence[str] | None = None) -> None:
    """Reads the flags and calls the program.

    Args:
      main: what is called with the words that are no flags; by default `main` of the script.
      argv: the command line; by default the process's.

    Raises:
      SystemExit: `main` returned something else than None or 0; in a notebook the cell goes on otherwise.
    """
    words = flags.FLAGS(sys.argv if argv is None else argv)
    result = (main or sys.modules["__main__"].main)(words)
    if result:
        sys.exit(result)
