"""`tf.raw_ops`: ops that no other function leads to, by their types."""

from nbtf._ops.extent import MirrorPadGrad as MirrorPadGrad
from nbtf._ops.indexing import StridedSliceGrad as StridedSliceGrad
from nbtf._ops.shape import Rank as Rank
from nbtf._ops.shape import Size as Size
