"""`tf.keras.mixed_precision`: computing in half precision with weights in single precision."""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import Any as _Any

from nbtf._public import public_names as _public_names
from nbtf.keras import border as _border
from nbtf.keras.dtypes import DTypePolicy as DTypePolicy
from nbtf.keras.dtypes import dtype_policy as dtype_policy
from nbtf.keras.dtypes import dtype_policy as global_policy
from nbtf.keras.dtypes import set_dtype_policy as set_dtype_policy
from nbtf.keras.dtypes import set_dtype_policy as set_global_policy

Policy = DTypePolicy

__all__ = ["DTypePolicy", "Policy", "dtype_policy", "global_policy", "set_dtype_policy", "set_global_policy"]


def __getattr__(name: str) -> _Any:
    if name == "LossScaleOptimizer":
        return getattr(_import_module("nbtf.keras.optimizers"), name)
    _border.refuse(__name__, name)


def __dir__() -> list[str]:
    return _public_names(__name__)
