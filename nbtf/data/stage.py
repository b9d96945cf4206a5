"""A step of a pipeline: its name, the spec and number of its elements, and how a pass over them starts.

A step that only selects rows of arrays passes row numbers on instead of elements. Shuffling and repeating therefore
cost nothing per row, and a batch is cut out of the arrays at once.
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
    """The function that turns a step into a dataset; set by the module of the dataset class, which imports this one."""

    dataset: Callable[[Stage], Any]


class Table(Protocol):
    """Rows that can be read by number."""

    def row(self, number: int) -> Any:
        """Returns a row as an element."""
        ...

    def rows(self, numbers: Sequence[int]) -> Any:
        """Returns rows as a batch."""
        ...


class Columns:
    """Arrays of equal length, read row by row."""

    def __init__(self, element: Any) -> None:
        """Stores a structure of tensors on the CPU."""
        self._leaves = leaves(element)
        self._pack = packer(element)
        plain = all(leaf.__class__ is Tensor for leaf in self._leaves)
        self._arrays = [(host_array_of(leaf), leaf.dtype) for leaf in self._leaves] if plain else None

    def row(self, number: int) -> Any:
        """Returns a row as an element, which is a view of the arrays."""
        if self._arrays is None:
            return self._pack([_row_of(leaf, number) for leaf in self._leaves])
        return self._pack([tensor_on_host(array[number, ...], dtype) for array, dtype in self._arrays])

    def rows(self, numbers: Sequence[int]) -> Any:
        """Returns rows as a batch: a view of the arrays for a range of rows, otherwise a copy."""
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
    """One step of a pipeline; together with its inputs, the pipeline up to this step."""

    class_name: str = "Dataset"
    """The name in the dataset's representation: TensorFlow's class name."""
    op: str = ""
    """TensorFlow's op, which the log shows when the dataset is created."""
    constants: int = 0
    """Number of that op's inputs that are Python values."""
    columns: Table | None = None
    """The arrays whose rows are the elements, if there are any."""
    span: range | None = None
    """The row numbers, if the rows are read in order from a first to a last one."""
    spec: Any
    inputs: tuple[Stage, ...] = ()
    options: Any = None

    def __init_subclass__(
        cls, op: str | None = None, class_name: str | None = None, constants: int | None = None
    ) -> None:
        """Sets what the class statement names; the name in representations follows from the op."""
        super().__init_subclass__()
        if op is not None:
            cls.op, cls.class_name = op, class_name or f"_{op.removesuffix('V2').removesuffix('V3')}"
        if constants is not None:
            cls.constants = constants

    def cardinality(self) -> int:
        """Returns the number of elements, `INFINITE` or `UNKNOWN`."""
        return UNKNOWN

    def start(self) -> Iterator[Any]:
        """Starts a pass over the elements."""
        raise NotImplementedError

    def picks(self) -> Iterator[int]:
        """Starts a pass over the numbers of the rows in `columns`."""
        raise NotImplementedError

    def sample(self) -> list[Any]:
        """Returns a list of one element, or an empty list; does not advance any random order."""
        return list(islice(self.start(), 1))


class Selection(Stage):
    """A step that returns some elements of its input, in some order; by row number if possible."""

    def __init__(self, source: Stage) -> None:
        """Stores the input."""
        self.inputs: tuple[Stage, ...] = (source,)
        self.columns = source.columns

    @property
    def spec(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The input's spec."""
        return self.inputs[0].spec

    def cardinality(self) -> int:
        """Returns the input's cardinality."""
        return self.inputs[0].cardinality()

    def start(self) -> Iterator[Any]:
        """Starts a pass over the elements."""
        source = self.inputs[0]
        if self.columns is None:
            return self.select(source.start, as_it_is)
        return map(self.columns.row, self.picks())

    def picks(self) -> Iterator[int]:
        """Starts a pass over the row numbers."""
        assert self.columns is not None
        return self.select(self.inputs[0].picks, self.columns.row)

    def sample(self) -> list[Any]:
        """Returns a sample of the input, whether or not this step selects it."""
        return self.inputs[0].sample()

    def select(self, start: Callable[[], Iterator[T]], element_of: Callable[[T], Any]) -> Iterator[T]:
        """Returns the selected items of a pass.

        Args:
          start: starts a pass over the input.
          element_of: returns the element for an item of the pass.
        """
        raise NotImplementedError


def runs(span: range, size: int) -> Iterator[range]:
    """Yields ranges of `size` consecutive numbers; the last one may be shorter."""
    return (span[first : first + size] for first in range(0, len(span), size))


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yields lists of `size` items; the last one may be shorter."""
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk
