"""Takes elements one by one, immediately or each time a traced function runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, Self

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
from nbtf._locks import new_lock
from nbtf._runtime.arguments import check_has
from nbtf._runtime.context import CURRENT, open_graph
from nbtf._runtime.phases import INPUT, during
from nbtf._runtime.tensor import Tensor
from nbtf._types import variant
from nbtf.errors import OperatorNotAllowedInGraphError, OpError, OutOfRangeError

PYTHON_LOOP = "`{}` only supports Python-style iteration in eager mode or within tf.function."
"""Why `for` fails in a traced function without AutoGraph: Python cannot count the elements."""


class Incomplete(NamedTuple):
    """An element that some replicas have no data for, although its shape suggests it."""

    element: Any


class Cursor:
    """The position of a pass over elements, and the elements to come. Several threads may share it."""

    __slots__ = ("__weakref__", "_elements", "_lock", "stage", "taken")

    def __init__(self, stage: Any) -> None:
        """Starts at the beginning.

        Args:
          stage: its `start()` returns the elements, and its `spec` is their spec.
        """
        self.stage: Any = check_has(stage, "start", "stage", "the stage of a dataset, as in `iter(dataset)`")
        self.taken = 0
        self._lock = new_lock()
        self._elements: Iterator[Any] = stage.start()

    def __iter__(self) -> Cursor:
        """Returns itself: iteration continues from the current position."""
        return self

    def __next__(self) -> Any:
        """Returns the next element, even if it is incomplete."""
        with self._lock:
            element = _next_of(self._elements)
            self.taken += 1
        return element.element if element.__class__ is Incomplete else element

    def complete(self) -> Any:
        """Returns the next element; the first incomplete element ends the pass.

        Raises:
          StopIteration: if there are no more elements.
        """
        with self._lock:
            element = _next_of(self._elements)
            self.taken += 1
        if element.__class__ is Incomplete:
            raise StopIteration
        return element

    def move_to(self, position: int) -> None:
        """Moves to a position, counted in elements from the beginning."""
        with self._lock:
            self._elements, self.taken = self.stage.start(), position
            for _ in islice(self._elements, position):
                pass


@during(INPUT)
def _next_of(elements: Iterator[Any]) -> Any:
    return next(elements)


class ElementIterator:
    """Base class of dataset iterators.

    While a function is traced, an iterator represents the one that a call passes: it has a handle and no cursor.
    """

    __slots__ = ("__weakref__", "_cursor", "_held", "_spec")

    _noun = "tf.data.Iterator"

    def __init__(self, stage: Any) -> None:
        """Starts at the beginning."""
        self._spec: Any = None
        self._cursor: Any = Cursor(stage)
        self._held: Any = None

    @classmethod
    def of_handle(cls, handle: Any, element_spec: Any) -> Self:
        """Returns the iterator for a handle: one of a graph, or one that a function returned."""
        iterator = cls.__new__(cls)
        iterator._cursor = object_of(handle) if handle.__class__ is Tensor else None
        iterator._spec, iterator._held = element_spec, handle
        return iterator

    @property
    def element_spec(self) -> Any:
        """The spec of each element."""
        return self._spec if self._cursor is None else self._cursor.stage.spec

    @property
    def _type_spec(self) -> IteratorSpec:
        return IteratorSpec(type(self), self.element_spec)

    @property
    def _handle(self) -> Any:
        if self._held is None:
            self._held = handle_of(self._cursor)
        return self._held

    def _taken_apart(self) -> tuple[IteratorSpec, Sequence[Any]]:
        return self._type_spec, [self._handle]

    def __iter__(self) -> Self:
        """Returns itself: iteration continues from the current position.

        Raises:
          OperatorNotAllowedInGraphError: if a function is being traced, where Python cannot count the elements.
        """
        if function_graph() is not None:
            raise OperatorNotAllowedInGraphError(PYTHON_LOOP.format(self._noun))
        return self

    def __next__(self) -> Any:
        """Returns the next element."""
        graph = open_graph()
        if graph is not None and hasattr(graph, "call"):
            return self._next_in(graph)
        if CURRENT.context.watched:
            self._announce("IteratorGetNext")
        return self._cursor.complete()

    def get_next(self) -> Any:
        """Returns the next element.

        Raises:
          OutOfRangeError: if there are no more elements.
        """
        try:
            return next(self)
        except StopIteration:
            raise self._at_end() from None

    def get_next_as_optional(self) -> Any:
        """Returns the next element in an optional, which is empty after the last element."""
        optional = self._optional_class()
        graph = function_graph()
        if graph is not None:
            (handle,) = graph.call("IteratorGetNextAsOptional", self._next_optional, [self._handle], HANDLE, True)
            return optional(handle, self.element_spec)
        self._announce("IteratorGetNextAsOptional")
        return optional(self._next_optional([self._handle])[0], self.element_spec)

    @staticmethod
    def _next_optional(values: Sequence[Any]) -> list[Any]:
        """Returns the handle of an optional's content: the next element in a tuple, or an empty tuple at the end."""
        cursor: Iterator[Any] = object_of(values[0])
        return [handle_of(tuple(islice(cursor, 1)))]

    def _next_in(self, graph: Any) -> Any:
        """Returns a symbolic next element in a function that is being traced."""
        specs, put_together = tensors_described(self.element_spec)
        return put_together(iter(graph.call("IteratorGetNext", self._next_tensors, [self._handle], specs, True)))

    def _next_tensors(self, values: Sequence[Any]) -> Sequence[Any]:
        try:
            return tensors_in(object_of(values[0]).complete())
        except StopIteration:
            raise self._at_end() from None

    # For subclasses

    def _announce(self, op: str) -> None:
        """Notifies observers of an op."""

    def _at_end(self) -> OpError:
        """Returns the error for the end of the elements."""
        return OutOfRangeError("End of sequence")

    def _optional_class(self) -> Callable[[Any, Any], Any]:
        """Returns a function that makes an optional from a handle and a spec."""
        raise NotImplementedError


class IteratorSpec(CompositeSpec):
    """The spec of an iterator argument, with the spec of its elements."""

    def __init__(self, iterator_class: type[ElementIterator], element_spec: Any) -> None:
        """Stores the class of the iterator, and the structure of its elements."""
        self.iterator_class = iterator_class
        self.element_spec: Any = element_spec

    @property
    def value_type(self) -> type[ElementIterator]:
        """The class of the iterator."""
        return self.iterator_class

    def _stand_in(self) -> ElementIterator:
        return self._put_together([tensor_like((), variant)])

    def _put_together(self, items: Sequence[Any]) -> ElementIterator:
        return self.iterator_class.of_handle(items[0], self.element_spec)

    def __repr__(self) -> str:
        """Returns `IteratorSpec(TensorSpec(shape=(), dtype=tf.int64, name=None),)`."""
        return f"{self.iterator_class.__name__.removeprefix('Owned')}Spec({self.element_spec!r},)"


def begin_pass(elements: Any) -> Any:
    """Returns the result of `iter` on a dataset while a function is traced: each run starts its own pass."""
    iterator_class: type[Any] = elements._iterator_class

    def begin(values: Sequence[Any]) -> Sequence[Any]:
        return [iterator_class(object_of(values[0]))._handle]

    (handle,) = function_graph().call("MakeIterator", begin, [elements._handle], HANDLE, True)
    return iterator_class.of_handle(handle, elements.element_spec)
