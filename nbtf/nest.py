"""`tf.nest`: functions for nested lists, tuples and dictionaries."""

from nbtf._ops.structure import assert_same_structure as assert_same_structure
from nbtf._ops.structure import flatten as flatten
from nbtf._ops.structure import is_nested as is_nested
from nbtf._ops.structure import map_structure as map_structure
from nbtf._ops.structure import pack_sequence_as as pack_sequence_as
