"""16-bit numbers with the exponent of float32. NumPy has none; the package `ml_dtypes` adds them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from nbtf._install import pip_install

PACKAGE = "ml_dtypes"


def scalar_class() -> type[Any] | None:
    """Returns the scalar class of `ml_dtypes`, loading it on first use; None if it is not installed."""
    try:
        return import_module(PACKAGE).bfloat16
    except ImportError:
        return None


def limits(dtype: Any) -> Any:
    """Returns the limits of a dtype of `ml_dtypes`, as `np.finfo` does for NumPy's."""
    return import_module(PACKAGE).finfo(dtype)


def is_scalar_class(candidate: type[Any]) -> bool:
    """Returns whether a class is the scalar class of `ml_dtypes`, without loading the package."""
    return candidate.__name__ == "bfloat16" and candidate.__module__.partition(".")[0] == PACKAGE


def advice() -> str:
    """Returns what to do if the package is missing."""
    return f"install {PACKAGE} ({pip_install('bfloat16')}), or use tf.float16 or tf.float32"
