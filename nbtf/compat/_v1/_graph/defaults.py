"""The default graph, and the functions that add to it."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from nbtf._graph.handles import function_graph
from nbtf._graph.operation import CONST, NO_OP, PLACEHOLDER
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.control.flow import no_op as _no_op
from nbtf._runtime.blocks import current_scope
from nbtf._runtime.conversion import constant_of
from nbtf._runtime.device import device as _device
from nbtf._runtime.host_values import host_array
from nbtf._runtime.names import name_scope as _name_scope
from nbtf._runtime.scopes import SCOPE
from nbtf._shapes import ShapeLike, TensorShape
from nbtf._types import DType, DTypeLike, as_dtype
from nbtf.compat._v1._graph.dimension import DimensionedShape
from nbtf.compat._v1._graph.process import process
from nbtf.compat._v1._graph.session_graph import Graph


def get_default_graph() -> Graph:
    """Returns the graph of the innermost open `as_default` block, or the graph of the process."""
    scope = SCOPE() and current_scope()
    if scope is not None and scope.graph is not None:
        return scope.graph
    now = process()
    if now.graph is None:
        now.graph = Graph()
    return now.graph


def building() -> Graph | None:
    """Returns the graph to which ops of `compat.v1` are added; None while they run eagerly."""
    scope = SCOPE() and current_scope()
    if scope is not None and scope.graph is not None:
        return scope.graph if isinstance(scope.graph, Graph) else None
    if scope is not None and scope.at_once:
        return None
    return None if process().eager else get_default_graph()


def reset_default_graph() -> None:
    """Starts a new graph for the process.

    Raises:
      AssertionError: if an `as_default` block is open.
    """
    scope = SCOPE() and current_scope()
    if scope is not None and scope.graph is not None:
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs. "
            "If you need a cleared graph, exit the nesting and create a new graph."
        )
    process().graph = None


def constant(
    value: Any,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    name: str = "Const",
    verify_shape: bool = False,
) -> Any:
    """Returns a constant of the default graph.

    Args:
      value: a number, string or array, or nested lists of them.
      dtype: dtype of the constant; by default float32 for Python floats, int32 for Python integers, an array's own.
      shape: shape of the constant; the last element is repeated to fill it.
      verify_shape: whether to reject a value of another shape instead.

    Raises:
      TypeError: if the value cannot be converted to `dtype`, or `verify_shape` rejects its shape.
      ValueError: if the value has more elements than `shape`.
    """
    array, value_dtype = _read(value, None if dtype is None else as_dtype(dtype))
    if verify_shape and shape is not None and tuple(TensorShape(shape)) != array.shape:
        raise TypeError(f"Expected Tensor's shape: {tuple(TensorShape(shape))}, got {array.shape}.")
    if shape is not None:
        array = _filled(array, TensorShape(shape))
    graph = building()
    if graph is None:
        return constant_of(array, value_dtype)
    attrs = {"value": array, "dtype": value_dtype}
    return graph.add_source(CONST, name, attrs, [(TensorShape(array.shape), value_dtype)]).outputs[0]


def _read(value: Any, dtype: DType | None) -> tuple[np.ndarray[Any, Any], DType]:
    """Returns a value as an array, and its dtype."""
    try:
        return host_array(DimensionedShape(value).as_list() if isinstance(value, TensorShape) else value, dtype)
    except TypeError as error:
        match = re.match("Cannot convert (.*) to EagerTensor of dtype ", str(error), re.DOTALL)
        if match is None or dtype is None:
            raise
        type_name = "str" if match[1][0] in "'\"" else "bytes" if match[1][:2] in ("b'", 'b"') else "float"
        raise TypeError(f"Expected {dtype.name}, but got {match[1].strip(chr(39))} of type '{type_name}'.") from None


def _filled(array: np.ndarray[Any, Any], shape: TensorShape) -> np.ndarray[Any, Any]:
    """Returns an array with a shape; as in TensorFlow 1, its last element is repeated to fill the shape."""
    count = shape.num_elements()
    if count is None or array.size > count or (array.size == 0 and count):
        raise ValueError(f"Too many elements provided. Takes at most {count}, but got {array.size}.")
    flat = array.reshape(-1)
    if flat.size < count:
        flat = np.concatenate([flat, np.full(count - flat.size, flat[-1], flat.dtype)])
    return flat.reshape(tuple(shape))


def placeholder(dtype: DTypeLike, shape: ShapeLike | None = None, name: str | None = None) -> GraphTensor:
    """Returns a tensor of the default graph whose value is fed in each run; in a traced function, a further argument.

    Args:
      dtype: element type of the placeholder.
      shape: its shape, with None for lengths that may vary; None allows any shape.

    Raises:
      RuntimeError: if ops run eagerly.
    """
    wanted_dtype, dims = as_dtype(dtype), TensorShape(shape)
    function = function_graph()
    if function is not None:
        return function.argument(name or "Placeholder", dims, wanted_dtype)
    if building() is None:
        raise RuntimeError("tf.placeholder() is not compatible with eager execution.")
    attrs = {"dtype": wanted_dtype, "shape": dims}
    return get_default_graph().add_source(PLACEHOLDER, name or "Placeholder", attrs, [(dims, wanted_dtype)]).outputs[0]


def no_op(name: str | None = None) -> Any:
    """Returns a node of the default graph that does nothing; None while ops run eagerly."""
    if building() is None:
        return _no_op()
    return get_default_graph().add_source(NO_OP, name or "NoOp", {}, [])


def device(device_name_or_function: Any) -> AbstractContextManager[None]:
    """Returns `Graph.device` of the default graph, or `nbtf.device` while ops run eagerly."""
    if building() is None:
        return _device(device_name_or_function)
    return get_default_graph().device(device_name_or_function)


def control_dependencies(control_inputs: Any) -> AbstractContextManager[None]:
    """Returns `Graph.control_dependencies` of the default graph; has no effect while ops run eagerly."""
    if building() is None:
        return nullcontext()
    return get_default_graph().control_dependencies(control_inputs)


def colocate_with(op: Any, ignore_existing: bool = False) -> AbstractContextManager[None]:
    """Returns `Graph.colocate_with` of the default graph; while ops run eagerly, a block on a tensor's device."""
    if building() is None:
        return nullcontext() if op is None else _device(op.device)
    return get_default_graph().colocate_with(op, ignore_existing)


def name_scope(name: str | None, default_name: str | None = None, values: Any = None) -> AbstractContextManager[str]:
    """Returns `Graph.name_scope` of the default graph, or of the graph of the first tensor in `values`.

    Args:
      name: name of the scope.
      default_name: name to use if `name` is None.
      values: inputs of the op inside the scope.
    """
    if building() is None:
        return _name_scope((default_name if name is None else name) or "")
    owner = next((value.graph for value in values or () if isinstance(value, GraphTensor)), None)
    return (owner or get_default_graph()).name_scope(default_name if name is None else name)


def init_scope() -> AbstractContextManager[None]:
    """Returns a block that ignores the surrounding name scopes and control dependencies."""
    graph = building()
    return nullcontext() if graph is None else graph.outermost()
