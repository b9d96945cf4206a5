"""Properties that only read an attribute of the object."""

from __future__ import annotations

from operator import attrgetter
from typing import Any


def reads(path: str, text: str) -> Any:
    """Returns a property that is implemented without a Python function.

    Args:
      path: the attribute to read, or a dotted path such as `_op.name`.
      text: the property's docstring.
    """
    return property(attrgetter(path), doc=text)
