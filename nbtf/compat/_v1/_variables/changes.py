"""Methods that change a graph variable by adding nodes that a session runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nbtf._graph.operation import Operation
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.arrays.indexing import slice_spec
from nbtf._ops.op import Op
from nbtf._ops.ragged_and_sparse.indexed_slices import IndexedSlices
from nbtf._runtime.conversion import as_tensor
from nbtf._shapes import TensorShape
from nbtf._types import DType
from nbtf.compat._v1._graph.session_graph import Graph
from nbtf.compat._v1._variables import ops
from nbtf.errors import InvalidArgumentError


def _row_change(method: str, effect: str) -> Callable[..., Any]:
    """Returns the method that changes rows, which are given as `tf.IndexedSlices`."""

    def change(self: Changes, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        if not isinstance(sparse_delta, IndexedSlices):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"Argument `sparse_delta` must be a `tf.IndexedSlices`. Received arg: {sparse_delta}")
        values = [sparse_delta.indices, sparse_delta.values]
        return self._change(ops.ROWS[method], values, name, use_locking=use_locking)

    return _documented(change, method, f"{effect} rows, given as `tf.IndexedSlices`, when it runs.")


def _part_change(method: str, effect: str) -> Callable[..., Any]:
    """Returns the method that changes elements or slices."""

    def change(self: Changes, indices: Any, updates: Any, name: str | None = None) -> Any:
        return self._change(ops.PARTS[method], [indices, updates], name, use_locking=method.endswith("update"))

    return _documented(change, method, f"{effect} elements or slices when it runs.")


def _documented(change: Callable[..., Any], method: str, effect: str) -> Callable[..., Any]:
    change.__name__, change.__qualname__ = method, f"Changes.{method}"
    change.__doc__ = f"Returns a node that {effect}"
    return change


class Changes:
    """The assigning methods of a variable."""

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
        validate_shape: bool = True,
    ) -> Any:
        """Returns a tensor of the new value, which is assigned when it runs.

        Args:
          value: the new value, with the variable's dtype and shape.
          use_locking: kept as an attribute of the node, without effect.
          read_value: False returns the node instead of a tensor of the new value.
          validate_shape: False lets a reference variable accept a value of another shape.

        Raises:
          TypeError: if the value has another dtype; resource variables raise `ValueError`.
          ValueError: if the value has another shape.
        """
        return self._change(
            ops.ASSIGN, [value], name, read_value, use_locking=use_locking, validate_shape=validate_shape
        )

    def assign_add(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Returns a node that adds to the variable when it runs; see `assign`."""
        return self._change(ops.ASSIGN_ADD, [delta], name, read_value, use_locking=use_locking)

    def assign_sub(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Returns a node that subtracts from the variable when it runs; see `assign`."""
        return self._change(ops.ASSIGN_SUB, [delta], name, read_value, use_locking=use_locking)

    scatter_update = _row_change("scatter_update", "replaces")
    scatter_add = _row_change("scatter_add", "adds to")
    scatter_sub = _row_change("scatter_sub", "subtracts from")
    scatter_max = _row_change("scatter_max", "takes the maximum with")
    scatter_min = _row_change("scatter_min", "takes the minimum with")
    scatter_mul = _row_change("scatter_mul", "multiplies")
    scatter_div = _row_change("scatter_div", "divides")
    scatter_nd_update = _part_change("scatter_nd_update", "replaces")
    scatter_nd_add = _part_change("scatter_nd_add", "adds to")
    scatter_nd_sub = _part_change("scatter_nd_sub", "subtracts from")
    scatter_nd_max = _part_change("scatter_nd_max", "takes the maximum with")
    scatter_nd_min = _part_change("scatter_nd_min", "takes the minimum with")

    def _assign_part(self, key: Any, name_of_part: str, value: Any, name: str | None = None) -> Any:
        """Returns a node that assigns to a part of the variable, as `v[key].assign(value)` does."""
        begin, end, strides, masks = slice_spec(key)
        attrs: dict[str, Any] = {"begin": begin, "end": end, "strides": strides, "masks": masks}
        return self._change(ops.STRIDED_SLICE_ASSIGN, [value], name or f"{name_of_part}/_assign/", **attrs)

    def _change(self, record: Any, values: list[Any], name: str | None, read_value: bool = True, **attrs: Any) -> Any:
        """Adds the node that runs this op on the variable, and returns the tensor of the new value."""
        raise NotImplementedError


def changing_node(
    graph: Graph, record: Op, target: GraphTensor, values: Sequence[Any], name: str, attrs: Mapping[str, Any]
) -> Operation:
    """Adds a node that changes a variable; a reference variable's node passes the reference on.

    Args:
      graph: the variable's graph.
      record: the op of the node.
      target: the variable's reference or handle.
      values: the other inputs.
      name: name of the node.
      attrs: attributes of the node.

    Raises:
      TypeError: if a value has another dtype.
      ValueError: if a value has another shape.
    """
    with graph.inside():
        arguments = [
            target,
            *[_convert_value(record, target, *pair) for pair in zip(record.tokens[1:], values, strict=True)],
        ]
        check_dtypes(record, arguments)
        takes_whole_value = attrs.get("validate_shape", True)

        def infer_output(node: str) -> list[tuple[TensorShape, DType]]:
            shape = _shape_after(record, arguments, node, attrs) if takes_whole_value else arguments[1]._shape
            return [(shape, target._dtype)] if target._link == "reference" else []

        link = "reference" if target._link == "reference" else None
        return graph.add_known(record, arguments, attrs, name, infer_output, link)


def _convert_value(record: Op, target: GraphTensor, token: str, value: Any) -> Any:
    """Returns a value as a tensor; tensors keep their dtype, which is checked later."""
    if value.__class__ is GraphTensor:
        return value
    return as_tensor(value, target._dtype if token == record.tokens[0] else None)


def check_dtypes(record: Op, arguments: Sequence[GraphTensor]) -> None:
    """Raises `TypeError` if a value's dtype differs from the variable's."""
    try:
        record.check(arguments, {})
    except InvalidArgumentError as error:
        first = arguments[0]
        for name, token, value in zip(record.inputs, record.tokens, arguments, strict=True):
            if token == record.tokens[0] and value._dtype is not first._dtype:
                raise TypeError(
                    f"Input '{name}' of '{record.type}' Op has type {value._dtype.name} that does not match "
                    f"type {first._dtype.name} of argument '{record.inputs[0]}'."
                ) from None
        raise TypeError(error.message) from None


def _shape_after(record: Op, arguments: Sequence[GraphTensor], node: str, attrs: Mapping[str, Any]) -> TensorShape:
    """Returns the variable's shape afterwards; an op that assigns whole values requires the same shape."""
    shape = arguments[0]._shape
    if len(arguments) != 2 or record.attrs:
        return shape
    value = arguments[1]._shape
    if shape.is_compatible_with(value):
        return shape.merge_with(value)
    if len(shape) != len(value):
        problem = f"Shapes must be equal rank, but are {len(shape)} and {len(value)}"
    else:
        pairs = enumerate(zip(shape, value, strict=True))
        axis, (variable_length, value_length) = next(
            (i, pair) for i, pair in pairs if None not in pair and pair[0] != pair[1]
        )
        problem = (
            f"Dimension {axis} in both shapes must be equal, but are {variable_length} and {value_length}. "
            f"Shapes are {_text(shape)} and {_text(value)}."
        )
    dtype_attr = "T" if arguments[0]._link == "reference" else "dtype"
    attr_texts = {dtype_attr: f"DT_{arguments[0]._dtype.c_name.upper()}"}
    attr_texts.update({key: str(value).lower() for key, value in attrs.items()} if dtype_attr == "T" else {})
    attr_list = ", ".join(f"{key}={attr_texts[key]}" for key in sorted(attr_texts))
    inputs = ", ".join(tensor.op.name for tensor in arguments)
    raise ValueError(
        f"{problem} for '{{{{node {node}}}}} = {record.type}[{attr_list}]({inputs})' with input shapes: "
        f"{_text(arguments[0].shape)}, {_text(value)}."
    )


def _text(shape: TensorShape) -> str:
    return f"[{','.join(['?' if length is None else str(length) for length in shape])}]"
