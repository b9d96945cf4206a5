"""`tf.nn`: activations, softmax and losses."""

from nbtf._ops.functions import sigmoid as sigmoid
from nbtf._ops.functions import tanh as tanh
