"""`tf.experimental`: NumPy behaviour of tensors, and sharing memory with the arrays of other libraries."""

from nbtf.experimental import dlpack as dlpack
from nbtf.experimental import numpy as numpy
