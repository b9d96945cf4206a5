"""Where are numbers of 16 bits with the exponent of float32? NumPy has none: the package `ml_dtypes` adds them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from nbtf._install import pip_install

PACKAGE = "ml_dtypes"


def scalar_class() -> type[Any] | None:
    """Returns the package's class of numbers, loaded on first use; None where the package is not installed."""
    try:
        return import_module(PACKAGE).bfloat16
    except ImportError:
        return None


def limits(dtype: Any) -> Any:
    """Returns the limits of the package's dtype, as `np.finfo` does for NumPy's."""
    return import_module(PACKAGE).finfo(dtype)


def is_scalar_class(candidate: type[Any]) -> bool:
    """Tells whether a class is the package's, without loading it."""
    return candidate.__name__ == "bfloat16" and candidate.__module__.partition(".")[0] == PACKAGE


def advice() -> str:
    """Returns what to do where the package is missing."""
    return f"install {PACKAGE} ({pip_install('bfloat16')}), or use tf.float16 or tf.float32"
