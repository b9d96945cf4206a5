"""`tf.random`: numbers that depend on a seed and on nothing else."""

from nbtf._ops.categorical import categorical as categorical
from nbtf._ops.categorical import stateless_categorical as stateless_categorical
from nbtf._ops.generator import Algorithm as Algorithm
from nbtf._ops.generator import Generator as Generator
from nbtf._ops.generator import create_rng_state as create_rng_state
from nbtf._ops.generator import get_global_generator as get_global_generator
from nbtf._ops.generator import set_global_generator as set_global_generator
from nbtf._ops.random import normal as normal
from nbtf._ops.random import set_seed as set_seed
from nbtf._ops.random import shuffle as shuffle
from nbtf._ops.random import truncated_normal as truncated_normal
from nbtf._ops.random import uniform as uniform
from nbtf._ops.stateless_random import fold_in as fold_in
from nbtf._ops.stateless_random import split as split
from nbtf._ops.stateless_random import stateless_normal as stateless_normal
from nbtf._ops.stateless_random import stateless_truncated_normal as stateless_truncated_normal
from nbtf._ops.stateless_random import stateless_uniform as stateless_uniform
from nbtf.random import experimental as experimental
