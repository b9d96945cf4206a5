"""`tf.compat.v1.layers`: layers as functions that create their variables, and as classes that keep them."""

from nbtf._public import public_names as _public_names
from nbtf.compat._v1.layers.base import Layer as Layer
from nbtf.compat._v1.layers.convolution import AveragePooling2D as AveragePooling2D
from nbtf.compat._v1.layers.convolution import Conv2D as Conv2D
from nbtf.compat._v1.layers.convolution import MaxPooling2D as MaxPooling2D
from nbtf.compat._v1.layers.convolution import average_pooling2d as average_pooling2d
from nbtf.compat._v1.layers.convolution import conv2d as conv2d
from nbtf.compat._v1.layers.convolution import max_pooling2d as max_pooling2d
from nbtf.compat._v1.layers.core import Dense as Dense
from nbtf.compat._v1.layers.core import Dropout as Dropout
from nbtf.compat._v1.layers.core import Flatten as Flatten
from nbtf.compat._v1.layers.core import dense as dense
from nbtf.compat._v1.layers.core import dropout as dropout
from nbtf.compat._v1.layers.core import flatten as flatten
from nbtf.compat._v1.layers.normalization import BatchNormalization as BatchNormalization
from nbtf.compat._v1.layers.normalization import batch_normalization as batch_normalization


def __dir__() -> list[str]:
    return _public_names(__name__)
