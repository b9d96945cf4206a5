"""`tf.keras.preprocessing`: older names of functions in `tf.keras.utils`."""

from nbtf.keras.preprocessing import image as image
from nbtf.keras.preprocessing import sequence as sequence
