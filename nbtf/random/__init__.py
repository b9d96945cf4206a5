"""`tf.random`: random numbers that depend only on a seed."""

from nbtf._ops.random.binomial import stateless_binomial as stateless_binomial
from nbtf._ops.random.categorical import categorical as categorical
from nbtf._ops.random.categorical import stateless_categorical as stateless_categorical
from nbtf._ops.random.gamma import stateless_gamma as stateless_gamma
from nbtf._ops.random.generator import Generator as Generator
from nbtf._ops.random.generator import get_global_generator as get_global_generator
from nbtf._ops.random.generator import set_global_generator as set_global_generator
from nbtf._ops.random.generator_state import Algorithm as Algorithm
from nbtf._ops.random.generator_state import create_rng_state as create_rng_state
from nbtf._ops.random.stateless import fold_in as fold_in
from nbtf._ops.random.stateless import split as split
from nbtf._ops.random.stateless import stateless_normal as stateless_normal
from nbtf._ops.random.stateless import stateless_truncated_normal as stateless_truncated_normal
from nbtf._ops.random.stateless import stateless_uniform as stateless_uniform
from nbtf._ops.random.streams import normal as normal
from nbtf._ops.random.streams import set_seed as set_seed
from nbtf._ops.random.streams import shuffle as shuffle
from nbtf._ops.random.streams import truncated_normal as truncated_normal
from nbtf._ops.random.streams import uniform as uniform
from nbtf.random import experimental as experimental
