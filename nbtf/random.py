"""`tf.random`: numbers that depend on a seed and on nothing else."""

from nbtf._ops.random import normal as normal
from nbtf._ops.random import set_seed as set_seed
from nbtf._ops.random import shuffle as shuffle
from nbtf._ops.random import truncated_normal as truncated_normal
from nbtf._ops.random import uniform as uniform
from nbtf._ops.stateless_random import split as split
from nbtf._ops.stateless_random import stateless_normal as stateless_normal
from nbtf._ops.stateless_random import stateless_truncated_normal as stateless_truncated_normal
from nbtf._ops.stateless_random import stateless_uniform as stateless_uniform
