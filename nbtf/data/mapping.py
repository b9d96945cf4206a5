"""Pipeline steps that call the user's function for every element."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

from nbtf._runtime.tensor import Tensor
from nbtf.data.batching import Listed
from nbtf.data.elements import as_element, called, is_sequence, leaves, mapped, on_host, wrap_message
from nbtf.data.specs import DatasetSpec, spec_of
from nbtf.data.stage import Maker, Stage
from nbtf.data.tracing import result_spec
from nbtf.errors import InvalidArgumentError, OpError

DEFAULT_CYCLE = 2
"""Default number of inputs used in turn, equal to TensorFlow's on a computer with two cores."""


def check_callable(function: Any) -> None:
    """Raises a ValueError if an object is not callable."""
    if not callable(function):
        raise ValueError(f"Argument `func` must be a callable. Received func={function} (of type {type(function)})")


class Mapped(Stage, op="MapDataset"):
    """The results of a function for each element."""

    def __init__(self, source: Stage, function: Callable[..., Any], parallel: bool = False) -> None:
        """Stores the function; a tuple is passed as separate arguments.

        Raises:
          ValueError: if it is not callable.
        """
        check_callable(function)
        if parallel:
            self.class_name: str = "_ParallelMapDataset"
            self.op: str = "ParallelMapDatasetV2"
            self.constants: int = 1
        self.inputs: tuple[Stage, ...] = (source,)
        self._function = function
        self._spec: Any = None

    @property
    def spec(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The spec of the function's results, determined on first access."""
        if self._spec is None:
            self._spec = result_spec(partial(mapped, self._function), self.inputs[0])
        return self._spec

    def cardinality(self) -> int:
        """Returns the input's cardinality."""
        return self.inputs[0].cardinality()

    def sample(self) -> list[Any]:
        """Returns the function's result for a sample of the input."""
        return [mapped(self._function, element) for element in self.inputs[0].sample()]

    def start(self) -> Iterator[Any]:
        """Starts a pass."""
        function = self._function
        return (mapped(function, element) for element in self.inputs[0].start())


def dataset_of(function: Callable[..., Any], element: Any) -> Any:
    """Returns the dataset that a function returns for an element.

    Raises:
      TypeError: if it returns anything else.
    """
    dataset = on_host(called, function, element)
    if not isinstance(getattr(dataset, "_stage", None), Stage):
        raise TypeError(f"The `map_func` argument must return a `Dataset` object. Got {type(dataset)}.")
    return dataset


class _Inner(Stage):
    """A step whose elements come from datasets that a function returns."""

    def __init__(self, source: Stage, function: Callable[..., Any]) -> None:
        check_callable(function)
        self.inputs: tuple[Stage, ...] = (source,)
        self._function = function
        self._spec: Any = None

    @property
    def spec(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The element spec of the inner datasets."""
        if self._spec is None:
            spec = result_spec(partial(dataset_of, self._function), self.inputs[0])
            self._spec = spec.element_spec if isinstance(spec, DatasetSpec) else spec
        return self._spec


class FlatMapped(_Inner, op="FlatMapDataset"):
    """The elements of the datasets that a function returns, one dataset after another."""

    def start(self) -> Iterator[Any]:
        """Starts a pass."""
        for element in self.inputs[0].start():
            yield from dataset_of(self._function, element)._stage.start()


class Interleaved(_Inner, op="InterleaveDataset", constants=2):
    """The elements of the datasets that a function returns, from several datasets in turn."""

    def __init__(
        self, source: Stage, function: Callable[..., Any], cycle: int | None, block: int | None, parallel: bool = False
    ) -> None:
        """Stores how many datasets are used in turn, and how many elements each provides in its turn.

        Raises:
          InvalidArgumentError: if either is not positive.
        """
        super().__init__(source, function)
        if parallel:
            self.class_name: str = "_ParallelInterleaveDataset"
            self.op: str = "ParallelInterleaveDatasetV4"
            self.constants: int = 5
        self._cycle = DEFAULT_CYCLE if cycle is None or cycle == -1 else cycle
        self._block = 1 if block is None else block
        for name, number in (("cycle_length", self._cycle), ("block_length", self._block)):
            if number <= 0:
                text = f"{name} must be greater than zero."
                raise InvalidArgumentError(wrap_message(f"{self.op}_Targuments_0", text))

    def start(self) -> Iterator[Any]:
        """Starts a pass; source: `interleave_dataset_op.cc`."""
        elements = self.inputs[0].start()
        seats: list[Iterator[Any] | None] = [None] * self._cycle
        is_ended = False
        while not is_ended or any(seat is not None for seat in seats):
            for slot in range(self._cycle):
                if seats[slot] is None and not is_ended:
                    seats[slot], is_ended = self._next_dataset(elements)
                seat = seats[slot]
                if seat is None:
                    continue
                count = 0
                for element in islice(seat, self._block):
                    count += 1
                    yield element
                if count < self._block:
                    seats[slot] = None

    def _next_dataset(self, elements: Iterator[Any]) -> tuple[Iterator[Any] | None, bool]:
        for element in elements:
            return dataset_of(self._function, element)._stage.start(), False
        return None, True


class Scanned(Stage, op="ScanDataset"):
    """The results of a function for each element and a state, which it replaces."""

    def __init__(self, source: Stage, initial_state: Any, function: Callable[..., Any]) -> None:
        """Stores the initial state, and a function from state and element to the next state and an element.

        Raises:
          ValueError: if the function is not callable.
        """
        check_callable(function)
        self.inputs: tuple[Stage, ...] = (source,)
        self._first = on_host(as_element, initial_state)
        self._function = function
        self._spec: Any = None

    @property
    def spec(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The spec of the function's results, determined on first access."""
        if self._spec is None:
            self._spec = result_spec(self._first_made, self.inputs[0])
        return self._spec

    def cardinality(self) -> int:
        """Returns the input's cardinality."""
        return self.inputs[0].cardinality()

    def _first_made(self, element: Any) -> Any:
        return self._step(self._first, element)[1]

    def _step(self, state: Any, element: Any) -> tuple[Any, Any]:
        results = on_host(self._function, state, element)
        if not is_sequence(results) or len(results) != 2:
            raise TypeError(
                "Invalid `scan_func`. `scan_func` should return a pair consisting of new state and the output value "
                f"but its return type is {type(results)}."
            )
        state, element = results
        return on_host(as_element, state), on_host(as_element, element)

    def start(self) -> Iterator[Any]:
        """Starts a pass."""
        state = self._first
        for element in self.inputs[0].start():
            state, output = self._step(state, element)
            yield output


class WithoutErrors(Stage, op="IgnoreErrorsDataset"):
    """The elements that can be created; those that fail are dropped."""

    def __init__(self, source: Stage, log_warning: bool) -> None:
        """Stores the input, and whether to log dropped elements."""
        self.inputs: tuple[Stage, ...] = (source,)
        self._says = log_warning

    @property
    def spec(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The input's spec."""
        return self.inputs[0].spec

    def start(self) -> Iterator[Any]:
        """Starts a pass; after an error in the preceding step's function, continues with the next element."""
        source = self.inputs[0]
        if not isinstance(source, Mapped):
            yield from self._until_failure(source)
            return
        for element in source.inputs[0].start():
            try:
                mapped_element = mapped(source._function, element)
            except (OpError, ArithmeticError, ValueError) as error:
                self._say(error)
            else:
                yield mapped_element

    def _until_failure(self, source: Stage) -> Iterator[Any]:
        elements = source.start()
        while True:
            try:
                element = next(elements)
            except StopIteration:
                return
            except OpError as error:
                self._say(error)
            else:
                yield element

    def _say(self, error: Exception) -> None:
        if self._says:
            from nbtf._runtime.logger import get_logger

            get_logger().warning("Error raised with error message %s", error)


class Grouped(Stage, op="GroupByWindowDataset"):
    """Groups of elements with equal keys, each reduced by a function that receives it as a dataset."""

    def __init__(
        self,
        source: Stage,
        key_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        size: Callable[[int], int],
    ) -> None:
        """Stores the key function, the reducing function, and the function for the size of a group."""
        self.inputs: tuple[Stage, ...] = (source,)
        self._key, self._reduce, self._size = key_func, reduce_func, size
        self._spec: Any = None

    @property
    def spec(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The element spec of the reduced datasets."""
        if self._spec is None:
            self._spec = result_spec(self._reduced_alone, self.inputs[0]).element_spec
        return self._spec

    def _reduced_alone(self, element: Any) -> Any:
        return self._reduced(0, [element])

    def _reduced(self, key: int, elements: Sequence[Any]) -> Any:
        group = on_host(self._reduce, as_element(key), Maker.dataset(Listed(elements, self.inputs[0].spec)))
        if not isinstance(getattr(group, "_stage", None), Stage):
            raise TypeError(
                f"Invalid `reduce_func`. `reduce_func` should return a `Dataset` object. Got {type(group)}."
            )
        return group

    def start(self) -> Iterator[Any]:
        """Starts a pass."""
        groups: dict[int, list[Any]] = {}
        for element in self.inputs[0].start():
            key = int(on_host(called, self._key, element))
            group = groups.setdefault(key, [])
            group.append(element)
            if len(group) == self._size(key):
                yield from self._reduced(key, groups.pop(key))._stage.start()
        for key in sorted(groups):
            yield from self._reduced(key, groups[key])._stage.start()


def reduced(source: Stage, initial_state: Any, function: Callable[..., Any]) -> Any:
    """Returns the final state after a function has received all elements."""
    state = on_host(as_element, initial_state)
    dtypes = [leaf.dtype for leaf in leaves(state) if isinstance(leaf, Tensor)]
    for element in source.start():
        state = as_element(on_host(function, state, element))
        if [leaf.dtype for leaf in leaves(state) if isinstance(leaf, Tensor)] != dtypes:
            raise TypeError(
                "The element types for the new state must match the initial state. Expected "
                f"{spec_of(on_host(as_element, initial_state))}; got {spec_of(state)}."
            )
    return state
