"""`tf.image`: images; of TensorFlow's functions the one that has no gradient."""

from nbtf._ops.image import adjust_contrast as adjust_contrast
