"""Makes tensors behave like NumPy arrays: attributes, operators between dtypes, indexing with lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nbtf._ops.arrays import gathering
from nbtf._ops.arrays.broadcasting import broadcast_to
from nbtf._ops.arrays.coordinates import gather_nd
from nbtf._ops.arrays.joining import stack
from nbtf._ops.math.arithmetic import cast
from nbtf._ops.operators import OPERATORS
from nbtf._ops.variables.variable import Variable
from nbtf._runtime.tensor import Tensor
from nbtf._types import as_dtype, bool_, int64
from nbtf.experimental.numpy import arrays, elementwise, linear, promotion, reductions

_PROMOTED = (
    "__add__ __sub__ __mul__ __truediv__ __floordiv__ __mod__ __pow__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ "
    "__and__ __or__ __xor__"
).split()


def experimental_enable_numpy_behavior(prefer_float32: bool = False, dtype_conversion_mode: str = "legacy") -> None:
    """Makes tensors behave like NumPy arrays. As in TensorFlow, this cannot be turned off again.

    Tensors get `T`, `reshape`, `astype`, `ravel`, `flatten`, `transpose`, `clip`, `size`, `tolist`, `data`, `max`,
    `min` and `mean`. Operators convert both operands to a common dtype by NumPy's rules: int32 and float32 give
    float64, and Python numbers adapt to the other operand. Lists and integer tensors can be used as indices. Functions
    of `tf` do not convert: `tf.add` of two dtypes is still an error.

    Args:
      prefer_float32: whether Python floats become float32 in `tf.experimental.numpy` instead of float64.
      dtype_conversion_mode: `"legacy"`, or `"off"` to leave operators unchanged.

    Raises:
      ValueError: if another mode is given; TensorFlow's `"all"` and `"safe"` are not available.
    """
    if dtype_conversion_mode not in ("legacy", "off"):
        raise ValueError(f"dtype_conversion_mode must be 'legacy' or 'off' in nbtf, got {dtype_conversion_mode!r}")
    promotion.prefer_float32(prefer_float32)
    for name, attribute in _ATTRIBUTES.items():
        setattr(Tensor, name, attribute)
    if dtype_conversion_mode == "legacy":
        for operand_class in (Tensor, Variable):
            _promote(operand_class)
        setattr(Tensor, "__getitem__", _index)  # noqa: B010  # the class declares another type


def _promote(operand_class: Any) -> None:
    for name in _PROMOTED:
        setattr(operand_class, name, _promoting(OPERATORS[name], turned=False))
        reverse = f"__r{name[2:]}"
        if reverse in OPERATORS:
            setattr(operand_class, reverse, _promoting(OPERATORS[name], turned=True))
    operand_class.__matmul__ = linear.matmul
    operand_class.__rmatmul__ = _turned_matmul


def _turned_matmul(self: Any, left_operand: Any) -> Tensor:
    return linear.matmul(left_operand, self)


def _promoting(operator: Callable[[Any, Any], Any], turned: bool) -> Callable[[Any, Any], Any]:
    """Returns an operator that first converts both operands to a common dtype; equal dtypes cost one comparison."""

    def promoted(x: Any, y: Any) -> Any:
        if y.__class__ is not Tensor or x._dtype is not y._dtype:
            if not isinstance(y, Tensor | Variable | int | float | complex | list | np.ndarray | np.generic):
                return operator(y, x) if turned else operator(x, y)
            x, y = promotion.alike(x, y)
        return operator(y, x) if turned else operator(x, y)

    return promoted


def _index(tensor: Tensor, key: Any) -> Any:
    """Returns part of a tensor; lists and integer tensors select indices, as in NumPy."""
    if isinstance(key, tuple):
        entries: Any = key  # pyright: ignore[reportUnknownVariableType]
        keys: tuple[Any, ...] = tuple(_as_list(entry) for entry in entries)
        list_axes = [axis for axis, entry in enumerate(keys) if _is_list(entry)]
        if len(list_axes) == 1 and all(isinstance(entry, slice | int) for entry in keys if not _is_list(entry)):
            return _index_with_list(tensor, keys, list_axes[0])
        if list_axes and all(_is_list(entry) or isinstance(entry, int) for entry in keys):
            return _index_points(tensor, keys)
        return OPERATORS["__getitem__"](tensor, keys)
    return _index_with_list(tensor, (key,), 0) if _is_list(key) else OPERATORS["__getitem__"](tensor, key)


def _as_list(entry: Any) -> Any:
    """Returns a tuple within a key as a list, because both mean the same."""
    return [*entry] if isinstance(entry, tuple) else entry


def _is_list(key: Any) -> bool:
    return isinstance(key, list) or (isinstance(key, Tensor | np.ndarray) and len(key.shape) > 0)  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]


def _index_with_list(tensor: Tensor, keys: tuple[Any, ...], list_axis: int) -> Any:
    """Returns the values at the indices in one list; slices and integers select from the other axes."""
    marks = arrays.asarray(keys[list_axis])
    if marks.dtype is bool_:
        return gathering.boolean_mask(tensor, marks, axis=list_axis)
    length = tensor.shape[list_axis]
    axis = list_axis - sum(isinstance(entry, int) for entry in keys[:list_axis])
    other_keys = tuple(slice(None) if axis == list_axis else entry for axis, entry in enumerate(keys))
    selected = OPERATORS["__getitem__"](tensor, other_keys)
    return gathering.gather(selected, _count_from_start(marks, length), axis=axis)


def _index_points(tensor: Tensor, keys: tuple[Any, ...]) -> Any:
    """Returns the values at points whose coordinates are given by several lists."""
    coordinates = [_count_from_start(arrays.asarray(entry), tensor.shape[axis]) for axis, entry in enumerate(keys)]
    shape = np.broadcast_shapes(*(tuple(axis_coordinates.shape) for axis_coordinates in coordinates))
    return gather_nd(
        tensor, stack([broadcast_to(axis_coordinates, list(shape)) for axis_coordinates in coordinates], -1)
    )


def _count_from_start(indices: Tensor, length: Any) -> Tensor:
    """Returns indices counted from the start, where negative ones were counted from the end."""
    counted = cast(indices, int64)
    return elementwise.where(elementwise.less(counted, 0), elementwise.add(counted, length), counted)


def _astype(self: Any, dtype: Any) -> Tensor:
    return arrays.asarray(self, as_dtype(dtype))


def _reshape(self: Any, *newshape: Any, **kwargs: Any) -> Tensor:
    if "newshape" in kwargs:
        newshape = (kwargs["newshape"],)
    return arrays.reshape(self, newshape[0] if len(newshape) == 1 else newshape)


def _transpose(self: Any, *axes: Any) -> Tensor:
    return arrays.transpose(self, (axes[0] if len(axes) == 1 else axes) if axes else None)


def _tolist(self: Any) -> Any:
    return self.numpy().tolist()


_ATTRIBUTES: dict[str, Any] = {
    "T": property(arrays.transpose),
    "size": property(arrays.size),
    "data": property(lambda self: self),
    "astype": _astype,
    "reshape": _reshape,
    "transpose": _transpose,
    "ravel": arrays.ravel,
    "flatten": arrays.ravel,
    "clip": elementwise.clip,
    "tolist": _tolist,
    "max": reductions.max,
    "min": reductions.min,
    "mean": reductions.mean,
    "__pos__": elementwise.positive,
}
"""The attributes that tensors get, as in TensorFlow."""
