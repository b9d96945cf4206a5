"""`tf.keras.layers`: what models are made of."""

from nbtf.keras.layers.base import Layer as Layer
from nbtf.keras.layers.core import Activation as Activation
from nbtf.keras.layers.core import Dense as Dense
from nbtf.keras.layers.core import Embedding as Embedding
from nbtf.keras.layers.core import Identity as Identity
from nbtf.keras.layers.core import Input as Input
from nbtf.keras.layers.core import InputLayer as InputLayer
from nbtf.keras.layers.core import Lambda as Lambda
from nbtf.keras.layers.core import Masking as Masking
from nbtf.keras.layers.input_spec import InputSpec as InputSpec
