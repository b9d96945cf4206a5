"""`tf.keras.preprocessing.image`: functions that convert images to arrays."""

from nbtf.keras.utils.images import array_to_img as array_to_img
from nbtf.keras.utils.images import img_to_array as img_to_array
from nbtf.keras.utils.images import load_img as load_img
from nbtf.keras.utils.images import save_img as save_img
