"""Device placement and GPU memory, made visible: a small eager runtime with TensorFlow's device API.

>>> c = tf.matmul([[1.0, 2.0]], [[3.0], [4.0]])
>>> print(c)
tf.Tensor([[11.]], shape=(1, 1), dtype=float32)
"""

from __future__ import annotations

from nbtf import errors as errors
from nbtf._devices.names import DeviceSpec as DeviceSpec
from nbtf._ops.broadcasting import broadcast_to as broadcast_to
from nbtf._ops.broadcasting import reduce_sum as reduce_sum
from nbtf._ops.broadcasting import reshape as reshape
from nbtf._runtime.tensor import Tensor as Tensor
from nbtf._shapes import TensorShape as TensorShape
from nbtf._shapes import TensorSpec as TensorSpec
from nbtf._types import DType as DType

__version__ = "0.1.0"
