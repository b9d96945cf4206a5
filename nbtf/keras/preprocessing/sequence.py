"""`tf.keras.preprocessing.sequence`: functions that convert sequences to arrays."""

from nbtf.keras import border as _border
from nbtf.keras.utils.arrays import pad_sequences as pad_sequences

_border.guard(__name__)
