"""`tf.sparse.add`, `maximum` and `minimum`: two sparse tensors, element by element."""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.attributes import as_ints
from nbtf._ops.math.arithmetic import add as add_dense
from nbtf._ops.op import Gradients, Op, op, unregistered
from nbtf._ops.ragged_and_sparse.sparse import SparseTensor, sparse_of, to_dense
from nbtf._ops.specs import Dims
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import NUMBERS, REALS, complex64, complex128, float32, float64, int64
from nbtf.errors import InvalidArgumentError


def _united(xp: Any, a_indices: Any, b_indices: Any) -> tuple[Any, Any, Any]:
    """Returns the positions of either tensor in row-major order, and where each one's own positions are in them."""
    joined = xp.concatenate([a_indices, b_indices])
    order = xp.lexsort(joined.T[::-1]) if joined.shape[1] else xp.arange(len(joined))
    ordered = joined[order]
    is_new = xp.ones(len(ordered), bool)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(1)
    targets = xp.empty(len(ordered), xp.int64)
    targets[order] = xp.cumsum(is_new) - 1
    return ordered[is_new], targets[: len(a_indices)], targets[len(a_indices) :]


def _aligned(xp: Any, a_indices: Any, a_values: Any, b_indices: Any, b_values: Any) -> list[Any]:
    """Returns the positions of either tensor, and the elements of both there."""
    indices, *targets = _united(xp, a_indices, b_indices)
    aligned: list[Any] = [indices]
    for values, target in zip((a_values, b_values), targets, strict=True):
        aligned.append(xp.zeros(len(indices), values.dtype))
        aligned[-1][target] = values
    return aligned


def _partly(a_indices: Any, *operands: Any, **attrs: Any) -> list[Dims]:
    return [(None, None if a_indices.shape is None else a_indices.shape[1]), (None,)]


_ATTRS: Any = {
    "host": {"a_shape": as_ints, "b_shape": as_ints},
    "asked": {"a_shape": int64, "b_shape": int64},
    "cpu_only": True,
    "data_dependent": True,
    "partly": _partly,
}


def _check(a_shape: Any, b_shape: Any) -> None:
    if len(a_shape) != len(b_shape):
        raise InvalidArgumentError(f"Operands do not have the same ranks; got ranks: {len(a_shape)} and {len(b_shape)}")
    for axis, (m, n) in enumerate(zip(a_shape, b_shape, strict=True)):
        if m != n:
            raise InvalidArgumentError(f"Operands' shapes do not match: got {m} and {n} for dimension {axis}")


@op("int64 T int64 T Treal -> int64 T", T=NUMBERS, Treal=REALS, **_ATTRS)
def SparseAdd(
    xp: Any,
    a_indices: Any,
    a_values: Any,
    b_indices: Any,
    b_values: Any,
    thresh: Any,
    a_shape: tuple[int, ...],
    b_shape: tuple[int, ...],
) -> list[Any]:
    _check(a_shape, b_shape)
    indices, first, second = _aligned(xp, a_indices, a_values, b_indices, b_values)
    total = first + second
    is_kept = xp.absolute(total) >= thresh
    return [indices[is_kept], total[is_kept]]


def _specs(a_indices: Spec, a_values: Spec, *operands: Spec, a_shape: Any, b_shape: Any) -> list[Spec]:
    _check(a_shape, b_shape)
    return [Spec((None, a_indices.shape[1]), int64), Spec((None,), a_values.dtype)]


SparseAdd.infer(_specs)


@SparseAdd.gradient_keeping("inputs", "outputs")
def _(call: Call, *grads: Tensor | None) -> Gradients:
    if grads[1] is None:
        return [None] * 5
    a_indices, _, b_indices, _, _ = call.inputs
    to_a, to_b = SparseAddGrad(grads[1], a_indices, b_indices, call.outputs[0])
    return [None, to_a, None, to_b, None]


def _gradients_partly(backprop_val_grad: Any, a_indices: Any, b_indices: Any, sum_indices: Any) -> list[Dims]:
    return [None if indices.shape is None else indices.shape[:1] for indices in (a_indices, b_indices)]


@op("T int64 int64 int64 -> T T", T=NUMBERS, cpu_only=True, partly=_gradients_partly)
def SparseAddGrad(xp: Any, backprop_val_grad: Any, a_indices: Any, b_indices: Any, sum_indices: Any) -> list[Any]:
    results: list[Any] = []
    for indices in (a_indices, b_indices):
        united, own_positions, summed = _united(xp, indices, sum_indices)
        grads = xp.zeros(len(united), backprop_val_grad.dtype)
        grads[summed] = backprop_val_grad
        results.append(grads[own_positions])
    return results


@SparseAddGrad.infer
def _(backprop_val_grad: Spec, a_indices: Spec, b_indices: Spec, sum_indices: Spec) -> list[Spec]:
    return [Spec(indices.shape[:1], backprop_val_grad.dtype) for indices in (a_indices, b_indices)]


unregistered(SparseAddGrad)


def _pairwise(type: str, function: str) -> Op:
    """Returns an op that applies a ufunc to the elements at the positions of either tensor."""

    def kernel(
        xp: Any,
        a_indices: Any,
        a_values: Any,
        b_indices: Any,
        b_values: Any,
        a_shape: tuple[int, ...],
        b_shape: tuple[int, ...],
    ) -> list[Any]:
        _check(a_shape, b_shape)
        indices, first, second = _aligned(xp, a_indices, a_values, b_indices, b_values)
        return [indices, getattr(xp, function)(first, second)]

    kernel.__name__ = type
    return op("int64 T int64 T -> int64 T", T=REALS, infer=_specs, **_ATTRS)(kernel)


SparseSparseMaximum = _pairwise("SparseSparseMaximum", "maximum")
SparseSparseMinimum = _pairwise("SparseSparseMinimum", "minimum")
unregistered(SparseSparseMaximum, SparseSparseMinimum)


def add(a: Any, b: Any, threshold: Any = 0) -> Any:
    """Returns the sum of two tensors, of which at least one is sparse.

    Args:
      a: a sparse tensor, or a tensor.
      b: a sparse tensor, or a tensor.
      threshold: sums whose absolute value is smaller are left out; 0 keeps all, even those that cancel out.

    Returns:
      A sparse tensor if both are sparse, at the positions of either; otherwise a tensor.

    Raises:
      TypeError: if neither is sparse.
      InvalidArgumentError: if the shapes differ.

    >>> s = tf.sparse.add(tf.sparse.from_dense([1, 0, 2]), tf.sparse.from_dense([0, 0, 3]))
    >>> tf.sparse.to_dense(s).numpy()
    array([1, 0, 5], dtype=int32)
    """
    if not isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if not isinstance(a, SparseTensor) or not isinstance(b, SparseTensor):
        first, second = [to_dense(value) if isinstance(value, SparseTensor) else as_tensor(value) for value in (a, b)]
        return add_dense(first, second)
    operands = (a.indices, a.values, b.indices, b.values)
    real_dtype = {complex64: float32, complex128: float64}.get(a.dtype, a.dtype)
    limit = as_tensor(threshold, real_dtype)
    return _with_shape(a, SparseAdd(*operands, limit, a_shape=a.dense_shape, b_shape=b.dense_shape))


def _with_shape(a: SparseTensor, components: Any) -> SparseTensor:
    indices, values = components
    result = SparseTensor(indices, values, a.dense_shape)
    result.set_shape(a.shape)
    return result


def maximum(sp_a: SparseTensor, sp_b: SparseTensor, name: str | None = None) -> SparseTensor:
    """Returns the larger elements of two sparse tensors, at the positions of either.

    >>> s = tf.sparse.maximum(tf.sparse.from_dense([1, 0, 2]), tf.sparse.from_dense([0, 0, 3]))
    >>> tf.sparse.to_dense(s).numpy()
    array([1, 0, 3], dtype=int32)
    """
    return _combined(SparseSparseMaximum, sp_a, sp_b, name)


def minimum(sp_a: SparseTensor, sp_b: SparseTensor, name: str | None = None) -> SparseTensor:
    """Returns the smaller elements of two sparse tensors, at the positions of either.

    >>> s = tf.sparse.minimum(tf.sparse.from_dense([1, 0, 2]), tf.sparse.from_dense([0, 0, 3]))
    >>> s.values.numpy()
    array([0, 2], dtype=int32)
    """
    return _combined(SparseSparseMinimum, sp_a, sp_b, name)


def _combined(record: Op, a: Any, b: Any, name: str | None) -> SparseTensor:
    """Returns an op's result for two sparse tensors, at the positions of either, in row-major order."""
    first, second = sparse_of(a), sparse_of(b)
    operands = (first.indices, first.values, second.indices, second.values)
    return _with_shape(first, record(*operands, a_shape=first.dense_shape, b_shape=second.dense_shape, name=name))
