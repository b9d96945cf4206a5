"""`tf.lookup.experimental`: tables whose contents may change."""

from nbtf._ops.lookup.tables import DenseHashTable as DenseHashTable
from nbtf._ops.lookup.tables import MutableHashTable as MutableHashTable
