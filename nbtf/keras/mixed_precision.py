"""`tf.keras.mixed_precision`: computing in half precision with weights in single precision."""

from __future__ import annotations

from nbtf.keras import border as _border
from nbtf.keras.dtypes import DTypePolicy as DTypePolicy
from nbtf.keras.dtypes import dtype_policy as dtype_policy
from nbtf.keras.dtypes import dtype_policy as global_policy
from nbtf.keras.dtypes import set_dtype_policy as set_dtype_policy
from nbtf.keras.dtypes import set_dtype_policy as set_global_policy
from nbtf.keras.optimizers import LossScaleOptimizer as LossScaleOptimizer

Policy = DTypePolicy

__all__ = [
    "DTypePolicy",
    "LossScaleOptimizer",
    "Policy",
    "dtype_policy",
    "global_policy",
    "set_dtype_policy",
    "set_global_policy",
]

_border.guard(__name__)
