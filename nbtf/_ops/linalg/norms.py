"""Norms, and functions that normalize or clip by norm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.creation import ones_like
from nbtf._ops.arrays.identity import identity
from nbtf._ops.arrays.joining import stack
from nbtf._ops.arrays.shapes import expand_dims, squeeze, transpose
from nbtf._ops.attributes import Axis
from nbtf._ops.linalg.decompositions import svd
from nbtf._ops.math.arithmetic import add, conj, multiply, subtract
from nbtf._ops.math.comparison import greater, where
from nbtf._ops.math.complex_numbers import complex, imag, real
from nbtf._ops.math.division import divide
from nbtf._ops.math.exponentials import pow, rsqrt, sqrt
from nbtf._ops.math.magnitude import abs, maximum, minimum, square
from nbtf._ops.op import Gradients, op
from nbtf._ops.reductions.means_and_extremes import reduce_max
from nbtf._ops.reductions.sums import reduce_sum
from nbtf._ops.specs import of_rank
from nbtf._runtime.arguments import check_number
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import FLOATS, TensorLike

MATRIX_NORMS = ("euclidean", "fro", 1, 2, math.inf)


def norm(
    tensor: TensorLike, ord: Any = "euclidean", axis: Any = None, keepdims: bool | None = None, name: str | None = None
) -> Tensor:
    """Computes norms of vectors or matrices.

    Args:
      tensor: a tensor of floats or complex numbers.
      ord: "euclidean", 1, 2, infinity or any positive number for vectors; "euclidean", "fro", 1, 2 or infinity for
        matrices, where 2 is the largest singular value.
      axis: the axis of vectors, or a pair of axes of matrices; by default all elements form one vector.
      keepdims: whether to keep these axes with length 1; False by default.

    Returns:
      The norms.

    Raises:
      ValueError: if the norm is unknown, or `axis` is neither one axis nor two.

    >>> tf.norm([3.0, 4.0]).numpy()
    np.float32(5.0)
    >>> tf.norm([[1.0, -2.0], [3.0, 4.0]], ord=1, axis=[0, 1]).numpy()
    np.float32(6.0)
    """
    of_matrices = isinstance(axis, list | tuple)
    axes = _checked_axes(axis) if of_matrices else axis
    _check_ord(ord, axis, of_matrices)
    x = as_tensor(tensor)
    if ord in ("fro", "euclidean", 2, 2.0):
        if of_matrices and ord in (2, 2.0):
            result = _largest_singular_value(x, axes)
        else:
            result = sqrt(reduce_sum(multiply(x, conj(x)), axes, True))
    else:
        result = _other_norm(abs(x), ord, axes, of_matrices)
    return result if keepdims else squeeze(result, axes)


def _checked_axes(axis: Any) -> tuple[int, int]:
    if len(axis) != 2 or not all(isinstance(number, int) for number in axis):
        raise _strange_axis(axis)
    if axis[0] == axis[1]:
        raise _strange_axis(tuple(axis))
    return axis[0], axis[1]


def _strange_axis(axis: Any) -> ValueError:
    return ValueError(f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}")


def _check_ord(ord: Any, axis: Any, of_matrices: bool) -> None:
    if of_matrices:
        if ord not in MATRIX_NORMS:
            names = "['euclidean', 'fro', 1, 2, inf]"
            raise ValueError(f"'ord' must be a supported matrix norm in {names}, got {ord}")
        return
    if axis is not None and not hasattr(axis, "__index__"):
        raise _strange_axis(axis)
    if isinstance(ord, str) and (ord != "fro" or axis is not None) and ord != "euclidean":
        raise ValueError(f"'ord' must be a supported vector norm, got {ord}")
    if not isinstance(ord, str) and check_number(ord, "ord") <= 0:
        raise ValueError(f"'ord' must be a supported vector norm, got {ord}")


def _other_norm(sizes: Tensor, ord: Any, axes: Any, of_matrices: bool) -> Tensor:
    if of_matrices:  # the largest column sum or row sum
        summed, compared = (0, 1) if ord == 1 else (1, 0)
        return reduce_max(reduce_sum(sizes, axes[summed], True), axes[compared], True)
    if ord == 1:
        return reduce_sum(sizes, axes, True)
    if ord == math.inf:
        return reduce_max(sizes, axes, True)
    return pow(reduce_sum(pow(sizes, ord), axes, True), 1.0 / ord)


def _largest_singular_value(x: Tensor, axes: tuple[int, int]) -> Tensor:
    rank = len(x.shape)
    last = [axis % rank for axis in axes]
    order = [axis for axis in range(rank) if axis not in last] + last
    values = svd(transpose(x, order), compute_uv=False)
    largest = expand_dims(reduce_max(values, -1, True), -1)
    return transpose(largest, [order.index(axis) for axis in range(rank)])


def normalize(
    tensor: TensorLike, ord: Any = "euclidean", axis: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Returns vectors or matrices divided by their norm, and the norms.

    Args:
      tensor: a tensor of floats or complex numbers.
      ord: the norm; see `tf.norm`.
      axis: the axis of vectors, or a pair of axes of matrices; by default all elements form one vector.

    Returns:
      The result, with `tensor`'s shape, and the norms, whose axes are kept with length 1.

    Raises:
      ValueError: if the norm is unknown, or `axis` is neither one axis nor two.

    >>> tf.linalg.normalize([3.0, 4.0])[0].numpy()
    array([0.6, 0.8], dtype=float32)
    """
    x = as_tensor(tensor)
    length = norm(x, ord, axis, True)
    return divide(x, length, name), length


def l2_normalize(
    x: TensorLike, axis: Axis = None, epsilon: float = 1e-12, name: str | None = None, dim: Axis = None
) -> Tensor:
    """Returns vectors divided by their Euclidean norm.

    Args:
      x: floats or complex numbers.
      axis: the axes of each vector; all by default.
      epsilon: a lower bound of the squared norm, which prevents division by 0; 1e-12 by default.
      dim: the deprecated name of `axis`.

    Returns:
      A tensor of `x`'s shape.

    >>> tf.math.l2_normalize([3.0, 4.0]).numpy()
    array([0.6, 0.8], dtype=float32)
    """
    tensor = as_tensor(x)
    axes = dim if axis is None else axis
    if tensor.dtype.is_complex:
        components = real(tensor), imag(tensor)
        squares = add(square(components[0]), square(components[1]))
        shrink = rsqrt(maximum(reduce_sum(squares, axes, True), epsilon))
        return complex(multiply(components[0], shrink), multiply(components[1], shrink), name)
    return multiply(tensor, rsqrt(maximum(reduce_sum(square(tensor), axes, True), epsilon)), name)


def clip_by_norm(t: TensorLike, clip_norm: TensorLike, axes: Axis = None, name: str | None = None) -> Tensor:
    """Returns a tensor scaled down so that its Euclidean norm does not exceed a limit.

    Args:
      t: floats.
      clip_norm: the maximum norm.
      axes: the axes of each vector; all by default.

    Returns:
      A tensor of `t`'s shape.

    >>> tf.clip_by_norm([6.0, 8.0], 5.0).numpy()
    array([3., 4.], dtype=float32)
    """
    tensor = as_tensor(t)
    limit = as_tensor(clip_norm, tensor.dtype)
    squares = reduce_sum(multiply(tensor, tensor), axes, True)
    positive = greater(squares, 0)
    safe = where(positive, squares, ones_like(squares))  # the square root has no gradient at 0
    length = where(positive, sqrt(safe), squares)
    return identity(divide(multiply(tensor, limit), maximum(length, limit)), name)


def global_norm(t_list: Sequence[TensorLike | None], name: str | None = None) -> Tensor:
    """Returns the Euclidean norm of all elements of several tensors.

    Args:
      t_list: list of float tensors; None entries are ignored.

    Returns:
      A scalar.

    Raises:
      TypeError: if `t_list` is not a sequence.

    >>> tf.linalg.global_norm([[3.0], [4.0]]).numpy()
    np.float32(5.0)
    """
    _check_list(t_list)
    halves = [l2_loss(_values(t)) for t in t_list if t is not None]
    if not halves:
        return sqrt(multiply(reduce_sum(as_tensor([])), 2.0))
    return sqrt(multiply(reduce_sum(stack(halves)), 2.0), name)


def _check_list(t_list: Any) -> None:
    if not isinstance(t_list, Sequence) or isinstance(t_list, str):
        raise TypeError(f"`t_list` should be a sequence of tensors. Received {type(t_list)}.")


def _values(t: Any) -> Any:
    """Returns the values of a tensor; for the gradient of a gather, its slices."""
    return getattr(t, "values", t)


def clip_by_global_norm(
    t_list: Sequence[Any], clip_norm: TensorLike, use_norm: TensorLike | None = None, name: str | None = None
) -> tuple[list[Any], Tensor]:
    """Returns several tensors scaled down by a common factor so that their global norm does not exceed a limit.

    Args:
      t_list: list of float tensors, such as gradients; None entries stay None.
      clip_norm: the maximum global norm.
      use_norm: the global norm, if already known; computed by default.

    Returns:
      The list of clipped tensors and the global norm before clipping; if that is not finite, the tensors are nan.

    Raises:
      TypeError: if `t_list` is not a sequence.

    >>> clipped, length = tf.clip_by_global_norm([[6.0], [8.0]], 5.0)
    >>> [t.numpy() for t in clipped], length.numpy()
    ([array([3.], dtype=float32), array([4.], dtype=float32)], np.float32(10.0))
    """
    _check_list(t_list)
    length = global_norm(t_list) if use_norm is None else as_tensor(use_norm)
    limit = as_tensor(clip_norm, length.dtype)
    scale = multiply(minimum(divide(1.0, length), divide(as_tensor(1.0, length.dtype), limit)), limit)
    scale = add(scale, subtract(length, length))  # nan if the norm is not finite
    return [_scaled(t, scale, name) for t in t_list], length


def _scaled(t: Any, scale: Tensor, name: str | None) -> Any:
    if t is None:
        return None
    if hasattr(t, "values") and hasattr(t, "indices"):
        return type(t)(multiply(t.values, scale), t.indices, t.dense_shape)
    return identity(multiply(as_tensor(t), scale), name)


@op("T -> T", T=FLOATS, partly=of_rank(0))
def L2Loss(xp: Any, t: Any) -> Any:
    flat = t.reshape(-1)
    return xp.add.reduce(flat * flat, None, t.dtype) * t.dtype.type(0.5)


@L2Loss.express
def l2_loss(t: TensorLike, name: str | None = None) -> Tensor:
    """Returns half the sum of squares.

    Returns:
      A scalar.

    >>> tf.nn.l2_loss([3.0, 4.0]).numpy()
    np.float32(12.5)
    """
    return L2Loss(t, name=name)


@L2Loss.infer
def _(t: Spec) -> Spec:
    return Spec((), t.dtype)


@L2Loss.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [call.inputs[0] * grad]
