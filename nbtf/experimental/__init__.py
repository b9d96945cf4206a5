"""`tf.experimental`: NumPy behaviour of tensors, optionals, ragged shapes, and memory shared with other libraries."""

from nbtf._ops.ragged_and_sparse.ragged_shape import DynamicRaggedShape as DynamicRaggedShape
from nbtf.data.iterators import Optional as Optional
from nbtf.experimental import dlpack as dlpack
from nbtf.experimental import numpy as numpy
