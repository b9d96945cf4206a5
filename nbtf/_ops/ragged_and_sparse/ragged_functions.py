"""Functions that create ragged tensors from lists or apply functions to their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

from nbtf._devices.cpu import CPU
from nbtf._ops.operators import OPERATORS
from nbtf._ops.ragged_and_sparse.ragged import RaggedTensor
from nbtf._ops.ragged_and_sparse.row_splits import splits_of
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import DTypeLike, as_dtype, int64
from nbtf.errors import InvalidArgumentError

F = TypeVar("F", bound=Callable[..., Any])

_LISTS = (list, tuple, CPU.xp.ndarray)


def constant(
    pylist: Any,
    dtype: DTypeLike | None = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    name: str | None = None,
    row_splits_dtype: DTypeLike = int64,
) -> RaggedTensor | Tensor:
    """Returns a ragged tensor made from nested lists.

    Args:
      pylist: nested lists of different lengths, with the same nesting depth everywhere.
      dtype: the dtype of the elements; by default inferred.
      ragged_rank: number of list levels that may differ in length; by default all except the elements.
      inner_shape: the shape of the innermost values.
      row_splits_dtype: the dtype of the splits, `tf.int64` (default) or `tf.int32`.

    Returns:
      A ragged tensor, or a tensor if no level is ragged.

    Raises:
      ValueError: if the elements' nesting depths differ.

    >>> tf.ragged.constant([[1, 2, 3], [], [4]])
    <tf.RaggedTensor [[1, 2, 3], [], [4]]>
    """
    target_dtype = None if dtype is None else as_dtype(dtype)
    if not isinstance(pylist, _LISTS):
        return as_tensor(pylist, target_dtype)
    depth, deepest = _depths(pylist)
    if depth is not None and depth < deepest:
        raise ValueError("all scalar values must have the same nesting depth")
    if ragged_rank is None:
        ragged_rank = max(0, deepest - 1 - (0 if inner_shape is None else len(inner_shape)))
    splits: list[list[int]] = []
    for _ in range(ragged_rank):
        splits.append(splits_of([len(row) for row in pylist]))
        pylist = [item for row in pylist for item in row]
    result: Any = as_tensor(_as_lists(pylist), target_dtype)
    for row_starts in reversed(splits):
        result = RaggedTensor(result, as_tensor(row_starts, as_dtype(row_splits_dtype)))
    return result


def _depths(value: Any) -> tuple[int | None, int]:
    """Returns the nesting depth of the scalars, None if there are none, and that of the lists."""
    if not isinstance(value, _LISTS):
        return 0, 0
    scalars, lists = set[int](), [0]
    for item in cast("Sequence[Any]", value):
        depth, deepest = _depths(item)
        lists.append(deepest)
        if depth is not None:
            scalars.add(depth + 1)
    if len(scalars) > 1:
        raise ValueError("all scalar values must have the same nesting depth")
    return (scalars.pop() if scalars else None), max(lists) + 1


def _as_lists(value: Any) -> Any:
    return [_as_lists(item) for item in value] if isinstance(value, _LISTS) else value


def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Applies a function to the values of ragged tensors and keeps their row splits.

    Args:
      op: function that is called with `flat_values` in place of each ragged tensor.
      *args: its arguments; all ragged tensors must have the same row splits.
      **kwargs: its keyword arguments, with the same condition.

    Returns:
      A ragged tensor, or the result of `op` if no argument is ragged.

    Raises:
      InvalidArgumentError: if the rows differ in length.

    >>> tf.ragged.map_flat_values(tf.abs, tf.ragged.constant([[-1, 2], [-3]]))
    <tf.RaggedTensor [[1, 2], [3]]>
    """
    ragged = [value for value in (*args, *kwargs.values()) if isinstance(value, RaggedTensor)]
    for operand in ragged[1:]:
        _check_same_rows(ragged[0], operand)
    result = op(*map(_flat, args), **{key: _flat(value) for key, value in kwargs.items()})
    return ragged[0].with_flat_values(result) if ragged else result


def _flat(value: Any) -> Any:
    return value.flat_values if isinstance(value, RaggedTensor) else value


def _check_same_rows(x: RaggedTensor, y: RaggedTensor) -> None:
    pairs = zip(x.nested_row_splits, y.nested_row_splits, strict=False)
    if x.ragged_rank != y.ragged_rank or any(a.numpy().tolist() != b.numpy().tolist() for a, b in pairs):
        raise InvalidArgumentError(
            "Condition x == y did not hold: combined ragged tensors must have the same row splits, "
            f"but these have {[s.numpy().tolist() for s in x.nested_row_splits]} and "
            f"{[s.numpy().tolist() for s in y.nested_row_splits]}"
        )


def _operator(function: Callable[..., Any]) -> Callable[..., Any]:
    def operator(*operands: Any) -> Any:
        return map_flat_values(function, *operands)

    return operator


for _name, _function in OPERATORS.items():
    if _name != "__getitem__":
        setattr(RaggedTensor, _name, _operator(_function))


def takes_ragged(function: F) -> F:
    """Returns a function of tensors that also accepts ragged tensors and then returns a ragged tensor."""

    @wraps(function)
    def with_ragged(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(value, RaggedTensor) for value in (*args, *kwargs.values())):
            return map_flat_values(function, *args, **kwargs)
        return function(*args, **kwargs)

    return cast("F", with_ragged)
