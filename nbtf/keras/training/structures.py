"""What kind of thing a program has given: several, several with names, an array."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np


def is_row(value: Any) -> TypeGuard[list[Any]]:
    """Tells whether something is a list or a tuple."""
    return isinstance(value, list | tuple)


def is_named(value: Any) -> TypeGuard[dict[Any, Any]]:
    """Tells whether something is a dictionary."""
    return isinstance(value, dict)


def is_array(value: Any) -> TypeGuard[np.ndarray[Any, Any]]:
    """Tells whether something is a NumPy array."""
    return isinstance(value, np.ndarray)
