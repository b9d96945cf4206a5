"""Intersections, unions and differences of the sets in the last axis of two tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.attributes import as_ints
from nbtf._ops.op import no_gradient, op
from nbtf._ops.ragged_and_sparse.sparse import SparseTensor, sparse_of
from nbtf._ops.specs import Dims, bracketed, may_be_equal
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import TensorLike, int8, int16, int32, int64, string, uint8, uint16
from nbtf.errors import InvalidArgumentError

_ELEMENTS = frozenset({int8, int16, int32, int64, uint8, uint16, string})
"""The dtypes of elements. Source: attr `T` in TensorFlow's op definitions."""

_OPERATIONS: Mapping[str, Callable[[set[Any], set[Any]], set[Any]]] = {
    "a-b": lambda a, b: a - b,
    "b-a": lambda a, b: b - a,
    "intersection": lambda a, b: a & b,
    "union": lambda a, b: a | b,
}

Groups = dict[tuple[int, ...], set[Any]]
"""The sets of a tensor by their position in all axes but the last."""


def _groups_of_dense(xp: Any, values: Any) -> tuple[Groups, tuple[int, ...]]:
    shape = values.shape[:-1]
    rows = values.reshape(-1, values.shape[-1])
    positions = [tuple(map(int, position)) for position in xp.ndindex(*shape)]
    return {position: set(row.tolist()) for position, row in zip(positions, rows, strict=True)}, shape


def _groups_of_sparse(
    indices: Any, values: Any, shape: Sequence[int], validate_indices: bool
) -> tuple[Groups, tuple[int, ...]]:
    rows: list[list[int]] = indices.tolist()
    if validate_indices:
        _check_order(rows, shape)
    groups: Groups = {}
    for row, value in zip(rows, values.tolist(), strict=True):
        groups.setdefault(tuple(row[:-1]), set()).add(value)
    return groups, tuple(shape[:-1])


def _check_order(rows: Sequence[list[int]], shape: Sequence[int]) -> None:
    for number, row in enumerate(rows):
        if any(not 0 <= index < length for index, length in zip(row, shape, strict=True)):
            text = f"{bracketed(row)} is out of bounds: need 0 <= index < {bracketed(shape)}"
            raise InvalidArgumentError(f"indices[{number}] = {text}")
        if number and row <= rows[number - 1]:
            problem = "repeated" if row == rows[number - 1] else "out of order"
            raise InvalidArgumentError(f"indices[{number}] = {bracketed(row)} is {problem}")


def _combined(xp: Any, a: Any, b: Any, set_operation: str, dtype: Any) -> list[Any]:
    """Returns indices, values and shape of the sparse result."""
    (left, shape), (right, right_shape) = a, b
    if shape != right_shape:
        raise InvalidArgumentError(f"Mismatched shapes {bracketed(shape)} vs {bracketed(right_shape)}")
    operation, positions, elements, largest = _OPERATIONS[set_operation], list[list[int]](), list[Any](), 0
    for group in sorted({*left, *right}):
        result = sorted(operation(left.get(group, set()), right.get(group, set())))
        largest = max(largest, len(result))
        positions += [[*group, number] for number in range(len(result))]
        elements += result
    values = xp.empty(len(elements), dtype)
    values[:] = elements
    indices = xp.array(positions, xp.int64).reshape(len(positions), len(shape) + 1)
    return [indices, values, xp.array([*shape, largest], xp.int64)]


def _result(first: Any, *operands: Any, **attrs: Any) -> list[Dims]:
    return [(None, None), (None,), (None,)]


_ATTRS: Any = {"T": _ELEMENTS, "cpu_only": True, "data_dependent": True, "partly": _result}


def _check(operation: str, *shapes: Sequence[int | None]) -> None:
    if operation not in _OPERATIONS:
        raise InvalidArgumentError(f"Invalid set_operation {operation}.")
    for shape in shapes:
        if len(shape) < 2:
            raise InvalidArgumentError(f"Shape {bracketed(shape)} has rank {len(shape)} < 2")
    if len(shapes) == 2 and not may_be_equal(shapes[0][:-1], shapes[1][:-1]):
        text = f"Mismatched shapes {bracketed(shapes[0][:-1])} vs {bracketed(shapes[1][:-1])}"
        raise InvalidArgumentError(text)


def _specs(rank: int, spec: Spec) -> list[Spec]:
    return [Spec((None, rank), int64), Spec((None,), spec.dtype), Spec((rank,), int64)]


@op("T T -> int64 T int64", **_ATTRS)
def DenseToDenseSetOperation(xp: Any, set1: Any, set2: Any, set_operation: str, validate_indices: bool) -> list[Any]:
    _check(set_operation, set1.shape, set2.shape)
    return _combined(xp, _groups_of_dense(xp, set1), _groups_of_dense(xp, set2), set_operation, set1.dtype)


@DenseToDenseSetOperation.infer
def _(set1: Spec, set2: Spec, set_operation: str, validate_indices: bool) -> list[Spec]:
    _check(set_operation, set1.shape, set2.shape)
    return _specs(len(set1.shape), set1)


@op("T int64 T -> int64 T int64", host={"set2_shape": as_ints}, asked={"set2_shape": int64}, **_ATTRS)
def DenseToSparseSetOperation(
    xp: Any,
    set1: Any,
    set2_indices: Any,
    set2_values: Any,
    set2_shape: tuple[int, ...],
    set_operation: str,
    validate_indices: bool,
) -> list[Any]:
    _check(set_operation, set1.shape, set2_shape)
    sparse = _groups_of_sparse(set2_indices, set2_values, set2_shape, validate_indices)
    return _combined(xp, _groups_of_dense(xp, set1), sparse, set_operation, set1.dtype)


@DenseToSparseSetOperation.infer
def _(
    set1: Spec, set2_indices: Spec, set2_values: Spec, set2_shape: Any, set_operation: str, **attrs: Any
) -> list[Spec]:
    _check(set_operation, set1.shape, set2_shape)
    return _specs(len(set1.shape), set1)


@op(
    "int64 T int64 T -> int64 T int64",
    host={"set1_shape": as_ints, "set2_shape": as_ints},
    asked={"set1_shape": int64, "set2_shape": int64},
    **_ATTRS,
)
def SparseToSparseSetOperation(
    xp: Any,
    set1_indices: Any,
    set1_values: Any,
    set2_indices: Any,
    set2_values: Any,
    set1_shape: tuple[int, ...],
    set2_shape: tuple[int, ...],
    set_operation: str,
    validate_indices: bool,
) -> list[Any]:
    _check(set_operation, set1_shape, set2_shape)
    first = _groups_of_sparse(set1_indices, set1_values, set1_shape, validate_indices)
    second = _groups_of_sparse(set2_indices, set2_values, set2_shape, validate_indices)
    return _combined(xp, first, second, set_operation, set1_values.dtype)


@SparseToSparseSetOperation.infer
def _(
    set1_indices: Spec,
    set1_values: Spec,
    set2_indices: Spec,
    set2_values: Spec,
    set1_shape: Any,
    set2_shape: Any,
    set_operation: str,
    validate_indices: bool,
) -> list[Spec]:
    _check(set_operation, set1_shape, set2_shape)
    return _specs(len(set1_shape), set1_values)


def _size_partly(*specs: Any, **attrs: Any) -> Dims:
    return None


@op(
    "int64 T -> int32",
    host={"set_shape": as_ints},
    asked={"set_shape": int64},
    T=_ELEMENTS,
    cpu_only=True,
    partly=_size_partly,
)
def SetSize(xp: Any, set_indices: Any, set_values: Any, set_shape: tuple[int, ...], validate_indices: bool) -> Any:
    groups, shape = _groups_of_sparse(set_indices, set_values, set_shape, validate_indices)
    sizes = xp.zeros(shape, xp.int32)
    for position, elements in groups.items():
        sizes[position] = len(elements)
    return sizes


@SetSize.infer
def _(set_indices: Spec, set_values: Spec, set_shape: Any, validate_indices: bool) -> Spec:
    return Spec(tuple(set_shape[:-1]), int32)


no_gradient(DenseToDenseSetOperation, DenseToSparseSetOperation, SparseToSparseSetOperation, SetSize)


def size(a: Any, validate_indices: bool = True) -> Tensor:
    """Returns the number of distinct elements in each set.

    Args:
      a: a sparse tensor, shape `[..., largest set]`; each last axis is a set.
      validate_indices: whether to check that positions are in order; True by default.

    Returns:
      An int32 tensor without the last axis.

    Raises:
      TypeError: if `a` is not a sparse tensor.
      InvalidArgumentError: if positions are out of order or repeated.

    >>> tf.sets.size(tf.sparse.from_dense([[1, 1, 2], [0, 0, 0]])).numpy()
    array([2, 0], dtype=int32)
    """
    if not isinstance(a, SparseTensor):
        raise TypeError(f"Expected `SparseTensor`, got {a}.")
    return SetSize(a.indices, a.values, set_shape=a.dense_shape, validate_indices=validate_indices)


def _operands(a: Any, b: Any) -> tuple[Any, Any]:
    first, second = [value if isinstance(value, SparseTensor) else as_tensor(value) for value in (a, b)]
    if first.dtype not in _ELEMENTS:
        raise TypeError(f"'a' has invalid dtype {first.dtype}. Pass integers or strings.")
    if first.dtype != second.dtype:
        raise TypeError(f"Types don't match, {first.dtype} vs {second.dtype}.")
    return first, second


def _operated(a: Any, b: Any, operation: str, validate_indices: bool) -> SparseTensor:
    if not isinstance(b, SparseTensor):
        indices, values, shape = DenseToDenseSetOperation(
            a, b, set_operation=operation, validate_indices=validate_indices
        )
    elif not isinstance(a, SparseTensor):
        indices, values, shape = DenseToSparseSetOperation(
            a,
            b.indices,
            b.values,
            set2_shape=b.dense_shape,
            set_operation=operation,
            validate_indices=validate_indices,
        )
    else:
        indices, values, shape = SparseToSparseSetOperation(
            a.indices,
            a.values,
            b.indices,
            b.values,
            set1_shape=a.dense_shape,
            set2_shape=sparse_of(b).dense_shape,
            set_operation=operation,
            validate_indices=validate_indices,
        )
    return SparseTensor(indices, values, shape)


def _is_flipped(a: Any, b: Any) -> bool:
    """Returns whether only the first operand is sparse; the ops take such operands in the other order."""
    return isinstance(a, SparseTensor) and not isinstance(b, SparseTensor)


def intersection(a: TensorLike | SparseTensor, b: TensorLike | SparseTensor, validate_indices: bool = True) -> Any:
    """Returns the elements that are in both sets, for each pair of sets in the last axis.

    Args:
      a: a tensor or a sparse tensor of integers or strings, shape `[..., largest set]`.
      b: a tensor or a sparse tensor of the same dtype; all lengths but the last are those of `a`.
      validate_indices: whether to check that positions of sparse tensors are in order; True by default.

    Returns:
      A sparse tensor with the sorted elements of each intersection in its last axis.

    Raises:
      TypeError: if the dtypes differ, or are those of neither integers nor strings.
      InvalidArgumentError: if a tensor has fewer than two axes, the lengths differ, or positions are out of order.

    >>> tf.sets.intersection([[1, 2, 3]], [[3, 1, 5]]).values.numpy()
    array([1, 3], dtype=int32)
    """
    first, second = _operands(a, b)
    first, second = (second, first) if _is_flipped(first, second) else (first, second)
    return _operated(first, second, "intersection", validate_indices)


def difference(
    a: TensorLike | SparseTensor, b: TensorLike | SparseTensor, aminusb: bool = True, validate_indices: bool = True
) -> Any:
    """Returns the elements that are in only one of two sets, for each pair of sets in the last axis.

    Args:
      a: a tensor or a sparse tensor of integers or strings, shape `[..., largest set]`.
      b: a tensor or a sparse tensor of the same dtype; all lengths but the last are those of `a`.
      aminusb: whether to return the elements of `a` that are not in `b` (default), or the reverse.
      validate_indices: whether to check that positions of sparse tensors are in order; True by default.

    Returns:
      A sparse tensor with the sorted elements of each difference in its last axis.

    Raises:
      TypeError: if the dtypes differ, or are those of neither integers nor strings.
      InvalidArgumentError: if a tensor has fewer than two axes, the lengths differ, or positions are out of order.

    >>> tf.sets.difference([[1, 2, 3]], [[3, 1, 5]]).values.numpy()
    array([2], dtype=int32)
    """
    first, second = _operands(a, b)
    if _is_flipped(first, second):
        first, second, aminusb = second, first, not aminusb
    return _operated(first, second, "a-b" if aminusb else "b-a", validate_indices)


def union(a: TensorLike | SparseTensor, b: TensorLike | SparseTensor, validate_indices: bool = True) -> Any:
    """Returns the elements that are in at least one of two sets, for each pair of sets in the last axis.

    Args:
      a: a tensor or a sparse tensor of integers or strings, shape `[..., largest set]`.
      b: a tensor or a sparse tensor of the same dtype; all lengths but the last are those of `a`.
      validate_indices: whether to check that positions of sparse tensors are in order; True by default.

    Returns:
      A sparse tensor with the sorted elements of each union in its last axis.

    Raises:
      TypeError: if the dtypes differ, or are those of neither integers nor strings.
      InvalidArgumentError: if a tensor has fewer than two axes, the lengths differ, or positions are out of order.

    >>> tf.sets.union([[1, 2, 3]], [[3, 1, 5]]).values.numpy()
    array([1, 2, 3, 5], dtype=int32)
    """
    first, second = _operands(a, b)
    first, second = (second, first) if _is_flipped(first, second) else (first, second)
    return _operated(first, second, "union", validate_indices)
