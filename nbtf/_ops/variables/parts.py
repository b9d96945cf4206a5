"""Methods that update parts of a variable: `v[1:].assign(...)`, `v.scatter_nd_update(...)`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, cast

from nbtf._devices.base import Buffer
from nbtf._ops.arrays.coordinates import gather_nd
from nbtf._ops.arrays.gathering import gather
from nbtf._ops.arrays.indexing import getitem, slice_spec
from nbtf._ops.ragged_and_sparse.indexed_slices import IndexedSlices
from nbtf._ops.variables.resource_parts import (
    ResourceScatterAdd,
    ResourceScatterDiv,
    ResourceScatterMax,
    ResourceScatterMin,
    ResourceScatterMul,
    ResourceScatterNdAdd,
    ResourceScatterNdMax,
    ResourceScatterNdMin,
    ResourceScatterNdSub,
    ResourceScatterNdUpdate,
    ResourceScatterSub,
    ResourceScatterUpdate,
    ResourceStridedSliceAssign,
)
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import DType, TensorLike

if TYPE_CHECKING:

    class Part(Tensor):
        """A part of a variable's value that can be assigned to."""

        def assign(self, value: TensorLike, name: str | None = None) -> Any: ...


class VariableParts(Buffer):
    """A variable's methods that update some of its elements; each returns the variable."""

    __slots__ = ()

    _dtype: DType

    def _update(self, op: Any, *inputs: Any, name: str | None = None, **attrs: Any) -> Any:
        raise NotImplementedError

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        """Raises an error with TensorFlow's text."""
        error = TypeError("'ResourceVariable' object does not support item assignment")
        error.add_note("Use v[0].assign(value).")
        raise error

    def __delitem__(self, key: Any) -> NoReturn:
        """Raises an error with TensorFlow's text."""
        raise TypeError("'ResourceVariable' object doesn't support item deletion")

    def __getitem__(self, key: Any) -> Part:
        """Returns a part of the value; its `assign` method updates that part of the variable.

        >>> v = tf.Variable([1, 2, 3])
        >>> v[1:].assign([8, 9]).numpy()
        array([1, 8, 9], dtype=int32)
        """
        part = getitem(self, key)
        object.__setattr__(part, "assign", partial(self._assign_part, key))
        return cast("Part", part)

    def _assign_part(self, key: Any, value: TensorLike, name: str | None = None) -> Any:
        """Assigns a value to the part that a key selects; implements `v[key].assign(value)`."""
        begin, end, strides, masks = slice_spec(key)
        tensor = as_tensor(value, self._dtype)
        return self._update(
            ResourceStridedSliceAssign, tensor, begin=begin, end=end, strides=strides, masks=masks, name=name
        )

    def scatter_nd_update(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Any:
        """Replaces elements or slices of the value.

        Args:
          indices: positions, shape `[..., depth]`: the last axis indexes the first `depth` axes of the variable.
          updates: the new values, shape `indices.shape[:-1] + variable.shape[depth:]`.

        Raises:
          InvalidArgumentError: if a position is out of range (a real GPU ignores it), or the shapes do not fit.

        >>> tf.Variable([1.0, 2.0, 3.0]).scatter_nd_update([[0], [2]], [9.0, 8.0]).numpy()
        array([9., 2., 8.], dtype=float32)
        """
        return self._scatter(ResourceScatterNdUpdate, indices, updates, name)

    def scatter_nd_add(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Any:
        """Adds to elements or slices of the value; at repeated positions, all updates are added.

        Args:
          indices: positions, shape `[..., depth]`, as for `scatter_nd_update`.
          updates: the values to add, shape `indices.shape[:-1] + variable.shape[depth:]`.

        Raises:
          InvalidArgumentError: if a position is out of range (a real GPU ignores it), or the shapes do not fit.

        >>> tf.Variable([1.0, 2.0, 3.0]).scatter_nd_add([[0], [0]], [9.0, 8.0]).numpy()
        array([18.,  2.,  3.], dtype=float32)
        """
        return self._scatter(ResourceScatterNdAdd, indices, updates, name)

    def scatter_nd_sub(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Any:
        """Subtracts from elements or slices of the value.

        Args:
          indices: positions, shape `[..., depth]`, as for `scatter_nd_update`.
          updates: the values to subtract, shape `indices.shape[:-1] + variable.shape[depth:]`.

        Raises:
          InvalidArgumentError: if a position is out of range (a real GPU ignores it), or the shapes do not fit.

        >>> tf.Variable([1.0, 2.0, 3.0]).scatter_nd_sub([[0]], [1.0]).numpy()
        array([0., 2., 3.], dtype=float32)
        """
        return self._scatter(ResourceScatterNdSub, indices, updates, name)

    def scatter_update(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Replaces rows of the value.

        Args:
          sparse_delta: the new rows, a `tf.IndexedSlices`.
          use_locking: accepted and ignored.

        Raises:
          TypeError: if `sparse_delta` is not a `tf.IndexedSlices`.
          InvalidArgumentError: if a row is out of range (a real GPU ignores it), or the shapes do not fit.

        >>> tf.Variable([1.0, 2.0, 3.0]).scatter_update(tf.IndexedSlices([9.0], [1])).numpy()
        array([1., 9., 3.], dtype=float32)
        """
        return self._scatter_rows(ResourceScatterUpdate, sparse_delta, name)

    def scatter_add(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Adds to rows of the value; for repeated rows, all updates are added.

        Args:
          sparse_delta: the values to add and their rows, a `tf.IndexedSlices`.
          use_locking: accepted and ignored.

        Raises:
          TypeError: if `sparse_delta` is not a `tf.IndexedSlices`.
          InvalidArgumentError: if a row is out of range (a real GPU ignores it), or the shapes do not fit.

        >>> tf.Variable([1.0, 2.0, 3.0]).scatter_add(tf.IndexedSlices([9.0], [1])).numpy()
        array([ 1., 11.,  3.], dtype=float32)
        """
        return self._scatter_rows(ResourceScatterAdd, sparse_delta, name)

    def scatter_sub(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Subtracts from rows of the value.

        Args:
          sparse_delta: the values to subtract and their rows, a `tf.IndexedSlices`.
          use_locking: accepted and ignored.

        Raises:
          TypeError: if `sparse_delta` is not a `tf.IndexedSlices`.
          InvalidArgumentError: if a row is out of range (a real GPU ignores it), or the shapes do not fit.

        >>> tf.Variable([1.0, 2.0, 3.0]).scatter_sub(tf.IndexedSlices([2.0], [1])).numpy()
        array([1., 0., 3.], dtype=float32)
        """
        return self._scatter_rows(ResourceScatterSub, sparse_delta, name)

    def scatter_max(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Replaces elements of rows with the maximum of old and new; for repeated rows, the largest value wins.

        Args:
          sparse_delta: the values and their rows, a `tf.IndexedSlices`.
          use_locking: accepted and ignored.

        Raises:
          TypeError: if `sparse_delta` is not a `tf.IndexedSlices`.
          InvalidArgumentError: if a row is out of range (a real GPU ignores it), or the shapes do not fit.

        >>> tf.Variable([1.0, 2.0, 3.0]).scatter_max(tf.IndexedSlices([9.0], [1])).numpy()
        array([1., 9., 3.], dtype=float32)
        """
        return self._scatter_rows(ResourceScatterMax, sparse_delta, name)

    def scatter_min(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Replaces elements of rows with the minimum of old and new; for repeated rows, the smallest value wins.

        Args:
          sparse_delta: the values and their rows, a `tf.IndexedSlices`.
          use_locking: accepted and ignored.

        Raises:
          TypeError: if `sparse_delta` is not a `tf.IndexedSlices`.
          InvalidArgumentError: if a row is out of range (a real GPU ignores it), or the shapes do not fit.

        >>> tf.Variable([1.0, 2.0, 3.0]).scatter_min(tf.IndexedSlices([0.5], [1])).numpy()
        array([1. , 0.5, 3. ], dtype=float32)
        """
        return self._scatter_rows(ResourceScatterMin, sparse_delta, name)

    def scatter_mul(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Multiplies rows of the value; repeated rows are multiplied by all of their factors.

        Args:
          sparse_delta: the values and their rows, a `tf.IndexedSlices`.
          use_locking: accepted and ignored.

        Raises:
          TypeError: if `sparse_delta` is not a `tf.IndexedSlices`.
          InvalidArgumentError: if a row is out of range (a real GPU ignores it), or the shapes do not fit.

        >>> tf.Variable([1.0, 2.0, 3.0]).scatter_mul(tf.IndexedSlices([4.0], [1])).numpy()
        array([1., 8., 3.], dtype=float32)
        """
        return self._scatter_rows(ResourceScatterMul, sparse_delta, name)

    def scatter_div(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Divides rows of the value; repeated rows are divided by all of their divisors. Integers are truncated.

        Args:
          sparse_delta: the values and their rows, a `tf.IndexedSlices`.
          use_locking: accepted and ignored.

        Raises:
          TypeError: if `sparse_delta` is not a `tf.IndexedSlices`.
          InvalidArgumentError: if a row is out of range (a real GPU ignores it), or the shapes do not fit.

        >>> tf.Variable([1.0, 2.0, 3.0]).scatter_div(tf.IndexedSlices([2.0], [1])).numpy()
        array([1., 1., 3.], dtype=float32)
        """
        return self._scatter_rows(ResourceScatterDiv, sparse_delta, name)

    def scatter_nd_max(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Any:
        """Replaces elements or slices with the maximum of old and new.

        Args:
          indices: positions, shape `[..., depth]`: the last axis indexes the first `depth` axes of the variable.
          updates: the values to compare with, shape `indices.shape[:-1] + variable.shape[depth:]`.

        Raises:
          InvalidArgumentError: if a position is out of range (a real GPU ignores it), or the shapes do not fit.

        >>> tf.Variable([1.0, 2.0, 3.0]).scatter_nd_max([[0], [1]], [9.0, 0.0]).numpy()
        array([9., 2., 3.], dtype=float32)
        """
        return self._scatter(ResourceScatterNdMax, indices, updates, name)

    def scatter_nd_min(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Any:
        """Replaces elements or slices with the minimum of old and new.

        Args:
          indices: positions, shape `[..., depth]`: the last axis indexes the first `depth` axes of the variable.
          updates: the values to compare with, shape `indices.shape[:-1] + variable.shape[depth:]`.

        Raises:
          InvalidArgumentError: if a position is out of range (a real GPU ignores it), or the shapes do not fit.

        >>> tf.Variable([1.0, 2.0, 3.0]).scatter_nd_min([[0], [1]], [9.0, 0.0]).numpy()
        array([1., 0., 3.], dtype=float32)
        """
        return self._scatter(ResourceScatterNdMin, indices, updates, name)

    def gather_nd(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Returns elements or slices of the value; see `tf.gather_nd`.

        Args:
          indices: positions, shape `[..., depth]`: the last axis indexes the first `depth` axes of the variable.

        >>> tf.Variable([[1, 2], [3, 4]]).gather_nd([[1, 0], [0, 1]]).numpy()
        array([3, 2], dtype=int32)
        """
        variable: Any = self
        return gather_nd(variable, indices, name=name)

    def sparse_read(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Returns rows of the value; see `tf.gather`.

        Args:
          indices: the row numbers.

        >>> tf.Variable([1, 2, 3]).sparse_read([2, 0]).numpy()
        array([3, 1], dtype=int32)
        """
        variable: Any = self
        return gather(variable, indices, name=name)

    def _scatter_rows(self, op: Any, sparse_delta: Any, name: str | None) -> Any:
        if not isinstance(sparse_delta, IndexedSlices):
            raise TypeError(f"Argument `sparse_delta` must be a `tf.IndexedSlices`. Received arg: {sparse_delta}")
        return self._scatter(op, sparse_delta.indices, sparse_delta.values, name)

    def _scatter(self, op: Any, indices: Any, updates: Any, name: str | None) -> Any:
        return self._update(op, as_tensor(indices), as_tensor(updates, self._dtype), name=name)
