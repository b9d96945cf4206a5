"""`tf.sets`: operations on the sets in the last axis of tensors."""

from nbtf._ops.ragged_and_sparse.sets import difference as difference
from nbtf._ops.ragged_and_sparse.sets import intersection as intersection
from nbtf._ops.ragged_and_sparse.sets import size as size
from nbtf._ops.ragged_and_sparse.sets import union as union
