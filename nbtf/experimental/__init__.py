"""`tf.experimental`: of TensorFlow's trials the one that lets tensors be used as NumPy's arrays."""

from nbtf.experimental import numpy as numpy
