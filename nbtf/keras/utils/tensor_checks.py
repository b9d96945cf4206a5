"""Type checks of values, with Keras' names."""

from __future__ import annotations

from typing import Any

from nbtf.keras.dtypes import standardized
from nbtf.keras.symbolic import KerasTensor


def is_keras_tensor(x: Any) -> bool:
    """Returns whether a value is a symbolic tensor of a functional model.

    >>> tf.keras.utils.is_keras_tensor(tf.keras.Input((3,))), tf.keras.utils.is_keras_tensor(tf.ones(3))
    (True, False)
    """
    return isinstance(x, KerasTensor)


def standardize_dtype(dtype: Any) -> str:
    """Returns the name of a dtype given in any form; that of `floatx()` for None.

    >>> tf.keras.utils.standardize_dtype(tf.int32)
    'int32'
    """
    return standardized(dtype)
