"""`tf.math`: arithmetic, functions, comparisons and reductions."""

from nbtf._ops.broadcasting import reduce_sum as reduce_sum
