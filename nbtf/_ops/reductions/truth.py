"""Logical reductions: whether any or all elements along axes are true."""

from __future__ import annotations

import typing

from nbtf._ops.attributes import Axis, as_axes
from nbtf._ops.op import no_gradient
from nbtf._ops.reductions.sums import reduction
from nbtf._runtime.tensor import Tensor
from nbtf._types import TensorLike

# The ops have TensorFlow's type names, one of which is `Any`; hence `typing.Any`.


@reduction("bool -> bool")
def Any(xp: typing.Any, input_tensor: typing.Any, axis: typing.Any, keepdims: bool) -> typing.Any:
    return input_tensor.any(None if axis is None else as_axes(axis), keepdims=keepdims)


@Any.express
def reduce_any(input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """Returns whether any element along axes is true.

    Args:
      input_tensor: a bool tensor, shape `[d0, ..., dn]`.
      axis: an axis or a list of axes, counted from the end if negative; all axes by default.

    Returns:
      A bool tensor; False for an empty tensor.

    Raises:
      InvalidArgumentError: if an axis is outside `[-rank, rank)`, or the elements are not bool.

    >>> tf.reduce_any([[True, False], [False, False]], axis=1).numpy()
    array([ True, False])
    """
    return Any(input_tensor, axis=axis, keepdims=keepdims, name=name)


@reduction("bool -> bool")
def All(xp: typing.Any, input_tensor: typing.Any, axis: typing.Any, keepdims: bool) -> typing.Any:
    return input_tensor.all(None if axis is None else as_axes(axis), keepdims=keepdims)


@All.express
def reduce_all(input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """Returns whether all elements along axes are true.

    Args:
      input_tensor: a bool tensor, shape `[d0, ..., dn]`.
      axis: an axis or a list of axes, counted from the end if negative; all axes by default.

    Returns:
      A bool tensor; True for an empty tensor.

    Raises:
      InvalidArgumentError: if an axis is outside `[-rank, rank)`, or the elements are not bool.

    >>> tf.reduce_all([[True, True], [True, False]], axis=1).numpy()
    array([ True, False])
    """
    return All(input_tensor, axis=axis, keepdims=keepdims, name=name)


no_gradient(Any, All)
