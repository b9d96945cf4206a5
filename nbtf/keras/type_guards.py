"""What kind of thing an argument is, in words that a type checker follows as well."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Tells whether something is a list or a tuple, whatever is in it."""
    return isinstance(value, list | tuple)


def is_dict(value: Any) -> TypeGuard[dict[Any, Any]]:
    """Tells whether something is a dictionary, whatever is in it."""
    return isinstance(value, dict)


def is_array(value: Any) -> TypeGuard[np.ndarray[Any, Any]]:
    """Tells whether something is a NumPy array."""
    return isinstance(value, np.ndarray)
