"""`tf.nn.experimental`: dropout whose random numbers depend only on a seed or come from a function."""

from nbtf._ops.nn.dropout import general_dropout as general_dropout
from nbtf._ops.nn.dropout import stateless_dropout as stateless_dropout
