"""The logger `tensorflow`, and where its lines go."""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logging import Logger


@cache
def get_logger() -> Logger:
    """Returns the Python logger `tensorflow`, which the library's messages go through.

    The first call gives it a handler, unless the root logger has one already. At a prompt and in a notebook lines of
    level INFO and above go to stdout, in a script those of level WARNING and above to stderr.

    >>> tf.get_logger().name
    'tensorflow'
    """
    import logging  # late: it takes 3 ms to load and is rarely needed

    logger = logging.getLogger("tensorflow")
    if logging.getLogger().handlers:
        return logger
    interactive = bool(getattr(sys, "ps1", sys.flags.interactive))
    if interactive:
        logger.setLevel(logging.INFO)
    handler = logging.StreamHandler(sys.stdout if interactive else sys.stderr)
    handler.setFormatter(logging.Formatter(logging.BASIC_FORMAT))
    logger.addHandler(handler)
    return logger
