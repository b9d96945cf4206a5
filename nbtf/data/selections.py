"""Pipeline steps that select elements of a dataset, or change their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Any, TypeVar

import numpy as np

from nbtf._ops.random import philox
from nbtf._ops.random.streams import seeds
from nbtf._runtime.tensor import Tensor
from nbtf._types import bool_
from nbtf.data.elements import at_next, called, on_host, wrap_message
from nbtf.data.specs import spec_of
from nbtf.data.stage import INFINITE, UNKNOWN, Selection, Stage
from nbtf.errors import FailedPreconditionError, InvalidArgumentError

T = TypeVar("T")

WORDS_AT_ONCE = 1024
"""Number of random words that are generated at once."""


class Repeated(Selection, op="RepeatDataset", constants=1):
    """Several passes over the input, one after another."""

    def __init__(self, source: Stage, count: int) -> None:
        """Stores the number of passes; negative means infinitely many."""
        super().__init__(source)
        self._count = count

    def cardinality(self) -> int:
        """Returns the number of elements in all passes."""
        pass_length = self.inputs[0].cardinality()
        if self._count == 0 or pass_length == 0:
            return 0
        if self._count < 0:
            return INFINITE
        return pass_length * self._count if pass_length >= 0 else pass_length

    def select(self, start: Callable[[], Iterator[T]], element_of: Callable[[T], Any]) -> Iterator[T]:
        """Yields one pass after another; a pass without elements is the last."""
        passes_left = self._count
        while passes_left:
            passes_left -= 1
            has_elements = False
            for item in start():
                has_elements = True
                yield item
            if not has_elements:
                return


class Taken(Selection, op="TakeDataset", constants=1):
    """The first elements."""

    def __init__(self, source: Stage, count: int) -> None:
        """Stores the number of elements to take; -1 means all."""
        super().__init__(source)
        self._count = count
        self.span: range | None = source.span if source.span is None or count < 0 else source.span[:count]

    def cardinality(self) -> int:
        """Returns the number of elements."""
        length = self.inputs[0].cardinality()
        if self._count < 0 or length == UNKNOWN:
            return length
        return self._count if length == INFINITE else min(length, self._count)

    def select(self, start: Callable[[], Iterator[T]], element_of: Callable[[T], Any]) -> Iterator[T]:
        """Returns the first elements."""
        return start() if self._count < 0 else islice(start(), self._count)


class Skipped(Selection, op="SkipDataset", constants=1):
    """All except the first elements."""

    def __init__(self, source: Stage, count: int) -> None:
        """Stores the number of elements to skip; -1 means all."""
        super().__init__(source)
        self._count = count
        self.span: range | None = None if source.span is None or count < 0 else source.span[count:]

    def cardinality(self) -> int:
        """Returns the number of remaining elements."""
        length = self.inputs[0].cardinality()
        if self._count < 0:
            return 0
        return max(0, length - self._count) if length >= 0 else length

    def select(self, start: Callable[[], Iterator[T]], element_of: Callable[[T], Any]) -> Iterator[T]:
        """Returns the remaining elements."""
        return iter(()) if self._count < 0 else islice(start(), self._count, None)


class Sharded(Selection, op="ShardDataset", constants=2):
    """Every n-th element."""

    def __init__(self, source: Stage, num_shards: int, index: int) -> None:
        """Stores the number of shards, and the index of this one.

        Raises:
          InvalidArgumentError: if the index is out of range.
        """
        super().__init__(source)
        if num_shards <= 0:
            text = f"Number of shards must be greater than zero (currently num_shards = {num_shards})."
            raise InvalidArgumentError(wrap_message(self.op, text))
        if not 0 <= index < num_shards:
            text = f"Index must be between 0 and {num_shards - 1} (currently index = {index})."
            raise InvalidArgumentError(wrap_message(self.op, text))
        self._shards, self._index = num_shards, index

    def cardinality(self) -> int:
        """Returns the number of elements in this shard."""
        length = self.inputs[0].cardinality()
        return len(range(self._index, length, self._shards)) if length >= 0 else length

    def select(self, start: Callable[[], Iterator[T]], element_of: Callable[[T], Any]) -> Iterator[T]:
        """Returns every n-th element."""
        return islice(start(), self._index, None, self._shards)


class Unchanged(Selection):
    """All elements unchanged: used for options, and for prefetching, which saves no time in nbtf."""

    def __init__(self, source: Stage, class_name: str, op: str, constants: int = 0, options: Any = None) -> None:
        """Stores the names of the step that it represents."""
        super().__init__(source)
        self.class_name: str = class_name
        self.op: str = op
        self.constants: int = constants
        self.options: Any = options
        self.span: range | None = source.span

    def select(self, start: Callable[[], Iterator[T]], element_of: Callable[[T], Any]) -> Iterator[T]:
        """Returns all."""
        return start()


class Counted(Selection, op="AssertCardinalityDataset", constants=1):
    """All elements, with an assertion of their number."""

    def __init__(self, source: Stage, count: int) -> None:
        """Stores the asserted number of elements."""
        super().__init__(source)
        self._count = count

    def cardinality(self) -> int:
        """Returns the asserted number."""
        return self._count

    def select(self, start: Callable[[], Iterator[T]], element_of: Callable[[T], Any]) -> Iterator[T]:
        """Yields all elements, checking their number along the way."""
        count, number = self._count, 0
        expected = f"Input dataset was expected to contain {'an infinite number of' if count < 0 else count} "
        expected += "element" if count == 1 else "elements"
        for number, item in enumerate(start(), 1):
            if 0 <= count < number:
                text = f"{expected} but contained at least {number} element{'s' * (number != 1)}."
                raise at_next(FailedPreconditionError, text)
            yield item
        if number != count:
            text = f"{expected} but contained only {number} element{'s' * (number != 1)}."
            raise at_next(FailedPreconditionError, text)


class Cached(Selection, op="CacheDatasetV2", class_name="CacheDataset", constants=1):
    """Elements that are kept in memory after the first complete pass."""

    def __init__(self, source: Stage) -> None:
        """Starts empty."""
        super().__init__(source)
        self._kept: list[Any] | None = None

    def select(self, start: Callable[[], Iterator[T]], element_of: Callable[[T], Any]) -> Iterator[T]:
        """Yields the cached elements, or fills the cache."""
        if self._kept is not None:
            yield from self._kept
            return
        items: list[T] = []
        for item in start():
            items.append(item)
            yield item
        self._kept = items


class Filtered(Selection, op="FilterDataset"):
    """The elements for which a function returns true."""

    def __init__(self, source: Stage, predicate: Callable[..., Any]) -> None:
        """Stores the function."""
        super().__init__(source)
        self._predicate = predicate

    def cardinality(self) -> int:
        """Returns `UNKNOWN`."""
        return UNKNOWN

    def select(self, start: Callable[[], Iterator[T]], element_of: Callable[[T], Any]) -> Iterator[T]:
        """Yields the elements for which the function returns true."""
        predicate = self._predicate
        return (item for item in start() if approved(predicate, element_of(item)))


class TakenWhile(Filtered, op="TakeWhileDataset"):
    """The elements before the first for which a function returns false."""

    def select(self, start: Callable[[], Iterator[T]], element_of: Callable[[T], Any]) -> Iterator[T]:
        """Yields elements up to the first for which the function returns false."""
        for item in start():
            if not approved(self._predicate, element_of(item)):
                return
            yield item


def approved(predicate: Callable[..., Any], element: Any) -> bool:
    """Returns the result of a predicate.

    Raises:
      ValueError: if the result is not a boolean scalar.
    """
    answer = on_host(called, predicate, element)
    if answer is True or answer is False:
        return answer
    if getattr(answer, "dtype", None) is not bool_ or answer.shape != ():
        spec: object = spec_of(answer) if isinstance(answer, Tensor) else answer.__class__
        raise ValueError(
            f"Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor, but its return type is {spec}."
        )
    return bool(answer)


class Distinct(Selection, op="UniqueDataset"):
    """Each element once."""

    def cardinality(self) -> int:
        """Returns `UNKNOWN`."""
        return UNKNOWN

    def select(self, start: Callable[[], Iterator[T]], element_of: Callable[[T], Any]) -> Iterator[T]:
        """Yields the elements that have not occurred before."""
        keys: set[Any] = set()
        for item in start():
            values = element_of(item).numpy()
            key = values.tobytes() if hasattr(values, "tobytes") else values
            if key not in keys:
                keys.add(key)
                yield item


class Shuffled(Selection, op="ShuffleDatasetV3", constants=1):
    """The elements in random order: each is drawn from a buffer, and the next input element takes its place.

    Order and random numbers are TensorFlow's: source `shuffle_dataset_op.cc` and `random_seed_ops.cc`.
    """

    def __init__(self, source: Stage, buffer_size: int, seed: int | None, reshuffles: bool) -> None:
        """Stores the buffer size, a seed, and whether each pass has a different order.

        Raises:
          InvalidArgumentError: if the buffer size is not positive.
        """
        super().__init__(source)
        if buffer_size <= 0 and buffer_size != UNKNOWN:
            text = "buffer_size must be greater than zero or UNKNOWN_CARDINALITY"
            raise InvalidArgumentError(wrap_message(self.op, text))
        self._room = None if buffer_size == UNKNOWN else buffer_size
        self._seed = seed_pair(seed)
        self._passes = random_words(*self._seed) if reshuffles else None

    def select(self, start: Callable[[], Iterator[T]], element_of: Callable[[T], Any]) -> Iterator[T]:
        """Yields items in a random order."""
        pair = self._seed if self._passes is None else (next(self._passes), next(self._passes))
        return _drawn(start(), self._room, random_words(*pair))


def _drawn(items: Iterator[T], room: int | None, words: Iterator[int]) -> Iterator[T]:
    draw = words.__next__
    buffer = list(islice(items, room))
    size, free = len(buffer), 0
    for item in items:  # the buffer is full, and each drawn element makes room for this one
        index = (free + draw() % size) % size
        drawn, buffer[index] = buffer[index], buffer[free]
        buffer[free] = item
        free = free + 1 if free + 1 < size else 0
        yield drawn
    buffer = buffer[free:] + buffer[:free]
    for first in range(size):
        index = first + draw() % (size - first)
        drawn, buffer[index] = buffer[index], buffer[first]
        yield drawn


def seed_pair(seed: int | None) -> tuple[int, int]:
    """Returns the two seeds for a dataset's random numbers; unpredictable ones if no seed is set."""
    pair = seeds().pair(seed)
    if pair is None:
        drawn: list[int] = np.random.SeedSequence().generate_state(2).tolist()
        return drawn[0], drawn[1]
    return pair


def random_words(key: int, high: int) -> Iterator[int]:
    """Yields the 32-bit words of a Philox generator in order."""
    return chain.from_iterable(_blocks_of_words(key, high))


def _blocks_of_words(key: int, high: int) -> Iterator[list[int]]:
    counter, count = 0, 8
    while True:
        yield philox.philox(np, key, (counter, high), count).reshape(-1).tolist()
        counter += count
        count = min(2 * count, WORDS_AT_ONCE // 4)
