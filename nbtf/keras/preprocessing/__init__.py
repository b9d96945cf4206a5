"""`tf.keras.preprocessing`: older names of functions in `tf.keras.utils`."""

from nbtf.keras import border as _border
from nbtf.keras.preprocessing import image as image
from nbtf.keras.preprocessing import sequence as sequence

_border.guard(__name__)
