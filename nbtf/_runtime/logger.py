"""The logger `tensorflow`, and where its lines are written."""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logging import Logger


@cache
def get_logger() -> Logger:
    """Returns the Python logger `tensorflow`, which receives the library's messages.

    The first call adds a handler, unless the root logger already has one. At a prompt and in notebooks, messages of
    level INFO and above go to stdout. In scripts, messages of level WARNING and above go to stderr.

    >>> tf.get_logger().name
    'tensorflow'
    """
    import logging  # imported late: it takes 3 ms to load and is rarely needed

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
