"""`tf.keras.layers`: the building blocks of models."""

from nbtf._public import public_names as _public_names
from nbtf.keras.layers.activation import ELU as ELU
from nbtf.keras.layers.activation import LeakyReLU as LeakyReLU
from nbtf.keras.layers.activation import PReLU as PReLU
from nbtf.keras.layers.activation import ReLU as ReLU
from nbtf.keras.layers.activation import Softmax as Softmax
from nbtf.keras.layers.base import Layer as Layer
from nbtf.keras.layers.cells import GRUCell as GRUCell
from nbtf.keras.layers.cells import LSTMCell as LSTMCell
from nbtf.keras.layers.cells import SimpleRNNCell as SimpleRNNCell
from nbtf.keras.layers.cells import StackedRNNCells as StackedRNNCells
from nbtf.keras.layers.convolution import Conv1D as Conv1D
from nbtf.keras.layers.convolution import Conv1DTranspose as Conv1DTranspose
from nbtf.keras.layers.convolution import Conv2D as Conv2D
from nbtf.keras.layers.convolution import Conv2DTranspose as Conv2DTranspose
from nbtf.keras.layers.convolution import Convolution1D as Convolution1D
from nbtf.keras.layers.convolution import Convolution2D as Convolution2D
from nbtf.keras.layers.convolution import Convolution2DTranspose as Convolution2DTranspose
from nbtf.keras.layers.convolution import DepthwiseConv2D as DepthwiseConv2D
from nbtf.keras.layers.convolution import SeparableConv2D as SeparableConv2D
from nbtf.keras.layers.convolution import SeparableConvolution2D as SeparableConvolution2D
from nbtf.keras.layers.core import Activation as Activation
from nbtf.keras.layers.core import Dense as Dense
from nbtf.keras.layers.core import Embedding as Embedding
from nbtf.keras.layers.core import Identity as Identity
from nbtf.keras.layers.core import Input as Input
from nbtf.keras.layers.core import InputLayer as InputLayer
from nbtf.keras.layers.core import Lambda as Lambda
from nbtf.keras.layers.core import Masking as Masking
from nbtf.keras.layers.input_spec import InputSpec as InputSpec
from nbtf.keras.layers.lookup import IntegerLookup as IntegerLookup
from nbtf.keras.layers.lookup import StringLookup as StringLookup
from nbtf.keras.layers.merging import Add as Add
from nbtf.keras.layers.merging import Average as Average
from nbtf.keras.layers.merging import Concatenate as Concatenate
from nbtf.keras.layers.merging import Dot as Dot
from nbtf.keras.layers.merging import Maximum as Maximum
from nbtf.keras.layers.merging import Minimum as Minimum
from nbtf.keras.layers.merging import Multiply as Multiply
from nbtf.keras.layers.merging import Subtract as Subtract
from nbtf.keras.layers.merging import add as add
from nbtf.keras.layers.merging import average as average
from nbtf.keras.layers.merging import concatenate as concatenate
from nbtf.keras.layers.merging import dot as dot
from nbtf.keras.layers.merging import maximum as maximum
from nbtf.keras.layers.merging import minimum as minimum
from nbtf.keras.layers.merging import multiply as multiply
from nbtf.keras.layers.merging import subtract as subtract
from nbtf.keras.layers.normalization import BatchNormalization as BatchNormalization
from nbtf.keras.layers.normalization import LayerNormalization as LayerNormalization
from nbtf.keras.layers.pooling import AveragePooling1D as AveragePooling1D
from nbtf.keras.layers.pooling import AveragePooling2D as AveragePooling2D
from nbtf.keras.layers.pooling import AvgPool1D as AvgPool1D
from nbtf.keras.layers.pooling import AvgPool2D as AvgPool2D
from nbtf.keras.layers.pooling import GlobalAveragePooling1D as GlobalAveragePooling1D
from nbtf.keras.layers.pooling import GlobalAveragePooling2D as GlobalAveragePooling2D
from nbtf.keras.layers.pooling import GlobalAvgPool1D as GlobalAvgPool1D
from nbtf.keras.layers.pooling import GlobalAvgPool2D as GlobalAvgPool2D
from nbtf.keras.layers.pooling import GlobalMaxPool1D as GlobalMaxPool1D
from nbtf.keras.layers.pooling import GlobalMaxPool2D as GlobalMaxPool2D
from nbtf.keras.layers.pooling import GlobalMaxPooling1D as GlobalMaxPooling1D
from nbtf.keras.layers.pooling import GlobalMaxPooling2D as GlobalMaxPooling2D
from nbtf.keras.layers.pooling import MaxPool1D as MaxPool1D
from nbtf.keras.layers.pooling import MaxPool2D as MaxPool2D
from nbtf.keras.layers.pooling import MaxPooling1D as MaxPooling1D
from nbtf.keras.layers.pooling import MaxPooling2D as MaxPooling2D
from nbtf.keras.layers.preprocessing import CategoryEncoding as CategoryEncoding
from nbtf.keras.layers.preprocessing import Discretization as Discretization
from nbtf.keras.layers.preprocessing import Normalization as Normalization
from nbtf.keras.layers.preprocessing import Rescaling as Rescaling
from nbtf.keras.layers.recurrent import GRU as GRU
from nbtf.keras.layers.recurrent import LSTM as LSTM
from nbtf.keras.layers.recurrent import RNN as RNN
from nbtf.keras.layers.recurrent import SimpleRNN as SimpleRNN
from nbtf.keras.layers.regularization import ActivityRegularization as ActivityRegularization
from nbtf.keras.layers.regularization import Dropout as Dropout
from nbtf.keras.layers.regularization import GaussianDropout as GaussianDropout
from nbtf.keras.layers.regularization import GaussianNoise as GaussianNoise
from nbtf.keras.layers.regularization import SpatialDropout1D as SpatialDropout1D
from nbtf.keras.layers.regularization import SpatialDropout2D as SpatialDropout2D
from nbtf.keras.layers.reshaping import Cropping1D as Cropping1D
from nbtf.keras.layers.reshaping import Cropping2D as Cropping2D
from nbtf.keras.layers.reshaping import Flatten as Flatten
from nbtf.keras.layers.reshaping import Permute as Permute
from nbtf.keras.layers.reshaping import RepeatVector as RepeatVector
from nbtf.keras.layers.reshaping import Reshape as Reshape
from nbtf.keras.layers.reshaping import UpSampling1D as UpSampling1D
from nbtf.keras.layers.reshaping import UpSampling2D as UpSampling2D
from nbtf.keras.layers.reshaping import ZeroPadding1D as ZeroPadding1D
from nbtf.keras.layers.reshaping import ZeroPadding2D as ZeroPadding2D
from nbtf.keras.layers.wrappers import Bidirectional as Bidirectional
from nbtf.keras.layers.wrappers import TimeDistributed as TimeDistributed
from nbtf.keras.layers.wrappers import Wrapper as Wrapper
from nbtf.keras.registry import deserialized as _deserialized
from nbtf.keras.registry import serialized as _serialized


def serialize(layer: Layer) -> dict[str, object]:
    """Returns a layer as plain data."""
    return _serialized(layer)


def deserialize(config: dict[str, object], custom_objects: dict[str, object] | None = None) -> Layer:
    """Creates a layer from the result of `serialize`."""
    return _deserialized(config, custom_objects, globals())


def __dir__() -> list[str]:
    return _public_names(__name__)
