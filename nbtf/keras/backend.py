"""`tf.keras.backend`: older names of functions in `tf` and `tf.math`, as far as custom losses and metrics use them."""

from __future__ import annotations

from typing import Any, NoReturn

from nbtf import math
from nbtf._missing import absence as _absence
from nbtf._ops.arrays import broadcasting as _broadcasting
from nbtf._ops.arrays import creation as _creation
from nbtf._ops.arrays.shapes import shape as shape
from nbtf._ops.math import arithmetic as _arithmetic
from nbtf._ops.math import exponentials as _exponentials
from nbtf._ops.math.comparison import equal as equal
from nbtf._ops.math.exponentials import exp as exp
from nbtf._ops.math.exponentials import log as log
from nbtf._ops.math.exponentials import pow as pow
from nbtf._ops.math.exponentials import sigmoid as sigmoid
from nbtf._ops.math.magnitude import abs as abs
from nbtf._ops.math.magnitude import clip_by_value as clip
from nbtf._ops.math.magnitude import maximum as maximum
from nbtf._ops.math.magnitude import minimum as minimum
from nbtf._ops.math.magnitude import square as square
from nbtf._ops.math.rounding import round as round
from nbtf._ops.random import streams as _streams
from nbtf._ops.reductions import means_and_extremes as _means
from nbtf._ops.reductions import sums as _sums
from nbtf._runtime.arguments import check_has as _check_has
from nbtf.keras import border as _border
from nbtf.keras.config import backend as backend
from nbtf.keras.config import epsilon as epsilon
from nbtf.keras.config import floatx as floatx
from nbtf.keras.config import image_data_format as image_data_format
from nbtf.keras.config import set_epsilon as set_epsilon
from nbtf.keras.config import set_floatx as set_floatx
from nbtf.keras.session import clear_session as clear_session


def _numbers(x: Any) -> Any:
    """Returns numbers that have a mean: booleans as floats, other values unchanged."""
    tensor = _creation.convert_to_tensor(x)
    return _arithmetic.cast(tensor, floatx()) if tensor.dtype.is_bool else tensor


def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Returns the sum along axes.

    >>> tf.keras.backend.sum([1.0, 2.0]).numpy()
    np.float32(3.0)
    """
    return _sums.reduce_sum(x, axis, keepdims)


def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Returns the mean along axes; booleans count as 0 and 1."""
    return _means.reduce_mean(_numbers(x), axis, keepdims)


def std(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Returns the standard deviation along axes.

    >>> tf.keras.backend.std([1.0, 3.0]).numpy()
    np.float32(1.0)
    """
    return math.reduce_std(_numbers(x), axis, keepdims)


def var(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Returns the variance along axes."""
    return math.reduce_variance(_numbers(x), axis, keepdims)


def max(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Returns the largest value along axes."""
    return _means.reduce_max(x, axis, keepdims)


def min(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Returns the smallest value along axes."""
    return _means.reduce_min(x, axis, keepdims)


def sqrt(x: Any) -> Any:
    """Returns the square root; 0 for negative numbers."""
    return _exponentials.sqrt(clip(x, 0.0, float("inf")))


def cast(x: Any, dtype: Any) -> Any:
    """Returns the values in another dtype."""
    return _arithmetic.cast(x, dtype)


def flatten(x: Any) -> Any:
    """Returns all values along a single axis."""
    return _broadcasting.reshape(x, [-1])


def get_value(x: Any) -> Any:
    """Returns the value as a NumPy array."""
    return x.numpy() if hasattr(x, "numpy") else x


def set_value(x: Any, value: Any) -> None:
    """Sets the value of a variable."""
    _check_has(x, "assign", "x", "a variable").assign(value)


def int_shape(x: Any) -> tuple[int | None, ...]:
    """Returns the shape as a tuple."""
    lengths: Any = _check_has(x, "shape", "x", "a tensor").shape
    return tuple(lengths)


def random_normal(shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    """Returns normally distributed numbers."""
    return _streams.normal(shape, mean, stddev, dtype or floatx(), seed)


_GONE = frozenset(
    (
        "control_flow_ops function get_graph get_session get_variable_shape in_test_phase in_train_phase "
        "is_placeholder learning_phase learning_phase_scope manual_variable_initialization placeholder print_tensor "
        "reset_uids set_learning_phase set_session symbolic_learning_phase"
    ).split()
)
"""Names of Keras 2 that Keras 3 no longer has. Source: `tf.keras.backend` 2.21."""


def __getattr__(name: str) -> NoReturn:
    if name in _GONE:  # Keras names its own module in the error
        advice = "Keras 3 removed it. Models run eagerly, without a session: set devices and memory with tf.config."
        raise _absence("keras._tf_keras.keras.backend", name, advice)
    _border.refuse(__name__, name)
