"""Properties that only read what an object keeps."""

from __future__ import annotations

from operator import attrgetter
from typing import Any


def reads(path: str, text: str) -> Any:
    """Returns a property without a function of its own.

    Args:
      path: the attribute that it reads, or attributes of attributes, such as `_op.name`.
      text: its docstring.
    """
    return property(attrgetter(path), doc=text)
