"""`tf.experimental`: NumPy behaviour of tensors, optionals, and sharing memory with the arrays of other libraries."""

from nbtf.data.iterators import Optional as Optional
from nbtf.experimental import dlpack as dlpack
from nbtf.experimental import numpy as numpy
