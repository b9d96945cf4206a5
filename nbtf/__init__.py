"""Device placement and GPU memory, made visible: a small eager runtime with TensorFlow's device API.

>>> c = tf.matmul([[1.0, 2.0]], [[3.0], [4.0]])
>>> print(c)
tf.Tensor([[11.]], shape=(1, 1), dtype=float32)
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import Any as _Any

from nbtf import _missing, _types
from nbtf import bitwise as bitwise
from nbtf import config as config
from nbtf import debugging as debugging
from nbtf import dtypes as dtypes
from nbtf import errors as errors
from nbtf import linalg as linalg
from nbtf import math as math
from nbtf import nest as nest
from nbtf import nn as nn
from nbtf import runtime as runtime
from nbtf import test as test
from nbtf._devices.names import DeviceSpec as DeviceSpec
from nbtf._ops.broadcasting import broadcast_to as broadcast_to
from nbtf._ops.broadcasting import reduce_sum as reduce_sum
from nbtf._ops.broadcasting import reshape as reshape
from nbtf._runtime.device import device as device
from nbtf._runtime.logger import get_logger as get_logger
from nbtf._runtime.tensor import Tensor as Tensor
from nbtf._shapes import TensorShape as TensorShape
from nbtf._shapes import TensorSpec as TensorSpec
from nbtf._types import DType as DType
from nbtf._types import as_dtype as as_dtype
from nbtf._types import bfloat16 as bfloat16
from nbtf._types import complex64 as complex64
from nbtf._types import complex128 as complex128
from nbtf._types import float16 as float16
from nbtf._types import float32 as float32
from nbtf._types import float64 as float64
from nbtf._types import int8 as int8
from nbtf._types import int16 as int16
from nbtf._types import int32 as int32
from nbtf._types import int64 as int64
from nbtf._types import resource as resource
from nbtf._types import string as string
from nbtf._types import uint8 as uint8
from nbtf._types import uint16 as uint16
from nbtf._types import uint32 as uint32
from nbtf._types import uint64 as uint64
from nbtf._types import variant as variant
from nbtf.config import gpu as gpu  # the 2.0 alpha guide's prose says tf.gpu, its code tf.config.gpu

__version__ = "0.1.0"

bool = _types.bool_
half = float16
double = float64
newaxis = None

_LOADED_ON_FIRST_USE = frozenset({"random", "strings"})
"""Namespaces that `import nbtf` leaves out, so that it costs little more than `import numpy`."""


def __getattr__(name: str) -> _Any:
    if name in _LOADED_ON_FIRST_USE:
        return _import_module(f"nbtf.{name}")
    raise AttributeError(_missing.explanation(name))


def __dir__() -> list[str]:
    return sorted(_LOADED_ON_FIRST_USE.union(name for name in globals() if name[0] != "_" and name != "annotations"))
