"""`tf.compat`: TensorFlow's older API."""

from nbtf.compat import v1 as v1
