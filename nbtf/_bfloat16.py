"""Short floating-point numbers that NumPy lacks, bfloat16 and float8; the package `ml_dtypes` adds them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from nbtf._install import pip_install

PACKAGE = "ml_dtypes"


NAMES = ("bfloat16", "float8_e5m2", "float8_e4m3fn")


def scalar_class(name: str) -> type[Any] | None:
    """Returns a scalar class of `ml_dtypes`, loading the package on first use; None if it is not installed."""
    try:
        return getattr(import_module(PACKAGE), name)
    except ImportError:
        return None


def limits(dtype: Any) -> Any:
    """Returns the limits of a dtype of `ml_dtypes`, as `np.finfo` does for NumPy's."""
    return import_module(PACKAGE).finfo(dtype)


def is_scalar_class(candidate: type[Any]) -> bool:
    """Returns whether a class is one of these scalar classes, without loading the package."""
    return candidate.__name__ in NAMES and candidate.__module__.partition(".")[0] == PACKAGE


def advice() -> str:
    """Returns what to do if the package is missing."""
    return f"install {PACKAGE} ({pip_install('bfloat16')}), or use tf.float16 or tf.float32"
