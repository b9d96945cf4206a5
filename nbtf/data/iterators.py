"""How the elements of a dataset are taken one by one."""

from __future__ import annotations

from collections.abc import Iterator as PythonIterator
from collections.abc import Sequence
from itertools import islice
from typing import Any

from nbtf._graph.signature import ElementSpec
from nbtf._locks import new_lock
from nbtf._ops.arrays.creation import zeros
from nbtf._ops.structure import flatten, pack_sequence_as
from nbtf._runtime.context import CURRENT, open_graph
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.phases import INPUT, during
from nbtf._runtime.tensor import Tensor
from nbtf._types import bool_
from nbtf.data.elements import announce, as_element, at_next, on_host, wrap_message
from nbtf.data.specs import each, spec_of
from nbtf.errors import InvalidArgumentError, OutOfRangeError, UnimplementedError

_RANDOM = frozenset({"_ShuffleDataset", "_RandomDataset"})


class Iterator:
    """Gives the elements of a dataset, one after another; several threads may share it, each gets other elements.

    >>> numbers = iter(tf.data.Dataset.range(2))
    >>> next(numbers), numbers.get_next()
    (<tf.Tensor: shape=(), dtype=int64, numpy=0>, <tf.Tensor: shape=(), dtype=int64, numpy=1>)
    """

    __slots__ = ("__weakref__", "_elements", "_lock", "_stage", "_taken")

    def __init__(self, dataset: Any) -> None:
        """Starts at the beginning."""
        self._stage = dataset._stage
        self._taken = 0
        self._lock = new_lock()
        announce("AnonymousIteratorV3")
        self._elements: PythonIterator[Any] = self._stage.start()
        announce("MakeIterator")

    def __iter__(self) -> Iterator:
        """Goes on where it is."""
        return self

    def __next__(self) -> Any:
        """Returns the next element."""
        graph = open_graph()
        if hasattr(graph, "call"):
            return self._next_in(graph)
        if CURRENT.context.watched:
            announce("IteratorGetNext")
        with self._lock:
            element = _next_of(self._elements)
            self._taken += 1
            return element

    def _next_in(self, graph: Any) -> Any:
        """Returns what stands for the next element in a function that is traced."""
        spec = self._stage.spec
        specs = [(leaf.shape, leaf.dtype) for leaf in flatten(spec)]
        return pack_sequence_as(spec, graph.call("IteratorGetNext", self._next_leaves, [], specs, True))

    def _next_leaves(self, values: Sequence[Any]) -> Sequence[Any]:
        return flatten(self.get_next())

    @property
    def position(self) -> int:
        """How many elements were taken: what a checkpoint saves of it.

        Raises:
          UnimplementedError: the order is random, so that the number does not say which they were.
        """
        if _is_random(self._stage):
            raise UnimplementedError(
                "The position in a shuffled dataset is not saved: its order would be another one. Save how many epochs "
                "were made instead, or take the iterator of a dataset without `shuffle`."
            )
        return self._taken

    @position.setter
    def position(self, position: int) -> None:
        with self._lock:
            self._elements, self._taken = self._stage.start(), position
            for _ in islice(self._elements, position):
                pass

    @property
    def element_spec(self) -> Any:
        """What each element looks like."""
        return self._stage.spec

    def get_next(self) -> Any:
        """Returns the next element.

        Raises:
          OutOfRangeError: there is none.
        """
        try:
            return next(self)
        except StopIteration:
            raise at_next(OutOfRangeError, "End of sequence") from None

    def get_next_as_optional(self) -> Optional:
        """Returns the next element in an optional, which is empty after the last one."""
        graph = open_graph()
        if hasattr(graph, "call"):
            return self._next_optional_in(graph)
        announce("IteratorGetNextAsOptional")
        with self._lock:
            for element in self._elements:
                self._taken += 1
                return Optional(element, self._stage.spec, True)
            return Optional(None, self._stage.spec, False)

    def _next_optional_in(self, graph: Any) -> Optional:
        """Returns what stands for the next optional in a function that is traced."""
        spec = self._stage.spec
        specs = [((), bool_), *[(leaf.shape, leaf.dtype) for leaf in flatten(spec)]]
        has_value, *leaves = graph.call("IteratorGetNextAsOptional", self._next_optional_leaves, [], specs, True)
        return Optional(pack_sequence_as(spec, leaves), spec, has_value)

    def _next_optional_leaves(self, values: Sequence[Any]) -> Sequence[Any]:
        return self.get_next_as_optional().leaves


@during(INPUT)
def _next_of(elements: PythonIterator[Any]) -> Any:
    return next(elements)


def _is_random(stage: Any) -> bool:
    return stage.class_name in _RANDOM or any(_is_random(source) for source in stage.inputs)


class Optional:
    """An element, or none.

    >>> tf.data.experimental.Optional.from_value(5).get_value()
    <tf.Tensor: shape=(), dtype=int32, numpy=5>
    """

    __slots__ = ("_has", "_value", "element_spec")

    def __init__(self, value: Any, element_spec: Any, has_value: bool) -> None:
        """Takes the element, what it looks like, and whether it is there."""
        self._value = value
        self.element_spec: Any = element_spec
        self._has = has_value

    @staticmethod
    def from_value(value: Any) -> Optional:
        """Returns one that holds a value."""
        element = on_host(as_element, value)
        return Optional(element, spec_of(element), True)

    @staticmethod
    def empty(element_spec: Any) -> Optional:
        """Returns one that holds nothing."""
        return Optional(None, element_spec, False)

    # What a traced function makes of it: tensors

    @property
    def leaves(self) -> list[Any]:
        """Whether there is an element, and its tensors; zeros in the place of those that are not there."""
        if self._value is None:
            specs = flatten(self.element_spec)
            return [self._has, *[zeros([n or 0 for n in spec.shape.dims or ()], spec.dtype) for spec in specs]]
        return [self._has, *flatten(self._value)]

    @classmethod
    def of_leaves(cls, spec: ElementSpec, leaves: Sequence[Any]) -> Optional:
        """Returns an optional made of `leaves`."""
        return cls(pack_sequence_as(spec.element_spec, leaves[1:]), spec.element_spec, leaves[0])

    def has_value(self, name: str | None = None) -> Tensor:
        """Tells, as a tensor, whether an element is there."""
        announce("OptionalHasValue")
        return on_host(as_tensor, self._has)

    def get_value(self, name: str | None = None) -> Any:
        """Returns the element.

        Raises:
          InvalidArgumentError: there is none.
        """
        announce("OptionalGetValue")
        graph = open_graph()
        if hasattr(graph, "call") and not isinstance(self._has, bool):
            specs = [(leaf.shape, leaf.dtype) for leaf in flatten(self.element_spec)]
            leaves = graph.call("OptionalGetValue", self._checked_leaves, self.leaves, specs, True)
            return pack_sequence_as(self.element_spec, leaves)
        if not self._has:
            text = "The given optional does not have a value."
            raise InvalidArgumentError(wrap_message("OptionalGetValue_output_types_1", text))
        return self._value

    def _checked_leaves(self, values: Sequence[Any]) -> Sequence[Any]:
        return flatten(Optional.of_leaves(ElementSpec(self.element_spec), values).get_value())


class NumpyIterator:
    """Gives the elements of a dataset as NumPy arrays."""

    __slots__ = ("_iterator",)

    def __init__(self, dataset: Any) -> None:
        """Starts at the beginning."""
        self._iterator = Iterator(dataset)

    def __repr__(self) -> str:
        """Names the iterator inside."""
        return f"NumpyIterator(iterator={self._iterator!r})"

    def __iter__(self) -> NumpyIterator:
        """Goes on where it is."""
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
