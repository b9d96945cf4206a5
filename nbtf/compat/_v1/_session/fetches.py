"""Fetches of a session: the tensors and nodes in a structure, and the structure of their values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

import numpy as np

from nbtf._graph.operation import Operation
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.ragged_and_sparse.indexed_slices import IndexedSlices
from nbtf._ops.ragged_and_sparse.sparse import SparseTensor
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape
from nbtf.compat._v1._graph.session_graph import Graph

Element = GraphTensor | Operation


class SparseTensorValue(NamedTuple):
    """The arrays of a sparse tensor: the indices of its values, the values, and the dense shape."""

    indices: Any
    values: Any
    dense_shape: Any


class IndexedSlicesValue(NamedTuple):
    """The arrays of an `IndexedSlices`: the rows, their indices, and the dense shape, if known."""

    values: Any
    indices: Any
    dense_shape: Any


def parts_of(value: Any) -> tuple[Any, ...] | None:
    """Returns the component tensors of a value, in the order of the classes above; None for other objects."""
    if isinstance(value, SparseTensor):
        return SparseTensorValue(value.indices, value.values, value.dense_shape)
    if isinstance(value, IndexedSlices):
        return IndexedSlicesValue(value.values, value.indices, value.dense_shape)
    return None


def elements_in(fetches: Any, graph: Graph) -> list[Element]:
    """Returns the tensors and nodes in a structure of fetches, in order.

    Raises:
      TypeError: if an item is not a tensor, a node or a name.
      ValueError: if an item belongs to another graph, or a name does not exist.
    """
    if isinstance(fetches, list | tuple):
        return [element for item in fetches for element in elements_in(item, graph)]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(fetches, Mapping):
        return [element for item in fetches.values() for element in elements_in(item, graph)]  # pyright: ignore[reportUnknownVariableType]
    components = None if fetches.__class__ is GraphTensor else parts_of(fetches)
    if components is not None:
        return [_element(component, graph) for component in components if not _needs_no_run(component)]
    return [_element(fetches, graph)]


def _needs_no_run(component: Any) -> bool:
    """Returns whether a component needs no run: a known shape, or None."""
    return component is None or isinstance(component, tuple | list | TensorShape)


def _array(lengths: Any) -> Any:
    return None if lengths is None else np.array(list(lengths), np.int32)


_TO_BUILD = (
    "To build a graph instead, first call `tf.compat.v1.disable_eager_execution()`, or write "
    "`import nbtf.compat.v1 as tf`, without tf.enable_eager_execution()."
)


def empty(fetches: Any) -> RuntimeError:
    """Returns the error for an empty graph, which suggests a solution if the fetches are eager tensors."""
    text = "The Session graph is empty. Add operations to the graph before calling run()."
    hint = (
        f" {_describe_fetch(fetches)} was created eagerly, outside a graph. {_TO_BUILD}"
        if isinstance(fetches, Tensor)
        else ""
    )
    return RuntimeError(text + hint)


def check_not_eager(fetch: Any) -> None:
    """Raises `TypeError` for an eager tensor."""
    if isinstance(fetch, Tensor):
        raise TypeError(
            f"{_describe_fetch(fetch)} was created eagerly, outside a graph. It already has a value: call "
            f"`.numpy()`. {_TO_BUILD}"
        )


def _element(fetch: Any, graph: Graph) -> Element:
    if fetch.__class__ is GraphTensor and fetch.graph is graph:
        return fetch
    if fetch is None:
        raise TypeError(f'{_describe_fetch(fetch)} has invalid type "NoneType". Cannot be None')
    check_not_eager(fetch)
    try:
        return graph.as_graph_element(fetch)
    except TypeError as error:
        raise TypeError(
            f'{_describe_fetch(fetch)} has invalid type "{type(fetch).__name__}" must be a string or Tensor. ({error})'
        ) from None
    except (ValueError, KeyError) as error:
        raise ValueError(f"{_describe_fetch(fetch)} cannot be interpreted as a Tensor. ({error})") from None


def _describe_fetch(fetch: Any) -> str:
    return f"Argument `fetch` = {fetch}"


def values_like(fetches: Any, values: Iterator[Any]) -> Any:
    """Returns the structure of the fetches, filled with consecutive values."""
    if isinstance(fetches, Mapping):
        return _mapping_like(fetches, values)
    if isinstance(fetches, list | tuple):
        values_of_items = [values_like(item, values) for item in cast("list[Any]", fetches)]
        return values_of_items if isinstance(fetches, list) else _tuple_like(fetches, values_of_items)
    components = None if fetches.__class__ is GraphTensor else parts_of(fetches)
    if components is not None:
        return _tuple_like(
            components, [_array(component) if _needs_no_run(component) else next(values) for component in components]
        )
    return next(values)


def _mapping_like(like: Any, values: Iterator[Any]) -> Any:
    pairs = [(key, values_like(like[key], values)) for key in like]
    return defaultdict(like.default_factory, pairs) if isinstance(like, defaultdict) else like.__class__(pairs)


def _tuple_like(like: Any, items: list[Any]) -> Any:
    return like.__class__(*items) if hasattr(like, "_fields") else tuple(items)
