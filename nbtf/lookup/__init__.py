"""`tf.lookup`: tables that map keys to values."""

from nbtf._ops.lookup.initializers import KeyValueTensorInitializer as KeyValueTensorInitializer
from nbtf._ops.lookup.initializers import TextFileIndex as TextFileIndex
from nbtf._ops.lookup.initializers import TextFileInitializer as TextFileInitializer
from nbtf._ops.lookup.tables import StaticHashTable as StaticHashTable
from nbtf._ops.lookup.tables import StaticVocabularyTable as StaticVocabularyTable
from nbtf.lookup import experimental as experimental
