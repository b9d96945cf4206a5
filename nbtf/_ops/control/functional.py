"""Functions applied to each slice of a tensor: map_fn, vectorized_map, foldl, foldr, scan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.creation import zeros
from nbtf._ops.arrays.joining import stack, unstack
from nbtf._ops.structure import assert_same_structure, flatten, map_structure, pack_sequence_as
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorSpec
from nbtf._types import DType, as_dtype
from nbtf.errors import InvalidArgumentError, OutOfRangeError


def map_fn(
    fn: Callable[..., Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """Applies a function to each slice along the first axis and stacks the results.

    Args:
      fn: function that takes a slice, or a structure of slices like `elems`.
      elems: a tensor, a sparse or ragged tensor, or a structure of these, all of the same length.
      dtype: the former name of `fn_output_signature`.
      parallel_iterations, back_prop, swap_memory, infer_shape: accepted and ignored.
      fn_output_signature: dtypes or `tf.TensorSpec`s in the structure of `fn`'s results; by default like `elems`.

    Returns:
      The stacked results; without a signature, those for a ragged tensor are a ragged tensor.

    Raises:
      InvalidArgumentError: if a result's dtype differs from the signature.
      TypeError: if `fn` is not callable.
      ValueError: if `elems` has scalars or differing lengths, or results differ in structure or shape.

    >>> tf.map_fn(lambda x: x * x, tf.constant([1, 2, 3])).numpy()
    array([1, 4, 9], dtype=int32)
    """
    if not callable(fn):
        raise TypeError(f"The provided function {fn!r} is not callable. fn must be callable.")
    slices = _slices(elems)
    signature = dtype if fn_output_signature is None else fn_output_signature
    ragged: list[Any] = [None] * len(flatten(signature))
    if signature is None:
        signature = map_structure(_dtype_of, elems)
        ragged = [leaf if hasattr(leaf, "nested_row_splits") else None for leaf in flatten(elems)]
    specs = [_spec_of(leaf) for leaf in flatten(signature)]
    rows: list[list[Tensor]] = []
    for row in zip(*slices, strict=True):
        result = fn(pack_sequence_as(elems, row))
        assert_same_structure(signature, result)
        rows.append([_typed(leaf, spec) for leaf, spec in zip(flatten(result), specs, strict=True)])
    columns = [[row[i] for row in rows] for i in range(len(specs))]
    joined = [
        _stacked(column, spec) if like is None else _joined_rows(column, like)
        for column, spec, like in zip(columns, specs, ragged, strict=True)
    ]
    return pack_sequence_as(signature, joined)


def _joined_rows(rows: Sequence[Any], like: Any) -> Any:
    """Returns rows, which may differ in length, as a ragged tensor."""
    if any([not row.shape.rank for row in rows]):
        raise ValueError(
            "fn must return the rows of a ragged tensor, not scalars. Pass fn_output_signature=tf.float32."
        )
    return like._gathered(rows)


def _dtype_of(value: Any) -> DType:
    return _sliceable(value).dtype


def _sliceable(value: Any) -> Any:
    """Returns a value as a tensor, unless it is sparse or ragged and returns its own slices."""
    return value if hasattr(value, "_slices") else as_tensor(value)


def _slices(elems: Any) -> list[list[Any]]:
    """Returns the slices of each tensor of a structure along its first axis."""
    flat = [_sliceable(leaf) for leaf in flatten(elems)]
    if not flat:
        text = "elems must be a Tensor or (possibly nested) sequence of Tensors."
        raise ValueError(f"{text} Got {elems}, which does not contain any Tensors.")
    for leaf in flat:
        if not leaf.shape.rank:
            raise ValueError("Elements in elems must be 1+ dimensional Tensors, not scalars")
        if leaf.shape[0] != flat[0].shape[0]:
            raise ValueError(f"Dimensions {flat[0].shape[0]} and {leaf.shape[0]} are not compatible")
    return [leaf._slices() if hasattr(leaf, "_slices") else unstack(leaf) for leaf in flat]


def _spec_of(signature: Any) -> TensorSpec:
    if isinstance(signature, TensorSpec):
        return signature
    return TensorSpec(None, as_dtype(signature))


def _typed(value: Any, spec: TensorSpec) -> Tensor:
    tensor = value if hasattr(value, "nested_row_splits") else as_tensor(value)
    _check_dtype(spec.dtype, tensor.dtype)
    return tensor


def _check_dtype(expected: DType, actual: DType) -> None:
    if actual is not expected:  # the text names TensorFlow's TensorArray of results
        text = f"TensorArray dtype is {expected.name} but Op is trying to write dtype {actual.name} "
        raise InvalidArgumentError(text)


def _stacked(results: Sequence[Tensor], spec: TensorSpec) -> Tensor:
    if not results:
        inner = spec.shape.as_list() if spec.shape.is_fully_defined() else []
        return zeros([0, *inner], spec.dtype)
    for result in results:
        if result.shape != results[0].shape:
            shapes = f"({result.shape}), expected ({results[0].shape})"
            raise ValueError(f"Incompatible shape for value {shapes}")
    return stack(results)


def vectorized_map(fn: Callable[..., Any], elems: Any, fallback_to_while_loop: bool = True, warn: bool = True) -> Any:
    """Applies a function to each slice along the first axis and stacks the results.

    TensorFlow vectorizes the function over all slices; nbtf calls it once per slice.

    Args:
      fn: function that takes a slice, or a structure of slices like `elems`.
      elems: a tensor, or a structure of tensors; tensors of length 1 are used for every slice.
      fallback_to_while_loop, warn: accepted and ignored.

    Returns:
      The stacked results, in the structure that `fn` returns.

    Raises:
      ValueError: if `elems` has scalars or differing lengths.

    >>> tf.vectorized_map(lambda x: x * x, tf.constant([1, 2, 3])).numpy()
    array([1, 4, 9], dtype=int32)
    """
    flat = [as_tensor(leaf) for leaf in flatten(elems)]
    count = max((len(leaf) for leaf in flat if leaf.ndim), default=0)
    slices = _slices(pack_sequence_as(elems, [_repeated(leaf, count) for leaf in flat]))
    results = [fn(pack_sequence_as(elems, row)) for row in zip(*slices, strict=True)]
    if not results:
        raise ValueError("tf.vectorized_map needs at least one slice to determine what `fn` returns.")
    return map_structure(lambda *values: stack([as_tensor(value) for value in values]), *results)


def _repeated(tensor: Tensor, count: int) -> Tensor:
    if tensor.ndim and len(tensor) == 1 and count != 1:
        return stack([reshape(tensor, tensor.shape[1:])] * count)
    return tensor


def foldl(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Returns the slices along the first axis combined from the first to the last.

    Args:
      fn: function that takes the result so far and the next slice, and returns the new result.
      elems: a tensor, or a structure of tensors of the same length.
      initializer: the initial value; the first slice by default.
      parallel_iterations, back_prop, swap_memory: accepted and ignored.

    Returns:
      The final result.

    Raises:
      OutOfRangeError: if `elems` is empty and there is no `initializer`.

    >>> tf.foldl(lambda total, x: total + x, tf.constant([1, 2, 3])).numpy()
    np.int32(6)
    """
    steps = _steps(fn, elems, initializer, reverse=False)
    return steps[-1][1]


def foldr(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Returns the slices along the first axis combined from the last to the first.

    Args:
      fn: function that takes the result so far and the next slice, and returns the new result.
      elems: a tensor, or a structure of tensors of the same length.
      initializer: the initial value; the last slice by default.
      parallel_iterations, back_prop, swap_memory: accepted and ignored.

    Returns:
      The final result.

    Raises:
      OutOfRangeError: if `elems` is empty and there is no `initializer`.

    >>> tf.foldr(lambda total, x: total - x, tf.constant([1, 2, 10])).numpy()
    np.int32(7)
    """
    steps = _steps(fn, elems, initializer, reverse=True)
    return steps[-1][1]


def scan(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """Combines the slices along the first axis and returns all intermediate results, stacked.

    Args:
      fn: function that takes the result so far and the next slice, and returns the new result in the same structure.
      elems: a tensor, or a structure of tensors of the same length.
      initializer: the initial value; the first slice by default.
      parallel_iterations, back_prop, swap_memory, infer_shape: accepted and ignored.
      reverse: whether to go from the last slice to the first; False by default.

    Returns:
      The stacked results; the first slice's result comes first, even in reverse.

    Raises:
      InvalidArgumentError: if a result's dtype differs from the first one's.
      OutOfRangeError: if `elems` is empty and there is no `initializer`.
      ValueError: if results differ in structure or shape.

    >>> tf.scan(lambda total, x: total + x, tf.constant([1, 2, 3])).numpy()
    array([1, 3, 6], dtype=int32)
    """
    steps = _steps(fn, elems, initializer, reverse)
    first = map_structure(as_tensor, steps[0][1])
    for _, result in steps:
        assert_same_structure(first, result)
    specs = [TensorSpec(None, leaf.dtype) for leaf in flatten(first)]
    placed = sorted((step for step in steps if step[0] is not None), key=lambda step: step[0])
    rows = [[_typed(leaf, spec) for leaf, spec in zip(flatten(result), specs, strict=True)] for _, result in placed]
    stacked = [_stacked([row[i] for row in rows], spec) for i, spec in enumerate(specs)]
    return pack_sequence_as(first, stacked)


def _steps(fn: Callable[..., Any], elems: Any, initializer: Any, reverse: bool) -> list[tuple[Any, Any]]:
    """Returns pairs of result and slice index; the initial value has the index None unless it is a slice."""
    if not callable(fn):
        raise TypeError(f"The provided function {fn!r} is not callable. fn must be callable.")
    rows = [pack_sequence_as(elems, row) for row in zip(*_slices(elems), strict=True)]
    numbers = list(range(len(rows)))[:: -1 if reverse else 1]
    if initializer is not None:
        steps: list[tuple[Any, Any]] = [(None, map_structure(as_tensor, initializer))]
    elif numbers:
        first = numbers.pop(0)
        steps = [(first, rows[first])]
    else:
        raise OutOfRangeError("Tried to read from index 0 but array size is: 0 ")
    for number in numbers:
        steps.append((number, fn(steps[-1][1], rows[number])))
    return steps
