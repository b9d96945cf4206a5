"""`tf.TensorArray`: a list of tensors that loops write by index.

In eager mode, an array holds a Python list and is modified in place. Inside a function it holds a flow, a tensor of
dtype `variant` whose value is an immutable list; see `element_lists.py`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from nbtf._ops.arrays import element_lists as lists
from nbtf._ops.arrays.array_elements import ArrayElements, as_element
from nbtf._ops.arrays.creation import zeros
from nbtf._ops.control.flow import no_op
from nbtf._runtime.attributes import reads
from nbtf._runtime.context import open_graph
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape
from nbtf._types import DType, DTypeLike, TensorLike, as_dtype, int32, variant
from nbtf.errors import InvalidArgumentError


class TensorArray:
    """A list of tensors of one dtype, which a loop reads and writes by index.

    Assign the result of `write`, `unstack`, `split` and `scatter`: inside a `tf.function`, these methods return a new
    array and leave the old one unchanged. Gradients flow through all methods.

    Args:
      dtype: the dtype of the elements.
      size: number of elements; an integer or a scalar tensor.
      dynamic_size: whether writing past the end extends the array; False by default.
      clear_after_read: whether reading an element twice raises an error in eager mode; True by default.
      tensor_array_name: accepted and ignored.
      handle: accepted for TensorFlow 1; must be None in eager mode.
      flow: the state of another array, as returned by a `tf.function`.
      infer_shape: whether all elements must have the first one's shape; True by default.
      element_shape: the shape of each element; may be partly known.
      colocate_with_first_write_call: accepted and ignored.
      name: accepted and ignored.

    Raises:
      ValueError: if `size` is missing, or a handle is given in eager mode.

    >>> ta = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    >>> for i in range(3):
    ...     ta = ta.write(i, 10.0 * i)
    >>> ta.stack().numpy()
    array([ 0., 10., 20.], dtype=float32)
    """

    def __init__(
        self,
        dtype: DTypeLike,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        self._dtype = as_dtype(dtype)
        self._dynamic = bool(dynamic_size)
        self._infers = infer_shape
        self._size: int | None = None
        shape = TensorShape(element_shape)
        self._shapes = [shape]
        """The known part of the elements' shape; shared with the arrays that writing returns."""
        self._elements: ArrayElements | None = None
        self._flow: Any = flow
        if flow is not None:
            if getattr(flow, "_dtype", None) is not variant:
                raise TypeError(f"`flow` must be a tensor of dtype variant. Received: {flow!r}")
            return
        at_once = open_graph() is None
        if at_once and handle is not None:
            raise ValueError("TensorArray handles are not supported when eager execution is enabled.")
        if at_once and size is None:
            raise ValueError("Size must be declared for TensorArrays when eager execution is enabled.")
        if size is None:
            raise ValueError("Cannot provide both a handle and size to a TensorArray: declare its `size`.")
        if at_once:
            clears = True if clear_after_read is None else clear_after_read
            self._elements = ArrayElements(self._dtype, _length(size), self._dynamic, clears, infer_shape, shape)
            return
        self._size = size if isinstance(size, int) else None
        reserve = partial(lists.reserve, self._dtype, shape)
        self._flow = lists.called("TensorListReserve", reserve, [as_tensor(size, int32)], [((), variant)])

    # Properties

    dtype: DType = reads("_dtype", "The dtype of the elements.")

    @property
    def flow(self) -> Any:
        """The tensor that represents the state: dtype variant inside a function, an int32 zero elsewhere."""
        return zeros((), int32) if self._elements is not None else self._flow

    @property
    def handle(self) -> None:
        """Always None: only TensorFlow 1 has handles."""
        return

    @property
    def element_shape(self) -> TensorShape:
        """The elements' shape, as far as it is known."""
        return self._shapes[0] if self._elements is None else self._elements.shape

    dynamic_size: bool = reads("_dynamic", "Whether writing past the end extends the array.")

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of elements as an int32 scalar.

        >>> tf.TensorArray(tf.int32, size=3).size().numpy()
        np.int32(3)
        """
        if self._elements is not None:
            return as_tensor(len(self._elements.tensors), int32)
        if not self._dynamic and self._size is not None:
            return as_tensor(self._size, int32)
        return lists.called("TensorListLength", lists.length_of, [self._flow], [((), int32)])

    def identity(self) -> TensorArray:
        """Returns an array with the same elements.

        >>> tf.TensorArray(tf.int32, size=3).identity().size().numpy()
        np.int32(3)
        """
        return self if self._elements is not None else self._with_flow(self._flow)

    def grad(self, source: str, flow: Any = None, name: str | None = None) -> TensorArray:
        """Raises NotImplementedError: use `tf.GradientTape` instead.

        Raises:
          NotImplementedError: always, as in TensorFlow 2.
        """
        raise NotImplementedError(
            "TensorArray.grad is not supported when executing eagerly; eager's gradient implementation does not "
            "use/need this function to compute gradients of operations that use TensorArrays."
        )

    def close(self, name: str | None = None) -> Any:
        """Releases the elements.

        >>> tf.TensorArray(tf.int32, size=3).close()
        """
        if self._elements is None:
            return no_op()
        self._elements.tensors = []
        return None

    # One element

    def write(self, index: Any, value: TensorLike, name: str | None = None) -> TensorArray:
        """Returns the array with the element at an index replaced.

        Args:
          index: the index, from 0; may be past the end only with `dynamic_size`.
          value: the element, of the array's dtype.
          name: accepted and ignored.

        Raises:
          OutOfRangeError: if `index` is out of range in eager mode; inside a function, InvalidArgumentError.
          InvalidArgumentError: if `value` has another dtype.
          ValueError: if the shape of `value` differs from that of the elements.

        >>> tf.TensorArray(tf.int32, size=1).write(0, 7).read(0).numpy()
        np.int32(7)
        """
        if self._elements is not None:
            _check_at_once()
            self._elements.write(index, value)
            return self
        element = self._element(value)
        self._note_shape(element.shape)
        inputs = [self._flow, as_tensor(index, _index_dtype(index)), element]
        run = partial(lists.set_item, self._dynamic)
        return self._with_flow(lists.called("TensorListSetItem", run, inputs, [((), variant)]))

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """Returns the element at an index; zeros if it was not written and its shape is known.

        Args:
          index: the index, from 0.
          name: accepted and ignored.

        Raises:
          OutOfRangeError: if `index` is out of range in eager mode; inside a function, InvalidArgumentError.
          InvalidArgumentError: if an earlier read has cleared the element, in eager mode.

        >>> tf.TensorArray(tf.int32, size=2).unstack([5, 6]).read(1).numpy()
        np.int32(6)
        """
        if self._elements is not None:
            return self._elements.read(index)
        inputs = [self._flow, as_tensor(index, _index_dtype(index))]
        run = partial(lists.get_item, self.element_shape)
        return lists.called("TensorListGetItem", run, inputs, [self._spec_of(self.element_shape)])

    # All elements

    def stack(self, name: str | None = None) -> Tensor:
        """Returns the elements stacked along a new first axis.

        Raises:
          ValueError: if no element was written and `element_shape` is unknown; inside a function, InvalidArgumentError.

        >>> tf.TensorArray(tf.int32, size=2).write(1, [4, 5]).stack().numpy()
        array([[0, 0],
               [4, 5]], dtype=int32)
        """
        if self._elements is not None:
            return self._elements.stack()
        count = None if self._dynamic else self._size
        result_shape = TensorShape([count]).concatenate(self.element_shape)
        run = partial(lists.stack_items, self.element_shape)
        return lists.called("TensorListStack", run, [self._flow], [self._spec_of(result_shape)])

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """Returns the elements at the given indices, stacked along a new first axis.

        Args:
          indices: the indices, a list or a vector.
          name: accepted and ignored.

        >>> tf.TensorArray(tf.int32, size=3).unstack([5, 6, 7]).gather([2, 0]).numpy()
        array([7, 5], dtype=int32)
        """
        if self._elements is not None:
            return self._elements.gather(indices)
        numbers = as_tensor(indices, _index_dtype(indices))
        result_shape = TensorShape([numbers.shape[0] if numbers.shape.rank else None]).concatenate(self.element_shape)
        run = partial(lists.gather_items, self.element_shape)
        return lists.called("TensorListGather", run, [self._flow, numbers], [self._spec_of(result_shape)])

    def concat(self, name: str | None = None) -> Tensor:
        """Returns the elements joined along their first axis, whose length may vary.

        Raises:
          InvalidArgumentError: if elements are scalars.

        >>> tf.TensorArray(tf.int32, size=2, infer_shape=False).split([5, 6, 7], [1, 2]).concat().numpy()
        array([5, 6, 7], dtype=int32)
        """
        if self._elements is not None:
            return self._elements.concat()
        shape = self.element_shape
        result_shape = TensorShape([None]).concatenate(shape[1:]) if shape.rank else TensorShape(None)
        run = partial(lists.concat_items, shape)
        return lists.called("TensorListConcatV2", run, [self._flow], [self._spec_of(result_shape)])

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        """Returns the array with the rows of a tensor as its elements.

        Args:
          value: the tensor whose rows become the elements.
          name: accepted and ignored.

        Raises:
          ValueError: if the tensor has more rows than the array has elements, in eager mode.

        >>> tf.TensorArray(tf.int32, size=2).unstack([5, 6]).read(0).numpy()
        np.int32(5)
        """
        if self._elements is not None:
            _check_at_once()
            self._elements.unstack(value)
            return self
        rows = self._element(value)
        if self._infers and rows.shape.rank:
            self._note_shape(rows.shape[1:])
        run = partial(lists.from_rows, self.element_shape)
        return self._with_flow(lists.called("TensorListFromTensor", run, [rows], [((), variant)]))

    def scatter(self, indices: Any, value: TensorLike, name: str | None = None) -> TensorArray:
        """Returns the array with the rows of a tensor at the given indices.

        Args:
          indices: the indices, a list or a vector.
          value: a tensor with one row per index.
          name: accepted and ignored.

        >>> tf.TensorArray(tf.int32, size=3).scatter([2, 0], [7, 5]).stack().numpy()
        array([5, 0, 7], dtype=int32)
        """
        if self._elements is not None:
            _check_at_once()
            self._elements.scatter(indices, value)
            return self
        rows = self._element(value)
        if rows.shape.rank:
            self._note_shape(rows.shape[1:])
        inputs = [self._flow, rows, as_tensor(indices, _index_dtype(indices))]
        return self._with_flow(
            lists.called("TensorListScatterIntoExistingList", lists.scatter_items, inputs, [((), variant)])
        )

    def split(self, value: TensorLike, lengths: Any, name: str | None = None) -> TensorArray:
        """Returns the array with parts of a tensor as its elements.

        Args:
          value: the tensor, cut along its first axis.
          lengths: the length of each part, a vector.
          name: accepted and ignored.

        Raises:
          InvalidArgumentError: if the lengths do not add up to the tensor's first length.

        >>> tf.TensorArray(tf.int32, size=2, infer_shape=False).split([5, 6, 7], [1, 2]).read(1).numpy()
        array([6, 7], dtype=int32)
        """
        if self._elements is not None:
            _check_at_once()
            self._elements.split(value, lengths)
            return self
        tensor = self._element(value)
        static: Any = lengths if isinstance(lengths, list | tuple) else ()  # pyright: ignore[reportUnknownVariableType]
        if self._infers and tensor.shape.rank and static and len({*static}) == 1:
            self._note_shape(TensorShape([static[0]]).concatenate(tensor.shape[1:]))
        run = partial(lists.split_rows, self.element_shape)
        inputs = [tensor, as_tensor(lengths, _index_dtype(lengths))]
        return self._with_flow(lists.called("TensorListSplit", run, inputs, [((), variant)]))

    # The flow

    def _as_flow(self) -> Any:
        """Returns the tensor that represents the array as a function's input."""
        if self._elements is None:
            return self._flow
        return lists.as_variant(lists.Elements(tuple(self._elements.tensors), self._dtype, self._elements.shape))

    def _with_flow(self, flow: Any) -> TensorArray:
        """Returns an array with the same options and another state."""
        array = TensorArray(self._dtype, dynamic_size=self._dynamic, flow=flow, infer_shape=self._infers)
        array._size = self._size if self._elements is None else len(self._elements.tensors)
        array._shapes = self._shapes if self._elements is None else [self._elements.shape]
        return array

    @property
    def _traits(self) -> tuple[Any, ...]:
        """Dtype, options and element shape, as plain data: arrays with equal traits share a trace."""
        dims = self.element_shape.dims
        return self._dtype, self._dynamic, self._infers, None if dims is None else tuple(dims)

    @classmethod
    def _of_traits(cls, dtype: DType, dynamic: bool, infers: bool, dims: Any, flow: Any) -> TensorArray:
        """Returns an array with these traits and the given state."""
        return cls(dtype, dynamic_size=dynamic, flow=flow, infer_shape=infers, element_shape=dims)

    def _element(self, value: Any) -> Any:
        element = as_element(value, self._dtype)
        if element._dtype is not self._dtype:
            raise InvalidArgumentError(
                f"Invalid data types; op elements {element._dtype.c_name} but list elements {self._dtype.c_name}"
            )
        return element

    def _note_shape(self, shape: TensorShape) -> None:
        if not self._shapes[0].is_compatible_with(shape):
            raise ValueError(f"Inconsistent shapes: saw {shape} but expected {self._shapes[0]} ")
        if self._infers:
            self._shapes[0] = self._shapes[0].merge_with(shape)

    def _spec_of(self, shape: TensorShape) -> tuple[Any, DType]:
        return shape, self._dtype


def _length(size: Any) -> int:
    number = size.numpy() if hasattr(size, "numpy") else size
    return number.__index__() if hasattr(number, "__index__") else range(number).stop


def _index_dtype(index: Any) -> DType | None:
    return None if hasattr(index, "dtype") else int32


def _check_at_once() -> None:
    if open_graph() is not None:
        raise NotImplementedError(
            "Attempting to build a graph-mode TF2-style TensorArray from either an eager-mode TensorArray or a "
            "TF1-style TensorArray.  This is not currently supported.  You may be attempting to capture a TensorArray "
            "inside a tf.function or tf.data map function. Instead, construct a new TensorArray inside the function."
        )


def flow_of(value: Any) -> Any:
    """Returns the flow of an array; other values unchanged."""
    return value._as_flow() if isinstance(value, TensorArray) else value


def with_flow_like(value: Any, tensor: Any) -> Any:
    """Returns a tensor, or an array in this state if `value` is an array."""
    return value._with_flow(tensor) if isinstance(value, TensorArray) else tensor
