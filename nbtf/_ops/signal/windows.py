"""Windows: weights that lessen the ends of a frame before its Fourier transform."""

from __future__ import annotations

from math import pi
from typing import Any

from nbtf._ops.arrays.ranges import range
from nbtf._ops.math.arithmetic import add, cast, multiply, subtract
from nbtf._ops.math.bessel import bessel_i0
from nbtf._ops.math.comparison import equal, where
from nbtf._ops.math.division import divide, floormod
from nbtf._ops.math.exponentials import sqrt
from nbtf._ops.math.magnitude import maximum, square
from nbtf._ops.math.trigonometry import cos
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import DType, DTypeLike, TensorLike, as_dtype, float32, int32


def hann_window(
    window_length: TensorLike, periodic: Any = True, dtype: DTypeLike = float32, name: str | None = None
) -> Tensor:
    """Returns a Hann window, a raised cosine that is 0 at its start.

    Args:
      window_length: the number of elements, a scalar.
      periodic: whether a window of an even length is one period of a longer one (default) or symmetric.
      dtype: a floating-point dtype.
      name: accepted and ignored.

    Returns:
      The window, shape `[window_length]`.

    Raises:
      ValueError: if `dtype` is not floating-point, or `window_length` is not a scalar.

    >>> tf.signal.hann_window(4).numpy()
    array([0. , 0.5, 1. , 0.5], dtype=float32)
    """
    return _raised_cosine(window_length, periodic, dtype, 0.5, 0.5)


def hamming_window(
    window_length: TensorLike, periodic: Any = True, dtype: DTypeLike = float32, name: str | None = None
) -> Tensor:
    """Returns a Hamming window, a raised cosine from 0.08 to 1.

    Args:
      window_length: the number of elements, a scalar.
      periodic: whether a window of an even length is one period of a longer one (default) or symmetric.
      dtype: a floating-point dtype.
      name: accepted and ignored.

    Returns:
      The window, shape `[window_length]`.

    Raises:
      ValueError: if `dtype` is not floating-point, or `window_length` is not a scalar.

    >>> tf.signal.hamming_window(4).numpy().round(2)
    array([0.08, 0.54, 1.  , 0.54], dtype=float32)
    """
    return _raised_cosine(window_length, periodic, dtype, 0.54, 0.46)


def kaiser_window(
    window_length: TensorLike, beta: TensorLike = 12.0, dtype: DTypeLike = float32, name: str | None = None
) -> Tensor:
    """Returns a Kaiser window, a quotient of Bessel functions.

    Args:
      window_length: the number of elements, a scalar.
      beta: how steeply the window falls; 0 makes all elements 1.
      dtype: a floating-point dtype.
      name: accepted and ignored.

    Returns:
      The window, shape `[window_length]`, symmetric.

    Raises:
      ValueError: if `dtype` is not floating-point, or `window_length` is not a scalar.

    >>> tf.signal.kaiser_window(3, beta=4.0).numpy().round(3)
    array([0.088, 1.   , 0.088], dtype=float32)
    """
    length, target = _checked(window_length, dtype)
    steepness = cast(beta, target)
    half = divide(cast(maximum(subtract(length, 1), 1), target), 2.0)
    positions = divide(subtract(cast(range(length), target), half), half)
    heights = sqrt(maximum(subtract(as_tensor(1.0, target), square(positions)), as_tensor(0.0, target)))
    return _one_alone(length, divide(bessel_i0(multiply(steepness, heights)), bessel_i0(steepness)))


def _checked(window_length: TensorLike, dtype: DTypeLike) -> tuple[Tensor, DType]:
    target = as_dtype(dtype)
    if not target.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {target!r}")
    length = as_tensor(window_length, int32)
    length.shape.assert_has_rank(0)
    return length, target


def _one_alone(length: Tensor, window: Tensor) -> Tensor:
    """Returns a window whose element is 1 if it has only one."""
    return where(equal(length, 1), as_tensor(1.0, window._dtype), window)


def _raised_cosine(window_length: TensorLike, periodic: Any, dtype: DTypeLike, mean: float, height: float) -> Tensor:
    """Returns a cosine window. As in TensorFlow, one of an odd length is symmetric even if `periodic`."""
    length, target = _checked(window_length, dtype)
    even = subtract(1, floormod(length, 2))
    period = subtract(add(length, multiply(cast(periodic, int32), even)), 1)
    angles = divide(multiply(as_tensor(2 * pi, target), cast(range(length), target)), cast(maximum(period, 1), target))
    return _one_alone(length, subtract(as_tensor(mean, target), multiply(cos(angles), height)))
