"""Feeds of a session: values for tensors of its graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nbtf._graph.tensor import GraphTensor
from nbtf._runtime.host_values import host_array
from nbtf._types import string
from nbtf.compat._v1._graph.dimension import shape_text
from nbtf.compat._v1._graph.session_graph import Graph
from nbtf.compat._v1._session.fetches import parts_of

Array = np.ndarray[Any, Any]


def fed_values(feed_dict: Mapping[Any, Any] | None, graph: Graph) -> dict[GraphTensor, Array]:
    """Returns a dictionary of fed tensors and their arrays.

    Raises:
      TypeError: if a key is not a tensor, or a value is a tensor or cannot be converted to the key's dtype.
      ValueError: if a value has another shape, or the tensor may not be fed.
    """
    values_by_tensor: dict[GraphTensor, Array] = {}
    if feed_dict is not None and not isinstance(feed_dict, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"`feed_dict` must be a dictionary of tensors and values. Got a {type(feed_dict).__name__}.")
    for key, value in _plain(feed_dict or {}):
        tensor = fed_tensor(key, graph)
        values_by_tensor[tensor] = _array(tensor, key, value)
        if not graph.is_feedable(tensor):
            raise ValueError(f"Tensor {tensor.name} may not be fed.")
    return values_by_tensor


def fed_tensor(key: Any, graph: Graph) -> GraphTensor:
    """Returns the tensor for a key of a feed; raises `TypeError` if there is none."""
    try:
        return graph.as_graph_element(key, allow_operation=False)
    except (TypeError, ValueError, KeyError) as error:
        raise TypeError(f"Cannot interpret feed_dict key as Tensor: {error.args[0]}") from None


def _plain(feed_dict: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    """Returns keys and values, with sparse tensors and tuples split into their component tensors."""
    pairs: list[tuple[Any, Any]] = []
    for key, value in feed_dict.items():
        tensors: Any = key
        if key.__class__ is tuple:
            if len(tensors) != len(value):
                raise ValueError(f"The key {key} has {len(tensors)} tensors, but {len(value)} values were fed.")
            pairs += _plain(dict(zip(tensors, value, strict=True)))
            continue
        components = None if key.__class__ is GraphTensor else parts_of(key)
        if components is None:
            pairs.append((key, value))
        else:
            pairs += [pair for pair in zip(components, value, strict=False) if pair[0] is not None]
    return pairs


def _array(tensor: GraphTensor, key: Any, value: Any) -> Array:
    if isinstance(value, GraphTensor):
        raise TypeError(
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python scalars, strings, "
            f"lists, numpy ndarrays, or TensorHandles. For reference, the tensor object was {value} which was passed "
            f"to the argument `feed_dict` with key {key}."
        )
    if tensor._dtype is string:
        array = host_array(value, string)[0]
    else:
        _check_whole_number(tensor, value)
        array = np.array(value, tensor.dtype.np_dtype)
    if not tensor.shape.is_compatible_with(array.shape):
        raise ValueError(
            f"Cannot feed value of shape {array.shape} for Tensor {tensor.name}, "
            f"which has shape {shape_text(tensor.shape)}"
        )
    return array


def _check_whole_number(tensor: GraphTensor, value: Any) -> None:
    """Raises an error for an integer that the dtype cannot represent."""
    if value.__class__ is int and tensor.dtype.is_integer and not tensor.dtype.min <= value <= tensor.dtype.max:
        raise TypeError(
            f"Type of feed value {value} with type {type(value)} is not compatible with Tensor type {tensor.dtype!r}. "
            "Try explicitly setting the type of the feed tensor to a larger type (e.g. int64)."
        )
