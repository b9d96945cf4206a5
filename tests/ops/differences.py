"""Gradients of a function of arrays by central differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# Where the errors of rounding and of the neglected third derivative are alike: the cube root of float64's precision.
STEP = float(np.finfo(np.float64).eps) ** (1 / 3)


def differences(function: Callable[[], float], array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns the slope of a function along each number of an array it reads, real and imaginary parts apart."""
    slopes = np.zeros_like(array)
    numbers, found = array.view(np.float64).reshape(-1), slopes.view(np.float64).reshape(-1)
    for place in range(numbers.size):
        kept = numbers[place]
        numbers[place] = kept + STEP
        above = function()
        numbers[place] = kept - STEP
        found[place] = (above - function()) / (2 * STEP)
        numbers[place] = kept
    return slopes
