"""Parts of layers other than products and activations: biases, dropout, embeddings, normalization."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.gathering import gather
from nbtf._ops.arrays.identity import identity
from nbtf._ops.arrays.joining import concat
from nbtf._ops.linalg.norms import clip_by_norm
from nbtf._ops.math.arithmetic import add, cast, multiply, negative, subtract
from nbtf._ops.math.exponentials import rsqrt
from nbtf._ops.op import Gradients, op
from nbtf._ops.ragged_and_sparse.ragged import RaggedTensor
from nbtf._ops.reductions.sums import Sum, reduce_sum
from nbtf._ops.specs import bracketed, like_first
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import NUMBERS, TensorLike
from nbtf.errors import InvalidArgumentError


def as_channels_first(data_format: Any) -> bool:
    """Returns whether channels come first (`NC...`) rather than last (`N...C`).

    Raises:
      ValueError: if `data_format` has neither form.
    """
    if data_format is None:
        return False
    if str(data_format).startswith("NC"):
        return True
    if str(data_format).startswith("N") and str(data_format).endswith("C"):
        return False
    raise ValueError(f"`data_format` must be of the form `N...C` or `NC...`. Received: data_format={data_format}")


@op("T T -> T", T=NUMBERS, partly=like_first)
def BiasAdd(xp: Any, value: Any, bias: Any, data_format: Any) -> Any:
    first = as_channels_first(data_format)
    if bias.ndim != 1 or value.ndim < 2 or bias.shape[0] != value.shape[1 if first else -1]:
        raise ValueError("the numbers of biases and channels differ")
    return value + (bias.reshape(-1, *(1,) * (value.ndim - 2)) if first else bias)


@BiasAdd.express
def bias_add(value: TensorLike, bias: TensorLike, data_format: str | None = None, name: str | None = None) -> Tensor:
    """Returns a tensor with a number added to each channel.

    Args:
      value: a numeric tensor, shape `[batch, ..., channels]`.
      bias: numbers of the same dtype, shape `[channels]`.
      data_format: the position of the channels: `"N...C"` (default), last; `"NC..."`, after the batch axis.

    Returns:
      A tensor of `value`'s shape.

    Raises:
      ValueError: if `data_format` has another form.
      InvalidArgumentError: if the number of biases differs from the number of channels.

    >>> tf.nn.bias_add([[1.0, 2.0], [3.0, 4.0]], [10.0, 20.0]).numpy()
    array([[11., 22.],
           [13., 24.]], dtype=float32)
    """
    as_channels_first(data_format)
    return BiasAdd(value, bias, data_format=data_format, name=name)


@BiasAdd.infer
def _(value: Spec, bias: Spec, data_format: Any) -> Spec:
    shapes = f"{bracketed(bias.shape)} vs. {bracketed(value.shape)}"
    if len(value.shape) < 2:
        raise InvalidArgumentError(f"Input tensor must be at least 2D: {bracketed(value.shape)}")
    if len(bias.shape) != 1:
        raise InvalidArgumentError(f"Biases must be 1D: {bracketed(bias.shape)}")
    channels = value.shape[1 if as_channels_first(data_format) else -1]
    if channels != bias.shape[0] and None not in (channels, bias.shape[0]):
        raise InvalidArgumentError(f"Must provide as many biases as the last dimension of the input tensor: {shapes}")
    return value


@BiasAdd.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    rank = len(call.inputs[0].shape)
    channels = 1 if as_channels_first(call.attrs["data_format"]) else rank - 1
    other_axes = [axis for axis in range(rank) if axis != channels]
    return [grad, reduce_sum(grad, other_axes) if call.needs(1) else None]


def _to_value(xp: Any, grad: Any, value: Any, bias: Any, attrs: Mapping[str, Any]) -> Any:
    return grad


def _to_bias(xp: Any, grad: Any, value: Any, bias: Any, attrs: Mapping[str, Any]) -> Any:
    channels = 1 if as_channels_first(attrs["data_format"]) else value.ndim - 1
    return Sum.kernel(xp, grad, [axis for axis in range(value.ndim) if axis != channels], False)


BiasAdd.backward(_to_value, _to_bias)


def embedding_lookup(params: Any, ids: Any, max_norm: float | None = None, name: str | None = None) -> Any:
    """Returns rows of a table.

    Args:
      params: the table, shape `[rows, ...]`, or a list of tables with consecutive rows.
      ids: the row numbers, int32 or int64, any shape; they may be ragged.
      max_norm: the largest norm of a row; longer rows are scaled down to it. No limit by default.

    Returns:
      The rows, shape `ids.shape + params.shape[1:]`.

    Raises:
      ValueError: if no table is given.
      InvalidArgumentError: if a row does not exist (on the CPU; a GPU returns zeros).

    >>> tf.nn.embedding_lookup([[1.0, 2.0], [3.0, 4.0]], [1, 1]).numpy()
    array([[3., 4.],
           [3., 4.]], dtype=float32)
    """
    tables = _tables(params)
    table = tables[0] if len(tables) == 1 else concat(tables, 0)
    if isinstance(ids, RaggedTensor):
        return ids.with_flat_values(embedding_lookup(params, ids.flat_values, max_norm, name))
    numbers = as_tensor(ids)
    rows = gather(table, numbers)
    if max_norm is None:
        return identity(rows, name)
    row_axes = list(range(len(numbers.shape), len(rows.shape)))
    return identity(clip_by_norm(rows, max_norm, row_axes), name)


def _tables(params: Any) -> list[Any]:
    if params is None:
        raise ValueError("params must be specified")
    if params.__class__ is not list and params.__class__ is not tuple:
        return [params]
    if not params:
        raise ValueError("Length of params is currently 0. Need at least one element in params.")
    tables: list[Any] = list(params)
    return tables if all(len(getattr(table, "shape", ())) for table in tables) else [as_tensor(tables)]


def batch_normalization(
    x: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    offset: TensorLike | None,
    scale: TensorLike | None,
    variance_epsilon: float,
    name: str | None = None,
) -> Tensor:
    """Returns a tensor normalized with a given mean and variance.

    Args:
      x: floats.
      mean: the mean, which is mapped to `offset`.
      variance: the variance, which is mapped to the square of `scale`.
      offset: a tensor added to the normalized values; None adds nothing.
      scale: a factor of the normalized values; None means 1.
      variance_epsilon: a small number added to the variance to avoid division by 0.

    Returns:
      A tensor of the inputs' broadcast shape.

    Source: Ioffe, Szegedy, arXiv:1502.03167, algorithm 1.

    >>> tf.nn.batch_normalization([1.0, 3.0], 2.0, 1.0, None, None, 0.0).numpy()
    array([-1.,  1.], dtype=float32)
    """
    tensor = as_tensor(x)
    centre = as_tensor(mean)
    factor = rsqrt(add(as_tensor(variance), variance_epsilon))
    if scale is not None:
        factor = multiply(factor, scale)
    moved = multiply(centre, factor)
    shift = negative(moved) if offset is None else subtract(as_tensor(offset, moved.dtype), moved)
    return add(multiply(tensor, cast(factor, tensor.dtype)), cast(shift, tensor.dtype), name)
