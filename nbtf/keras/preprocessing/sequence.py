"""`tf.keras.preprocessing.sequence`: functions that convert sequences to arrays."""

from nbtf.keras.utils.arrays import pad_sequences as pad_sequences
