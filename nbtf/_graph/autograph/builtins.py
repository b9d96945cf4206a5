"""Python built-ins for the tensors of a traced function, where Python itself would ask for values."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from nbtf._graph.autograph.symbolic import is_symbolic
from nbtf._graph.handles import function_graph
from nbtf._graph.iteration import begin_pass
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.arrays.ranges import range as tensor_range
from nbtf._ops.arrays.shapes import shape
from nbtf._ops.math.arithmetic import cast
from nbtf._ops.math.ordering import sort
from nbtf._types import float32, int32


def _len(value: Any) -> Any:
    """Returns the length of the first axis, even if a graph does not know it."""
    if not isinstance(value, GraphTensor):
        return len(value)
    if value.shape.rank == 0:
        raise ValueError("len requires a non-scalar tensor, got one of shape Scalar")
    dims: Any = value.shape.dims
    return shape(value)[0] if dims is None or value.shape[0] is None else value.shape[0]


def _int(*arguments: Any, **options: Any) -> Any:
    return (
        cast(arguments[0], int32) if arguments and isinstance(arguments[0], GraphTensor) else int(*arguments, **options)
    )


def _float(*arguments: Any) -> Any:
    is_tensor = bool(arguments) and isinstance(arguments[0], GraphTensor)
    return cast(arguments[0], float32) if is_tensor else float(*arguments)


def _range(*bounds: Any) -> Any:
    return tensor_range(*bounds) if any([is_symbolic(bound) for bound in bounds]) else range(*bounds)


def _enumerate(values: Any, start: Any = 0) -> Any:
    return values.enumerate(start) if hasattr(values, "element_spec") else enumerate(values, start)


def _zip(*values: Any, **options: Any) -> Any:
    if values and all([hasattr(item, "element_spec") for item in values]):
        return values[0].zip(tuple(values))
    return zip(*values, **options)  # noqa: B905  # as the program calls it


def _iter(*arguments: Any) -> Any:
    values = arguments[0] if len(arguments) == 1 else None
    if function_graph() is None or not hasattr(values, "element_spec"):
        return iter(*arguments)
    return begin_pass(values) if hasattr(values, "_iterator_class") else values


def _sorted(values: Any, **options: Any) -> Any:
    return sort(values) if values.__class__ is GraphTensor and not options else sorted(values, **options)


OVERLOADS: dict[Any, Callable[..., Any]] = {
    builtins.len: _len,
    builtins.int: _int,
    builtins.float: _float,
    builtins.range: _range,
    builtins.enumerate: _enumerate,
    builtins.iter: _iter,
    builtins.zip: _zip,
    builtins.sorted: _sorted,
}
"""Replacements, by the built-in that a program calls."""
