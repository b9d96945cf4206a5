"""`tf.random.experimental`: older names of functions that are now in `tf.random`."""

from nbtf._ops.random.generator import Generator as Generator
from nbtf._ops.random.generator import get_global_generator as get_global_generator
from nbtf._ops.random.generator import set_global_generator as set_global_generator
from nbtf._ops.random.generator_state import Algorithm as Algorithm
from nbtf._ops.random.generator_state import create_rng_state as create_rng_state
from nbtf._ops.random.stateless import fold_in as stateless_fold_in
from nbtf._ops.random.stateless import split as stateless_split

__all__ = [
    "Algorithm",
    "Generator",
    "create_rng_state",
    "get_global_generator",
    "set_global_generator",
    "stateless_fold_in",
    "stateless_split",
]
