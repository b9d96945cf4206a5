"""`tf.experimental`: of TensorFlow's trials those that let tensors be used as, or shared with, arrays of others."""

from nbtf.experimental import dlpack as dlpack
from nbtf.experimental import numpy as numpy
