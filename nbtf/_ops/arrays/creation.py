"""Creates tensors from values (constant, convert_to_tensor, fill and related functions) and inspects them."""

from __future__ import annotations

import math
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.shapes import shape as shape_of
from nbtf._ops.attributes import HostInput, as_ints, as_shape, of_integers
from nbtf._ops.op import Gradients, no_gradient, op
from nbtf._ops.reductions.sums import reduce_sum
from nbtf._ops.specs import as_asked, bracketed, spec_of_first
from nbtf._runtime.context import open_graph
from nbtf._runtime.conversion import as_tensor, host_array, list_as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import ShapeLike, TensorShape
from nbtf._types import ALL, DType, DTypeLike, TensorLike, as_dtype, bool_, float32, int32, string
from nbtf.errors import InvalidArgumentError


def constant(
    value: TensorLike | TensorShape,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    name: str | None = "Const",
) -> Tensor:
    """Returns a tensor with the given value.

    Args:
      value: a number, a string, an array, or nested lists of them. A tensor is returned unchanged, on its own device.
      dtype: the dtype; by default float32 for Python floats, int32 for Python integers, and an array's own.
      shape: the shape of the result; a single element fills it.

    Returns:
      A tensor on the current device.

    Raises:
      TypeError: if `value` does not fit `dtype` or `shape`.
      ValueError: if `value` cannot become a tensor, for example because lists differ in length.

    >>> tf.constant([1, 2, 3, 4], shape=[2, 2]).numpy()
    array([[1, 2],
           [3, 4]], dtype=int32)
    """
    if dtype is None and shape is None and value.__class__ is list:
        return _called(name, list_as_tensor(value, None))
    asked_dtype: Any = dtype if dtype is None or dtype.__class__ is DType else as_dtype(dtype)
    if value.__class__ is Tensor:
        _check(value, asked_dtype)
    if shape is None:
        return _called(name, as_tensor(value, asked_dtype))
    return _called(name, _shaped(value, as_tensor(value, asked_dtype), TensorShape(shape)))


def _called(name: str | None, tensor: Any) -> Tensor:
    """Returns the tensor; a graph tensor gets the given name."""
    return tensor if tensor.__class__ is Tensor or not hasattr(tensor, "called") else tensor.called(name)


def _check(value: Any, dtype: DType | None) -> None:
    if dtype is not None and value._dtype is not dtype:
        raise TypeError(f"Expected tensor {value} with dtype {dtype!r}, but got dtype {value._dtype!r}.")


def _shaped(value: Any, tensor: Tensor, shape: TensorShape) -> Tensor:
    if tensor.shape == shape:
        return tensor
    lengths = shape.as_list()
    if None in lengths:
        host_array(None)  # raises TensorFlow's error
    have, needed = tensor.shape.num_elements(), math.prod(n or 0 for n in lengths)
    if have == needed:
        return reshape(tensor, lengths)
    if have == 1:
        return fill(lengths, tensor if tensor.ndim < 2 else reshape(tensor, []))
    raise TypeError(
        f"Eager execution of tf.constant with unsupported shape. Tensor {tensor} (converted from {value}) has {have} "
        f"elements, but got `shape` {shape} with {needed} elements)."
    )


def convert_to_tensor(
    value: TensorLike | TensorShape,
    dtype: DTypeLike | None = None,
    dtype_hint: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns a value, a variable, or a list with tensors in it as a tensor.

    Args:
      value: anything that `tf.constant` accepts, a variable, or nested lists of tensors, which are stacked. A tensor
        is returned unchanged, on its own device.
      dtype: the required dtype; inferred by default.
      dtype_hint: the preferred dtype, used if the value fits it; has no effect on tensors.

    Raises:
      TypeError: if a Python value does not fit `dtype`.
      ValueError: if `value` is a tensor of another dtype or cannot become a tensor.

    >>> one = tf.constant(1)
    >>> tf.convert_to_tensor([[one, 2], [3, 4]]).numpy()
    array([[1, 2],
           [3, 4]], dtype=int32)
    """
    if dtype is not None:
        return as_tensor(value, as_dtype(dtype))
    if dtype_hint is not None and value.__class__ is not Tensor:
        try:
            return as_tensor(value, as_dtype(dtype_hint))
        except (TypeError, ValueError):
            pass  # `dtype_hint` is only a preference
    return as_tensor(value)


@op(
    "T -> T",
    T=ALL,
    host={"dims": of_integers("index_type", as_shape)},
    partly=as_asked("dims"),
    inputs={"dims": HostInput("dims", 0)},
    index_type="index_type",
)
def Fill(xp: Any, value: Any, dims: Any) -> Any:
    if value.ndim > 1 or value.size != 1:
        raise ValueError("the value must be a scalar")
    result = xp.empty(dims, value.dtype)
    result[...] = value
    return result


def fill(dims: Any, value: TensorLike, name: str | None = None, layout: None = None) -> Tensor:
    """Returns a tensor filled with one value.

    Args:
      dims: the shape of the tensor.
      value: the value, a scalar.
      layout: accepted and ignored; distributed layouts are not supported.

    Returns:
      A tensor of that shape and of `value`'s dtype.

    Raises:
      InvalidArgumentError: if a length is negative, or `value` is not a scalar.

    >>> tf.fill([2, 3], 9).numpy()
    array([[9, 9, 9],
           [9, 9, 9]], dtype=int32)
    """
    return Fill(value, dims=dims, name=name)


@Fill.infer
def _(value: Spec, dims: tuple[int, ...]) -> Spec:
    if len(value.shape) > 1 or value.shape not in ((), (1,), (None,)):
        raise InvalidArgumentError(f"value must represent a scalar, got shape {bracketed(value.shape)}")
    for length in dims:
        if length < 0:
            raise InvalidArgumentError(f"Dimension {length} must be >= 0")
    return Spec(dims, value.dtype)


@Fill.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [reshape(reduce_sum(grad), call.inputs[0].shape)]


def lengths_of(shape: Any) -> Any:
    """Returns the lengths of a shape given as Python values; tensors are returned unchanged.

    Raises:
      TypeError: if a length is not an integer, with TensorFlow's text.
      ValueError: if a length is None.
    """
    if shape.__class__ is Tensor or (shape.__class__ is list and {*map(type, shape)} == {int}):
        return shape
    if isinstance(shape, TensorShape) and not shape.is_fully_defined():
        raise ValueError(f"Cannot convert a partially known TensorShape {shape} to a Tensor.")
    if shape.__class__ in (list, tuple) and any([hasattr(length, "static_value") for length in shape]):
        return list_as_tensor(list(shape), None)  # lengths that are known only when a function runs
    try:
        return as_ints(shape)
    except (AttributeError, TypeError):
        host_array(shape, int32)  # raises the specific error
        return shape


def zeros(shape: Any, dtype: DTypeLike = float32, name: str | None = None, layout: None = None) -> Tensor:
    """Returns a tensor of zeros.

    Args:
      shape: the shape of the tensor.
      dtype: the dtype, float32 by default; a zero is False for bool and the empty string for string.
      layout: accepted and ignored; distributed layouts are not supported.

    >>> tf.zeros([2, 3]).numpy()
    array([[0., 0., 0.],
           [0., 0., 0.]], dtype=float32)
    """
    dtype = as_dtype(dtype)
    zero = "" if dtype is string else False if dtype is bool_ else 0
    dims = lengths_of(shape)
    return Fill(as_tensor(zero, dtype), dims=dims, name=name)


def ones(shape: Any, dtype: DTypeLike = float32, name: str | None = None, layout: None = None) -> Tensor:
    """Returns a tensor of ones.

    Args:
      shape: the shape of the tensor.
      dtype: the dtype, float32 by default; a one is True for bool.
      layout: accepted and ignored; distributed layouts are not supported.

    Raises:
      TypeError: if a length is not an integer, or `dtype` is string.

    >>> tf.ones([3], tf.int32).numpy()
    array([1, 1, 1], dtype=int32)
    """
    dtype = as_dtype(dtype)
    dims = lengths_of(shape)
    return Fill(as_tensor(True if dtype is bool_ else 1, dtype), dims=dims, name=name)


@op("T -> T", T=ALL, infer=spec_of_first)
def ZerosLike(xp: Any, input: Any) -> Any:
    if input.dtype.kind == "O":
        return xp.full(input.shape, b"", input.dtype)
    return xp.zeros(input.shape, input.dtype)


@op("T -> T", T=ALL - {string}, infer=spec_of_first)
def OnesLike(xp: Any, input: Any) -> Any:
    return xp.ones(input.shape, input.dtype)


no_gradient(ZerosLike, OnesLike)


def zeros_like(
    input: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, layout: None = None
) -> Tensor:
    """Returns zeros with the shape of a tensor.

    Args:
      input: any tensor, or a ragged tensor.
      dtype: the dtype of the zeros; by default `input`'s.
      layout: accepted and ignored; distributed layouts are not supported.

    Returns:
      A tensor of zeros.

    >>> tf.zeros_like([[1, 2]]).numpy()
    array([[0, 0]], dtype=int32)
    """
    of_ragged: Any = None if input.__class__ is Tensor else getattr(input, "with_flat_values", None)
    if of_ragged is not None:
        return of_ragged(zeros_like(of_ragged.__self__.flat_values, dtype))
    tensor = as_tensor(input)
    if dtype is not None and as_dtype(dtype) is not tensor._dtype:
        return zeros(shape_of(tensor), dtype, name=name)
    return ZerosLike(tensor, name=name)


def ones_like(
    input: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, layout: None = None
) -> Tensor:
    """Returns ones with the shape of a tensor.

    Args:
      input: any tensor except string tensors, or a ragged tensor.
      dtype: the dtype of the ones; by default `input`'s.
      layout: accepted and ignored; distributed layouts are not supported.

    Returns:
      A tensor of ones.

    Raises:
      InvalidArgumentError: if `input` is a string tensor.

    >>> tf.ones_like([[1, 2]], dtype=tf.float32).numpy()
    array([[1., 1.]], dtype=float32)
    """
    of_ragged: Any = None if input.__class__ is Tensor else getattr(input, "with_flat_values", None)
    if of_ragged is not None:
        return of_ragged(ones_like(of_ragged.__self__.flat_values, dtype))
    tensor = as_tensor(input)
    if dtype is not None and as_dtype(dtype) is not tensor._dtype:
        return ones(shape_of(tensor), dtype, name=name)
    return OnesLike(tensor, name=name)


def is_tensor(x: object) -> bool:
    """Returns whether an object is a tensor or a variable.

    Args:
      x: any object.

    Returns:
      True for tensors and variables; False for numbers, arrays, lists and objects of other libraries.

    >>> tf.is_tensor(tf.constant(1)), tf.is_tensor(1)
    (True, False)
    """
    if isinstance(x, Tensor):
        return True
    methods = [vars(base)["__tf_tensor__"] for base in type(x).__mro__ if "__tf_tensor__" in vars(base)]
    return any([method.__module__.startswith("nbtf.") for method in methods])  # others can only be converted


def executing_eagerly() -> bool:
    """Returns whether ops run immediately, which they do not while a graph is built.

    Returns:
      True outside graphs, False inside.

    >>> tf.executing_eagerly()
    True
    """
    return open_graph() is None


def inside_function() -> bool:
    """Returns whether ops are being traced for a `tf.function` or a part of one.

    >>> tf.inside_function(), tf.function(tf.inside_function)()
    (False, <tf.Tensor: shape=(), dtype=bool, numpy=True>)
    """
    graph = open_graph()
    return graph is not None and graph.building_function


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """Returns the value of a tensor if it is known without running an op.

    Args:
      tensor: a tensor or any other object.
      partial: accepted and ignored; a value is known completely or not at all.

    Returns:
      An array for a tensor, None for a variable, since it may change; other objects unchanged.

    >>> tf.get_static_value(tf.constant([1, 2]))
    array([1, 2], dtype=int32)
    """
    if hasattr(tensor, "static_value"):
        return tensor.static_value()  # a graph tensor may have a static value
    if isinstance(tensor, Tensor):
        return tensor.numpy()
    return None if is_tensor(tensor) else tensor
