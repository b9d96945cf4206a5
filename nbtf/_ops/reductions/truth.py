"""Whether some or all elements along axes are true."""

from __future__ import annotations

import typing

from nbtf._devices.base import Spec
from nbtf._ops.attributes import AXES, Axis, as_axes, as_reduced
from nbtf._ops.op import no_gradient, op
from nbtf._ops.reductions.sums import reduced_shape
from nbtf._ops.specs import reduced
from nbtf._runtime.tensor import Tensor
from nbtf._types import TensorLike

# The records carry TensorFlow's type names, one of which is also the name of a type: hence `typing.Any`.


@op("bool -> bool", host={"axis": as_reduced}, partly=reduced, inputs=AXES, index_type="Tidx")
def Any(xp: typing.Any, input_tensor: typing.Any, axis: typing.Any, keepdims: bool) -> typing.Any:
    return input_tensor.any(None if axis is None else as_axes(axis), keepdims=keepdims)


@Any.express
def reduce_any(input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """Tells whether some elements along axes are true.

    Args:
      input_tensor: bool, shape `[d0, ..., dn]`.
      axis: an axis or a list of them, counted from the end if negative; all when None.

    Returns:
      A bool tensor; of no elements, False.

    Raises:
      InvalidArgumentError: an axis is outside `[-rank, rank)`, or the elements are not bool.

    >>> tf.reduce_any([[True, False], [False, False]], axis=1).numpy()
    array([ True, False])
    """
    return Any(input_tensor, axis=axis, keepdims=keepdims, name=name)


@op("bool -> bool", host={"axis": as_reduced}, partly=reduced, inputs=AXES, index_type="Tidx")
def All(xp: typing.Any, input_tensor: typing.Any, axis: typing.Any, keepdims: bool) -> typing.Any:
    return input_tensor.all(None if axis is None else as_axes(axis), keepdims=keepdims)


@All.express
def reduce_all(input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """Tells whether all elements along axes are true.

    Args:
      input_tensor: bool, shape `[d0, ..., dn]`.
      axis: an axis or a list of them, counted from the end if negative; all when None.

    Returns:
      A bool tensor; of no elements, True.

    Raises:
      InvalidArgumentError: an axis is outside `[-rank, rank)`, or the elements are not bool.

    >>> tf.reduce_all([[True, True], [True, False]], axis=1).numpy()
    array([ True, False])
    """
    return All(input_tensor, axis=axis, keepdims=keepdims, name=name)


def _reduced(input_tensor: Spec, axis: typing.Any, keepdims: bool) -> Spec:
    return Spec(reduced_shape(input_tensor.shape, axis, keepdims), input_tensor.dtype)


Any.infer(_reduced)
All.infer(_reduced)
no_gradient(Any, All)
