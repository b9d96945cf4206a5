"""Iterators over the elements of a dataset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbtf._graph.handles import (
    HANDLE,
    CompositeSpec,
    function_graph,
    handle_of,
    object_of,
    tensor_like,
    tensors_described,
    tensors_in,
)
from nbtf._graph.iteration import ElementIterator
from nbtf._graph.signature import tensors_taken
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import bool_, variant
from nbtf.data.elements import announce, as_element, at_next, on_host, wrap_message
from nbtf.data.specs import each, spec_of
from nbtf.errors import InvalidArgumentError, OpError, OutOfRangeError, UnimplementedError

_RANDOM = frozenset({"_ShuffleDataset", "_RandomDataset"})


class Iterator(ElementIterator):
    """Returns the elements of a dataset in turn. Threads may share an iterator; each element is returned only once.

    >>> numbers = iter(tf.data.Dataset.range(2))
    >>> next(numbers), numbers.get_next()
    (<tf.Tensor: shape=(), dtype=int64, numpy=0>, <tf.Tensor: shape=(), dtype=int64, numpy=1>)
    """

    __slots__ = ()

    def __init__(self, dataset: Any) -> None:
        """Starts at the beginning."""
        announce("AnonymousIteratorV3")
        super().__init__(dataset._stage)
        announce("MakeIterator")

    @property
    def position(self) -> int:
        """Number of elements read so far, which checkpoints save.

        Raises:
          UnimplementedError: if the order is random, so that the number does not identify the elements.
        """
        if _is_random(self._cursor.stage):
            raise UnimplementedError(
                "Cannot save the position in a shuffled dataset, because its order would be different. Save the number "
                "of completed epochs instead, or use an iterator of a dataset without `shuffle`."
            )
        return self._cursor.taken

    @position.setter
    def position(self, position: int) -> None:
        self._cursor.move_to(position)

    def _announce(self, op: str) -> None:
        announce(op)

    def _at_end(self) -> OpError:
        return at_next(OutOfRangeError, "End of sequence")

    def _optional_class(self) -> Callable[[Any, Any], Any]:
        return Optional


def _is_random(stage: Any) -> bool:
    return stage.class_name in _RANDOM or any(_is_random(source) for source in stage.inputs)


class Optional:
    """An element, or nothing.

    >>> tf.data.experimental.Optional.from_value(5).get_value()
    <tf.Tensor: shape=(), dtype=int32, numpy=5>
    """

    __slots__ = ("_element_spec", "_handle")

    def __init__(self, handle: Any, element_spec: Any) -> None:
        """Stores a handle to a tuple with the element, or to an empty tuple, and the element's spec."""
        self._handle = handle
        self._element_spec: Any = element_spec

    @property
    def element_spec(self) -> Any:
        """The spec of the element."""
        return self._element_spec

    @staticmethod
    def from_value(value: Any) -> Optional:
        """Returns an optional with a value."""
        element, graph = on_host(as_element, value), function_graph()
        if graph is None:
            return Optional(handle_of((element,)), spec_of(element))
        tensors: list[Any] = []
        rebuild = tensors_taken(element, tensors)

        def run(values: Sequence[Any]) -> list[Any]:
            return [handle_of((rebuild(iter(values)),))]

        return Optional(graph.call("OptionalFromValue", run, tensors, HANDLE, True)[0], spec_of(element))

    @staticmethod
    def empty(element_spec: Any) -> Optional:
        """Returns an optional without a value."""
        return Optional(handle_of(()), element_spec)

    def has_value(self, name: str | None = None) -> Tensor:
        """Returns a boolean tensor: whether there is a value."""
        graph = function_graph()
        if graph is not None:
            return graph.call("OptionalHasValue", self._has_value, [self._handle], [((), bool_)], True)[0]
        return self._has_value([self._handle])[0]

    @staticmethod
    def _has_value(values: Sequence[Any]) -> list[Tensor]:
        announce("OptionalHasValue")
        return [on_host(as_tensor, bool(object_of(values[0])))]

    def get_value(self, name: str | None = None) -> Any:
        """Returns the element.

        Raises:
          InvalidArgumentError: if the optional is empty.
        """
        graph = function_graph()
        if graph is None:
            return self._element([self._handle])
        specs, put_together = tensors_described(self.element_spec)
        return put_together(iter(graph.call("OptionalGetValue", self._tensors, [self._handle], specs, True)))

    @staticmethod
    def _tensors(values: Sequence[Any]) -> list[Any]:
        return tensors_in(Optional._element(values))

    @staticmethod
    def _element(values: Sequence[Any]) -> Any:
        announce("OptionalGetValue")
        content = object_of(values[0])
        if not content:
            text = "The given optional does not have a value."
            raise InvalidArgumentError(wrap_message("OptionalGetValue_output_types_1", text))
        return content[0]

    @property
    def _type_spec(self) -> OptionalSpec:
        return OptionalSpec(self.element_spec)

    def _taken_apart(self) -> tuple[OptionalSpec, Sequence[Any]]:
        return self._type_spec, [self._handle]


class OptionalSpec(CompositeSpec):
    """The spec of an optional, with the spec of its element."""

    def __init__(self, element_spec: Any) -> None:
        """Stores the spec of the element."""
        self._element_spec: Any = element_spec

    def _stand_in(self) -> Optional:
        return self._put_together([tensor_like((), variant)])

    def _put_together(self, items: Sequence[Any]) -> Optional:
        return Optional(items[0], self._element_spec)

    def __repr__(self) -> str:
        """Returns `OptionalSpec(TensorSpec(shape=(), dtype=tf.int64, name=None),)`."""
        return f"OptionalSpec({self._element_spec!r},)"


class NumpyIterator:
    """Returns the elements of a dataset in turn, as NumPy arrays."""

    __slots__ = ("_iterator",)

    def __init__(self, dataset: Any) -> None:
        """Starts at the beginning."""
        self._iterator = Iterator(dataset)

    def __repr__(self) -> str:
        """Returns a string that names the underlying iterator."""
        return f"NumpyIterator(iterator={self._iterator!r})"

    def __iter__(self) -> NumpyIterator:
        """Returns the iterator itself, at its current position."""
        return self

    def __next__(self) -> Any:
        """Returns the next element."""
        return each(_as_numpy, next(self._iterator))


def _as_numpy(value: Any) -> Any:
    if isinstance(value, Tensor) or hasattr(value, "to_list"):
        return value.numpy()
    if hasattr(value, "as_numpy_iterator"):
        return value.as_numpy_iterator()
    return value
