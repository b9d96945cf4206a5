"""`tf.keras.preprocessing.image`: functions that convert images to arrays."""

from nbtf.keras import border as _border
from nbtf.keras.utils.images import array_to_img as array_to_img

_border.guard(__name__)
