"""Type tests of arguments that type checkers understand."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Returns whether a value is a list or a tuple with any elements."""
    return isinstance(value, list | tuple)


def is_dict(value: Any) -> TypeGuard[dict[Any, Any]]:
    """Returns whether a value is a dictionary with any keys and values."""
    return isinstance(value, dict)


def is_array(value: Any) -> TypeGuard[np.ndarray[Any, Any]]:
    """Returns whether a value is a NumPy array."""
    return isinstance(value, np.ndarray)
