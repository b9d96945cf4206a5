"""`tf.bitwise`: bitwise operations on integers."""

from nbtf._ops.math.logic import bitwise_and as bitwise_and
from nbtf._ops.math.logic import bitwise_or as bitwise_or
from nbtf._ops.math.logic import bitwise_xor as bitwise_xor
from nbtf._ops.math.logic import invert as invert
from nbtf._ops.math.logic import left_shift as left_shift
from nbtf._ops.math.logic import right_shift as right_shift
