"""Base class of datasets, whose elements are created on demand in any number of passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from nbtf._graph.handles import function_graph, handle_of
from nbtf._graph.iteration import PYTHON_LOOP
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import int64
from nbtf.data import mapping
from nbtf.data.elements import announce, on_host, wrap_message
from nbtf.data.iterators import Iterator, NumpyIterator
from nbtf.data.options import Options
from nbtf.data.specs import DatasetSpec
from nbtf.data.stage import INFINITE, UNKNOWN, Stage
from nbtf.errors import InvalidArgumentError, OperatorNotAllowedInGraphError


class Pipeline:
    """The methods of all datasets, regardless of their elements."""

    __slots__ = ("__weakref__", "_stage")

    _stage: Stage

    def __iter__(self) -> Iterator:
        """Starts a pass over the elements; each loop begins a new one.

        Raises:
          OperatorNotAllowedInGraphError: if a function is being traced, where Python cannot count the elements.
        """
        if function_graph() is not None:
            raise OperatorNotAllowedInGraphError(PYTHON_LOOP.format("tf.data.Dataset"))
        return Iterator(self)

    _iterator_class = Iterator

    @property
    def _handle(self) -> Tensor:
        return handle_of(self)

    def __bool__(self) -> bool:
        """Returns True, even for an empty dataset."""
        return True

    def __len__(self) -> int:
        """Returns the number of elements.

        Raises:
          TypeError: if it is infinite, or unknown before the elements are created.
        """
        count = self._stage.cardinality()
        if count == INFINITE:
            raise TypeError("The dataset is infinite.")
        if count == UNKNOWN:
            raise TypeError("The dataset length is unknown.")
        return count

    def __repr__(self) -> str:
        """Returns `<_BatchDataset element_spec=TensorSpec(shape=(None,), dtype=tf.int64, name=None)>`."""
        return f"<{self._stage.class_name} element_spec={self.element_spec}>"

    @property
    def element_spec(self) -> Any:
        """The spec of an element: a `tf.TensorSpec`, or a structure of them.

        After `map` and similar methods it depends on the function, and is determined by calling the function with
        made-up elements. TensorFlow traces the function instead.

        >>> tf.data.Dataset.range(5).batch(2).element_spec
        TensorSpec(shape=(None,), dtype=tf.int64, name=None)
        """
        return self._stage.spec

    @property
    def _type_spec(self) -> DatasetSpec:
        return DatasetSpec(self._stage.spec)

    def cardinality(self, name: str | None = None) -> Tensor:
        """Returns the number of elements.

        Args:
          name: accepted and ignored.

        Returns:
          An int64 scalar, which may be `tf.data.INFINITE_CARDINALITY` or `tf.data.UNKNOWN_CARDINALITY`.

        >>> tf.data.Dataset.range(5).batch(2).cardinality().numpy()
        np.int64(3)
        """
        announce("DatasetCardinality")
        return on_host(as_tensor, self._stage.cardinality(), int64)

    def as_numpy_iterator(self) -> NumpyIterator:
        """Returns an iterator whose elements are NumPy arrays and scalars.

        >>> list(tf.data.Dataset.range(3).as_numpy_iterator())
        [np.int64(0), np.int64(1), np.int64(2)]
        """
        return NumpyIterator(self)

    def options(self) -> Options:
        """Returns the options of this dataset, merged with those of its inputs."""
        merged = Options()
        for options in _options_of(self._stage):
            merged = merged.merge(options)
        return merged

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None) -> Any:
        """Returns the final state after a function has received all elements.

        Args:
          initial_state: the initial state: a value or a structure of values.
          reduce_func: receives the state and an element, and returns the next state.
          name: accepted and ignored.

        Returns:
          The final state.

        Raises:
          TypeError: if the dtypes of the state change.

        >>> tf.data.Dataset.range(5).reduce(np.int64(0), lambda total, x: total + x).numpy()
        np.int64(10)
        """
        announce("ReduceDataset")
        return mapping.reduced(self._stage, initial_state, reduce_func)

    def get_single_element(self, name: str | None = None) -> Any:
        """Returns the only element of a dataset.

        Args:
          name: accepted and ignored.

        Raises:
          InvalidArgumentError: if the dataset is empty or has more than one element.

        >>> tf.data.Dataset.range(3).batch(3).get_single_element().numpy()
        array([0, 1, 2])
        """
        announce("DatasetToSingleElement")
        elements = self._stage.start()
        nothing = object()
        first = next(elements, nothing)
        if first is nothing or next(elements, nothing) is not nothing:
            text = "Dataset was empty." if first is nothing else "Dataset had more than one element."
            raise InvalidArgumentError(wrap_message("DatasetToSingleElement_output_types_1", text))
        return first

    def apply(self, transformation_func: Callable[[Self], Any]) -> Any:
        """Applies a function to the dataset.

        Args:
          transformation_func: receives a dataset and returns a dataset.

        Raises:
          TypeError: if it returns anything else.

        >>> list(tf.data.Dataset.range(5).apply(lambda ds: ds.skip(3)).as_numpy_iterator())
        [np.int64(3), np.int64(4)]
        """
        transformed = transformation_func(self)
        if not isinstance(transformed, Pipeline):
            text = f"`transformation_func` must return a `tf.data.Dataset` object. Got {type(transformed)}."
            raise TypeError(text)
        return transformed


def _options_of(stage: Stage) -> list[Options]:
    collected = [options for source in stage.inputs for options in _options_of(source)]
    return collected if stage.options is None else [*collected, stage.options]


def as_count(value: Any) -> int:
    """Returns an integer argument.

    Raises:
      TypeError: if the value is not an integer.
    """
    if value.__class__ is int:
        return value
    return int(on_host(as_tensor, value, None if isinstance(value, Tensor) else int64).numpy())
