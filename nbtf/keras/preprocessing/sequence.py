"""`tf.keras.preprocessing.sequence`: sequences as arrays."""

from nbtf.keras.utils.arrays import pad_sequences as pad_sequences
