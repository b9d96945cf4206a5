"""`tf.keras.backend`: older names of functions in `tf` and `tf.math`."""

from typing import NoReturn as _NoReturn

from nbtf._missing import absence as _absence
from nbtf._ops.arrays.broadcasting import reshape as reshape
from nbtf._ops.arrays.creation import ones_like as ones_like
from nbtf._ops.arrays.creation import zeros_like as zeros_like
from nbtf._ops.arrays.gathering import gather as gather
from nbtf._ops.arrays.identity import stop_gradient as stop_gradient
from nbtf._ops.arrays.joining import stack as stack
from nbtf._ops.arrays.shapes import expand_dims as expand_dims
from nbtf._ops.arrays.shapes import shape as shape
from nbtf._ops.arrays.shapes import squeeze as squeeze
from nbtf._ops.arrays.shapes import transpose as transpose
from nbtf._ops.math.comparison import equal as equal
from nbtf._ops.math.comparison import greater as greater
from nbtf._ops.math.comparison import greater_equal as greater_equal
from nbtf._ops.math.comparison import less as less
from nbtf._ops.math.comparison import less_equal as less_equal
from nbtf._ops.math.comparison import not_equal as not_equal
from nbtf._ops.math.exponentials import exp as exp
from nbtf._ops.math.exponentials import log as log
from nbtf._ops.math.exponentials import pow as pow
from nbtf._ops.math.exponentials import sigmoid as sigmoid
from nbtf._ops.math.exponentials import tanh as tanh
from nbtf._ops.math.magnitude import abs as abs
from nbtf._ops.math.magnitude import clip_by_value as _clip_by_value
from nbtf._ops.math.magnitude import maximum as maximum
from nbtf._ops.math.magnitude import minimum as minimum
from nbtf._ops.math.magnitude import sign as sign
from nbtf._ops.math.magnitude import square as square
from nbtf._ops.math.rounding import round as round
from nbtf._ops.math.trigonometry import cos as cos
from nbtf._ops.math.trigonometry import sin as sin
from nbtf.keras.backend.functions import all as all
from nbtf.keras.backend.functions import any as any
from nbtf.keras.backend.functions import argmax as argmax
from nbtf.keras.backend.functions import argmin as argmin
from nbtf.keras.backend.functions import batch_flatten as batch_flatten
from nbtf.keras.backend.functions import binary_crossentropy as binary_crossentropy
from nbtf.keras.backend.functions import cast as cast
from nbtf.keras.backend.functions import cast_to_floatx as cast_to_floatx
from nbtf.keras.backend.functions import categorical_crossentropy as categorical_crossentropy
from nbtf.keras.backend.functions import concatenate as concatenate
from nbtf.keras.backend.functions import constant as constant
from nbtf.keras.backend.functions import dot as dot
from nbtf.keras.backend.functions import dtype as dtype
from nbtf.keras.backend.functions import eval as eval
from nbtf.keras.backend.functions import flatten as flatten
from nbtf.keras.backend.functions import get_value as get_value
from nbtf.keras.backend.functions import int_shape as int_shape
from nbtf.keras.backend.functions import l2_normalize as l2_normalize
from nbtf.keras.backend.functions import max as max
from nbtf.keras.backend.functions import mean as mean
from nbtf.keras.backend.functions import min as min
from nbtf.keras.backend.functions import ndim as ndim
from nbtf.keras.backend.functions import ones as ones
from nbtf.keras.backend.functions import prod as prod
from nbtf.keras.backend.functions import random_normal as random_normal
from nbtf.keras.backend.functions import random_uniform as random_uniform
from nbtf.keras.backend.functions import relu as relu
from nbtf.keras.backend.functions import set_value as set_value
from nbtf.keras.backend.functions import softmax as softmax
from nbtf.keras.backend.functions import sparse_categorical_crossentropy as sparse_categorical_crossentropy
from nbtf.keras.backend.functions import sqrt as sqrt
from nbtf.keras.backend.functions import std as std
from nbtf.keras.backend.functions import sum as sum
from nbtf.keras.backend.functions import var as var
from nbtf.keras.backend.functions import variable as variable
from nbtf.keras.backend.functions import zeros as zeros
from nbtf.keras.config import backend as backend
from nbtf.keras.config import epsilon as epsilon
from nbtf.keras.config import floatx as floatx
from nbtf.keras.config import image_data_format as image_data_format
from nbtf.keras.config import set_epsilon as set_epsilon
from nbtf.keras.config import set_floatx as set_floatx
from nbtf.keras.session import clear_session as clear_session
from nbtf.keras.utils.tensor_checks import is_keras_tensor as is_keras_tensor
from nbtf.keras.utils.tensor_checks import standardize_dtype as standardize_dtype

clip = _clip_by_value

_GONE = frozenset(
    (
        "control_flow_ops function get_graph get_session get_variable_shape in_test_phase in_train_phase "
        "is_placeholder learning_phase learning_phase_scope manual_variable_initialization placeholder print_tensor "
        "reset_uids set_learning_phase set_session symbolic_learning_phase"
    ).split()
)
"""Names of Keras 2 that Keras 3 no longer has. Source: `tf.keras.backend` 2.21."""


def __getattr__(name: str) -> _NoReturn:
    if name in _GONE:  # Keras names its own module in the error
        advice = "Keras 3 removed it. Models run eagerly, without a session: set devices and memory with tf.config."
        raise _absence("keras._tf_keras.keras.backend", name, advice)
    raise _absence("nbtf.keras.backend", name)
