"""A step of a pipeline: what it is called, what its elements are, how many, and how a pass over them starts.

A step that only chooses among the rows of arrays passes on their numbers instead of elements, so that shuffling and
repeating cost nothing per row and a batch is cut out of the arrays at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Protocol, TypeVar

from nbtf._runtime.tensor import Tensor
from nbtf.data.elements import as_it_is, host_array_of, leaves, on_host, packer, tensor_on_host

T = TypeVar("T")

INFINITE = -1
UNKNOWN = -2


class Maker:
    """How a step becomes a dataset; set by the class that stands above this file."""

    dataset: Callable[[Stage], Any]


class Table(Protocol):
    """Rows that can be taken by number."""

    def row(self, number: int) -> Any:
        """Returns a row as an element."""
        ...

    def rows(self, numbers: Sequence[int]) -> Any:
        """Returns rows as a batch."""
        ...


class Columns:
    """Arrays of equal length, row by row."""

    def __init__(self, element: Any) -> None:
        """Takes tensors on the CPU in their structure."""
        self._leaves = leaves(element)
        self._pack = packer(element)
        plain = all(leaf.__class__ is Tensor for leaf in self._leaves)
        self._arrays = [(host_array_of(leaf), leaf.dtype) for leaf in self._leaves] if plain else None

    def row(self, number: int) -> Any:
        """Returns a row as an element; it shows the arrays' memory."""
        if self._arrays is None:
            return self._pack([_row_of(leaf, number) for leaf in self._leaves])
        return self._pack([tensor_on_host(array[number, ...], dtype) for array, dtype in self._arrays])

    def rows(self, numbers: Sequence[int]) -> Any:
        """Returns rows as a batch; those of a range show the arrays' memory, others are copied out."""
        key: Any = slice(numbers.start, numbers.stop) if isinstance(numbers, range) else numbers
        if self._arrays is None:
            return self._pack([_rows_of(leaf, numbers, key) for leaf in self._leaves])
        return self._pack([tensor_on_host(array[key], dtype) for array, dtype in self._arrays])


def _row_of(leaf: Any, number: int) -> Any:
    if leaf.__class__ is Tensor:
        return tensor_on_host(host_array_of(leaf)[number, ...], leaf.dtype)
    return on_host(leaf.__getitem__, number)


def _rows_of(leaf: Any, numbers: Sequence[int], key: Any) -> Any:
    if leaf.__class__ is Tensor:
        return tensor_on_host(host_array_of(leaf)[key], leaf.dtype)
    return on_host(leaf._gathered, [on_host(leaf.__getitem__, number) for number in numbers])


class Stage:
    """One step of a pipeline, and with its inputs the whole pipeline up to there."""

    class_name = "Dataset"
    """What the dataset's text calls it: TensorFlow's name of the class."""
    op = ""
    """TensorFlow's op, which the log shows when the dataset is made."""
    constants = 0
    """How many inputs of that op are Python values."""
    columns: Table | None = None
    """Where elements are rows of arrays: the arrays."""
    span: range | None = None
    """Where the rows are taken in order, from a first one up to before a last one: these."""
    spec: Any
    inputs: tuple[Stage, ...] = ()
    options: Any = None

    def cardinality(self) -> int:
        """Returns the number of elements; `INFINITE` or `UNKNOWN`."""
        return UNKNOWN

    def start(self) -> Iterator[Any]:
        """Starts a pass over the elements."""
        raise NotImplementedError

    def picks(self) -> Iterator[int]:
        """Starts a pass over the numbers of the rows in `columns`."""
        raise NotImplementedError

    def sample(self) -> list[Any]:
        """Returns one element in a list, or none of an empty dataset; no random order goes on meanwhile."""
        return list(islice(self.start(), 1))


class Selection(Stage):
    """A step that gives some of the elements of its input, in some order: rows by number where it can."""

    def __init__(self, source: Stage) -> None:
        """Takes the input."""
        self.inputs: tuple[Stage, ...] = (source,)
        self.columns = source.columns

    @property
    def spec(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The same as that of the input."""
        return self.inputs[0].spec

    def cardinality(self) -> int:
        """Returns the input's."""
        return self.inputs[0].cardinality()

    def start(self) -> Iterator[Any]:
        """Starts a pass over the elements."""
        source = self.inputs[0]
        if self.columns is None:
            return self.select(source.start, as_it_is)
        return map(self.columns.row, self.picks())

    def picks(self) -> Iterator[int]:
        """Starts a pass over the numbers of the rows."""
        assert self.columns is not None
        return self.select(self.inputs[0].picks, self.columns.row)

    def sample(self) -> list[Any]:
        """Returns an element of the input, chosen or not."""
        return self.inputs[0].sample()

    def select(self, start: Callable[[], Iterator[T]], element_of: Callable[[T], Any]) -> Iterator[T]:
        """Returns what is chosen of a pass.

        Args:
          start: starts a pass over the input.
          element_of: returns the element that an item of the pass stands for.
        """
        raise NotImplementedError


def runs(span: range, size: int) -> Iterator[range]:
    """Yields neighbouring numbers, `size` together; the last ones may be fewer."""
    return (span[first : first + size] for first in range(0, len(span), size))


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yields lists of `size` items; the last one may be shorter."""
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk
