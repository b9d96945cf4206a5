"""`tf.SparseTensor`: the values that are not zero, and their positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.coordinates import gather_nd
from nbtf._ops.arrays.creation import zeros_like
from nbtf._ops.arrays.gathering import gather
from nbtf._ops.arrays.index_writes import joined_at
from nbtf._ops.arrays.joining import unstack
from nbtf._ops.arrays.shapes import transpose
from nbtf._ops.attributes import as_ints
from nbtf._ops.math.arithmetic import cast, conj, multiply
from nbtf._ops.math.comparison import equal, not_equal, where
from nbtf._ops.op import Gradients, op, unregistered
from nbtf._ops.ragged_and_sparse.sparse_products import divided, multiplied
from nbtf._ops.reductions.means_and_extremes import reduce_prod
from nbtf._ops.reductions.sums import reduce_sum
from nbtf._ops.specs import UNKNOWN, Dims, as_asked, bracketed
from nbtf._runtime.attributes import reads
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import ShapeLike, TensorShape
from nbtf._types import ALL, NUMBERS, DType, TensorLike, int64
from nbtf.errors import InvalidArgumentError, UnimplementedError


class SparseTensor:
    """A tensor that stores only some of its elements; all others are zero.

    Args:
      indices: the positions of the values, shape `[n, rank]`; ops require row-major order.
      values: the values, shape `[n]`.
      dense_shape: the lengths of the axes, shape `[rank]`.

    Raises:
      ValueError: if the shapes of the three arguments do not fit.

    >>> s = tf.sparse.SparseTensor(indices=[[0, 1]], values=[7], dense_shape=[2, 2])
    >>> tf.sparse.to_dense(s).numpy()
    array([[0, 7],
           [0, 0]], dtype=int32)
    """

    __slots__ = ("__weakref__", "_dense_shape", "_indices", "_promised", "_values")

    def __init__(self, indices: TensorLike, values: TensorLike, dense_shape: TensorLike) -> None:
        """Converts the three arguments to tensors."""
        self._indices = as_tensor(indices, int64)
        self._values = as_tensor(values)
        self._dense_shape = as_tensor(dense_shape, int64)
        self._promised = TensorShape(None)
        count, rank = self._indices.shape.with_rank(2)
        for length, vector in ((count, self._values), (rank, self._dense_shape)):
            elements = vector.shape.with_rank(1)[0]
            if elements != length and None not in (elements, length):
                raise ValueError(f"Dimensions {length} and {elements} are not compatible")

    indices: Tensor = reads("_indices", "The positions of the values.")

    values: Tensor = reads("_values", "The values.")

    dense_shape: Tensor = reads("_dense_shape", "The lengths of the axes, as a tensor.")

    @property
    def shape(self) -> TensorShape:
        """The lengths of the axes; None for lengths that are known only when a function runs."""
        lengths: Any = self._dense_shape
        if hasattr(lengths, "static_value") and lengths.static_value() is None:
            rank = lengths.shape[0]
            return TensorShape(None if rank is None else [None] * rank).merge_with(self._promised)
        return TensorShape(as_ints(lengths))

    def get_shape(self) -> TensorShape:
        """Returns `shape`."""
        return self.shape

    def set_shape(self, shape: ShapeLike) -> None:
        """Adds lengths that the caller knows to those that are unknown while a function is traced.

        Raises:
          ValueError: if `shape` is not compatible with the known lengths.
        """
        self._promised = self.shape.merge_with(shape)

    def _with_converted(self, dtype: DType, convert: Callable[[Any, DType], Any]) -> SparseTensor:
        return self.with_values(convert(self._values, dtype))

    def _shape_as_tensor(self, dtype: DType) -> Tensor:
        return cast(self._dense_shape, dtype)

    def _size_as_tensor(self, dtype: DType) -> Tensor:
        return reduce_prod(cast(self._dense_shape, dtype))

    def _slices(self) -> list[SparseTensor]:
        """Returns the slices along the first axis."""
        rows = self._indices[:, 0]
        slices: list[SparseTensor] = []
        for number in range(self.shape.as_list()[0] or 0):
            stored: Any = where(equal(rows, number))
            values = gather_nd(self._values, stored)
            slices.append(SparseTensor(gather_nd(self._indices, stored)[:, 1:], values, self._dense_shape[1:]))
        return slices

    dtype: DType = reads("_values.dtype", "The dtype of the elements.")

    def with_values(self, new_values: TensorLike) -> SparseTensor:
        """Returns a sparse tensor with other values at the same positions."""
        return SparseTensor(self._indices, new_values, self._dense_shape)

    def __mul__(self, other: TensorLike) -> SparseTensor:
        """Returns a sparse tensor with its stored elements multiplied by a tensor that broadcasts to its shape."""
        if isinstance(other, SparseTensor):
            return NotImplemented
        return self.with_values(multiplied(self._indices, self._values, self._dense_shape, other))

    def __truediv__(self, other: TensorLike) -> SparseTensor:
        """Returns a sparse tensor with its stored elements divided by a tensor that broadcasts to its shape.

        Raises:
          InvalidArgumentError: if the shapes do not fit, or an element of the divisor is 0.
        """
        if isinstance(other, SparseTensor):
            return NotImplemented
        return self.with_values(divided(self._indices, self._values, self._dense_shape, other))

    def __str__(self) -> str:
        return f"SparseTensor(indices={self._indices!s}, values={self._values!s}, dense_shape={self._dense_shape!s})"

    __repr__ = __str__

    def __tf_tensor__(self, dtype: DType | None = None) -> Tensor:
        """Raises an error, since ops that take tensors cannot handle sparse positions."""
        raise UnimplementedError(
            "A SparseTensor was passed where a tensor is required. Pass tf.sparse.to_dense(sparse), or apply the "
            "function to its values with tf.sparse.map_values(function, sparse)."
        )


@op(
    "int64 T T -> T",
    T=ALL,
    host={"output_shape": as_ints},
    asked={"output_shape": int64},
    cpu_only=True,
    partly=as_asked("output_shape"),
)
def SparseToDense(
    xp: Any, sparse_indices: Any, sparse_values: Any, default_value: Any, output_shape: Any, validate_indices: bool
) -> Any:
    _check_inside(xp, sparse_indices, output_shape)
    if validate_indices:
        _check_order(xp, sparse_indices)
    dense = xp.empty(output_shape, sparse_values.dtype)
    dense[...] = default_value
    dense[tuple(sparse_indices.T)] = sparse_values
    return dense


@SparseToDense.infer
def _(sparse_indices: Spec, sparse_values: Spec, default_value: Spec, output_shape: Any, **attrs: Any) -> Spec:
    return Spec(tuple(output_shape), sparse_values.dtype)


@SparseToDense.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    values = gather_nd(grad, call.inputs[0]) if call.needs(1) else None
    return [None, values, None]


def _check_inside(xp: Any, indices: Any, shape: tuple[int, ...]) -> None:
    wrong = ((indices < 0) | (indices >= xp.array(shape, indices.dtype))).any(1)
    if wrong.any():
        at = int(wrong.argmax())
        text = (
            f"indices[{at}] = {bracketed(indices[at].tolist())} is out of bounds: need 0 <= index < {bracketed(shape)}"
        )
        raise InvalidArgumentError(text)


def _check_order(xp: Any, indices: Any) -> None:
    rows = [tuple(row) for row in indices.tolist()]
    for at in range(1, len(rows)):
        if rows[at] <= rows[at - 1]:
            text = f"indices[{at}] = {bracketed(rows[at])} is "
            if rows[at] == rows[at - 1]:
                raise InvalidArgumentError(f"{text}repeated")
            raise InvalidArgumentError(
                f"{text}out of order. Many sparse ops require sorted indices.\n"
                "    Use `tf.sparse.reorder` to create a correctly ordered copy.\n\n"
            )


def to_dense(
    sp_input: SparseTensor, default_value: Any = None, validate_indices: bool = True, name: str | None = None
) -> Tensor:
    """Returns a sparse tensor as an ordinary tensor.

    Args:
      sp_input: the sparse tensor.
      default_value: the value of all other elements; by default zero, False or the empty string.
      validate_indices: whether to check that positions are in order without repetition; True by default.

    Returns:
      A tensor of shape `sp_input.shape`.

    Raises:
      TypeError: if `sp_input` is not a sparse tensor.
      InvalidArgumentError: if a position is out of range, out of order or repeated.

    >>> tf.sparse.to_dense(tf.sparse.SparseTensor([[0, 0], [1, 2]], [1, 2], [2, 3])).numpy()
    array([[1, 0, 0],
           [0, 0, 2]], dtype=int32)
    """
    sparse = sparse_of(sp_input)
    if default_value is None:
        default_value = {"O": b"", "b": False}.get(sparse.dtype.np_dtype.kind, 0)
    return SparseToDense(
        sparse.indices,
        sparse.values,
        as_tensor(default_value, sparse.dtype),
        output_shape=sparse.dense_shape,
        validate_indices=validate_indices,
        name=name,
    )


def sparse_of(value: Any) -> SparseTensor:
    """Returns a value that must be a sparse tensor.

    Raises:
      TypeError: if it is not.
    """
    if not isinstance(value, SparseTensor):
        raise TypeError("Input must be a SparseTensor.")
    return value


def from_dense(tensor: TensorLike, name: str | None = None) -> SparseTensor:
    """Returns a tensor as a sparse tensor of its elements that are not zero, False or empty.

    Args:
      tensor: any tensor.

    Returns:
      A sparse tensor of the same shape.

    >>> tf.sparse.from_dense([0, 7, 0, 8]).indices.numpy()
    array([[1],
           [3]])
    """
    dense = as_tensor(tensor)
    indices: Tensor = where(not_equal(dense, zeros_like(dense)))
    return SparseTensor(indices, gather_nd(dense, indices), as_tensor(dense.shape.as_list(), int64))


def _reordered_partly(input_indices: Any, input_values: Any, **attrs: Any) -> list[Dims]:
    return [input_indices.shape, input_values.shape]


@op(
    "int64 T -> int64 T",
    T=ALL,
    host={"input_shape": as_ints},
    asked={"input_shape": int64},
    cpu_only=True,
    partly=_reordered_partly,
)
def SparseReorder(xp: Any, input_indices: Any, input_values: Any, input_shape: Any) -> list[Any]:
    order = xp.lexsort(input_indices.T[::-1])
    return [input_indices[order], input_values[order]]


@SparseReorder.infer
def _(input_indices: Spec, input_values: Spec, input_shape: Any) -> list[Spec]:
    return [input_indices, input_values]


unregistered(SparseReorder)  # TensorFlow has one: raise an error rather than silently omit the gradient


def reorder(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """Returns a sparse tensor with its positions in row-major order.

    Args:
      sp_input: the sparse tensor.

    Returns:
      A sparse tensor with the same elements in the order that ops require.

    Raises:
      TypeError: if `sp_input` is not a sparse tensor.

    >>> tf.sparse.reorder(tf.sparse.SparseTensor([[1], [0]], [5, 6], [2])).values.numpy()
    array([6, 5], dtype=int32)
    """
    sparse = sparse_of(sp_input)
    indices, values = SparseReorder(sparse.indices, sparse.values, input_shape=sparse.dense_shape, name=name)
    return SparseTensor(indices, values, sparse.dense_shape)


def _product_partly(a_indices: Any, a_values: Any, b: Any, a_shape: Any, adjoint_a: bool, adjoint_b: bool) -> Dims:
    height = None if a_shape is UNKNOWN else a_shape[1 if adjoint_a else 0]
    return height, None if b.shape is None else b.shape[0 if adjoint_b else 1]


@op("int64 T T -> T", T=NUMBERS, host={"a_shape": as_ints}, asked={"a_shape": int64}, partly=_product_partly)
def SparseTensorDenseMatMul(
    xp: Any, a_indices: Any, a_values: Any, b: Any, a_shape: Any, adjoint_a: bool, adjoint_b: bool
) -> Any:
    rows, columns = a_indices.T[::-1] if adjoint_a else a_indices.T
    values = a_values.conj() if adjoint_a else a_values
    dense = b.conj().T if adjoint_b else b
    height, depth = a_shape[::-1] if adjoint_a else a_shape
    if dense.shape[0] != depth:
        raise ValueError(depth)
    result = xp.zeros((height, dense.shape[1]), b.dtype)
    return joined_at(xp, xp.add, result, (rows,), values[:, None] * dense[columns], fresh=True)


@SparseTensorDenseMatMul.infer
def _(a_indices: Spec, a_values: Spec, b: Spec, a_shape: Any, adjoint_a: bool, adjoint_b: bool) -> Spec:
    height, depth = a_shape[::-1] if adjoint_a else a_shape
    inner, width = b.shape[::-1] if adjoint_b else b.shape
    if inner not in (depth, None):
        text = f"Cannot multiply A and B because inner dimension does not match: {depth} vs. {inner}.  "
        raise InvalidArgumentError(f"{text}Did you forget a transpose?")
    return Spec((height, width), b.dtype)


@SparseTensorDenseMatMul.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    indices, values, b = call.inputs
    adjoint_a, adjoint_b = call.attrs["adjoint_a"], call.attrs["adjoint_b"]
    to_values = to_b = None
    if call.needs(1):
        rows, columns = unstack(indices, 2, 1)
        dense = _adjoint(b) if adjoint_b else b
        inner_axis, right = (columns, rows) if adjoint_a else (rows, columns)
        to_values = reduce_sum(multiply(gather(grad, inner_axis), conj(gather(dense, right))), 1)
        to_values = conj(to_values) if adjoint_a else to_values
    if call.needs(2):
        shape = call.attrs["a_shape"]
        to_b = SparseTensorDenseMatMul(indices, values, grad, a_shape=shape, adjoint_a=not adjoint_a, adjoint_b=False)
        to_b = _adjoint(to_b) if adjoint_b else to_b
    return [None, to_values, to_b]


def _adjoint(matrix: Tensor) -> Tensor:
    return conj(transpose(matrix))


def sparse_dense_matmul(
    sp_a: SparseTensor | TensorLike,
    b: SparseTensor | TensorLike,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the product of a sparse matrix and a matrix, in either order.

    Args:
      sp_a: the sparse matrix, shape `[m, k]`; or a matrix if `b` is sparse.
      b: a matrix of the same dtype, shape `[k, n]`.
      adjoint_a: whether to use the conjugate transpose of `sp_a`; False by default.
      adjoint_b: the same for `b`.

    Returns:
      A tensor of shape `[m, n]`.

    Raises:
      TypeError: if neither is sparse.
      InvalidArgumentError: if the matrices' shapes do not fit.

    >>> tf.sparse.sparse_dense_matmul(tf.sparse.from_dense([[0, 2]]), [[1], [3]]).numpy()
    array([[6]], dtype=int32)
    """
    if isinstance(b, SparseTensor):
        # The transposed product has the sparse matrix first. Source: `sparse_tensor_dense_matmul` in sparse_ops.py.
        if adjoint_a == adjoint_b:
            adjoint_a, adjoint_b = not adjoint_a, not adjoint_b
        return transpose(sparse_dense_matmul(b, sp_a, adjoint_a, adjoint_b, name))
    sparse = sparse_of(sp_a)
    return SparseTensorDenseMatMul(
        sparse.indices,
        sparse.values,
        as_tensor(b, None if hasattr(b, "_dtype") else sparse.dtype),
        a_shape=sparse.dense_shape,
        adjoint_a=adjoint_a,
        adjoint_b=adjoint_b,
        name=name,
    )


def map_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> SparseTensor:
    """Applies a function to the values of sparse tensors and keeps their positions.

    Args:
      op: function that is called with `values` in place of each sparse tensor.
      *args: its arguments; all sparse tensors must have the same positions.
      **kwargs: its keyword arguments, with the same condition.

    Returns:
      A sparse tensor.

    Raises:
      ValueError: if no argument is a sparse tensor.
      InvalidArgumentError: if the positions differ.

    >>> tf.sparse.map_values(tf.abs, tf.sparse.from_dense([-1, 0])).values.numpy()
    array([1], dtype=int32)
    """
    sparse = [value for value in (*args, *kwargs.values()) if isinstance(value, SparseTensor)]
    if not sparse:
        raise ValueError("No SparseTensor in argument list of map_values")
    for operand in sparse[1:]:
        if operand.shape != sparse[0].shape or operand.indices.numpy().tolist() != sparse[0].indices.numpy().tolist():
            raise InvalidArgumentError("Combined sparse tensors must have the same positions")
    result = op(*map(_values, args), **{key: _values(value) for key, value in kwargs.items()})
    return sparse[0].with_values(result)


def _values(value: Any) -> Any:
    return value.values if isinstance(value, SparseTensor) else value
