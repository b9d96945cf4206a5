"""Pipeline steps that take elements from several datasets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from nbtf._ops.random import philox
from nbtf._ops.structure import flatten, pack_sequence_as
from nbtf._shapes import TensorSpec
from nbtf._types import float64, int64
from nbtf.data.elements import at_next, is_mapping, is_tuple, packer
from nbtf.data.selections import random_words, seed_pair
from nbtf.data.specs import both, of_tries
from nbtf.data.stage import INFINITE, UNKNOWN, Stage, chunks
from nbtf.errors import InvalidArgumentError


class Zipped(Stage, op="ZipDataset"):
    """One element of each dataset, packed in a structure."""

    def __init__(self, structure: Any) -> None:
        """Stores pipeline steps in a structure of tuples and dictionaries."""
        self.inputs: tuple[Stage, ...] = tuple(flatten(structure))
        self._structure = structure

    @property
    def spec(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The element specs in the same structure."""
        return _put_together(self._structure, [stage.spec for stage in self.inputs])

    def cardinality(self) -> int:
        """Returns the cardinality of the shortest dataset."""
        counts = [stage.cardinality() for stage in self.inputs]
        if UNKNOWN in counts:
            return UNKNOWN
        return min((count for count in counts if count != INFINITE), default=INFINITE)

    def start(self) -> Iterator[Any]:
        """Starts a pass."""
        passes = [stage.start() for stage in self.inputs]
        pack: Callable[[Any], Any] = packer(self._structure) if is_tuple(self._structure) else self._packed
        return map(pack, zip(*passes, strict=False))

    def _packed(self, elements: Sequence[Any]) -> Any:
        return _put_together(self._structure, list(elements))


def _put_together(structure: Any, values: list[Any]) -> Any:
    return pack_sequence_as(structure, values)


class Concatenated(Stage, op="ConcatenateDataset"):
    """The elements of one dataset, then those of another."""

    def __init__(self, first: Stage, second: Stage) -> None:
        """Stores both datasets.

        Raises:
          TypeError: if their elements differ in type or structure.
        """
        self.inputs: tuple[Stage, ...] = (first, second)
        self.spec: Any = both(first.spec, second.spec)

    def cardinality(self) -> int:
        """Returns the sum of both cardinalities."""
        counts = [stage.cardinality() for stage in self.inputs]
        if INFINITE in counts:
            return INFINITE
        return UNKNOWN if UNKNOWN in counts else sum(counts)

    def start(self) -> Iterator[Any]:
        """Starts a pass."""
        return chain.from_iterable(stage.start() for stage in self.inputs)


class Directed(Stage, op="DirectedInterleaveDataset"):
    """Elements of several datasets, each from the dataset that a selector number names."""

    def __init__(self, selector: Callable[[], Iterator[int]], sources: Sequence[Stage], stops: bool) -> None:
        """Stores the selector, the datasets, and whether the first empty dataset ends the pass."""
        self.inputs: tuple[Stage, ...] = tuple(sources)
        self._selector, self._stops = selector, stops
        self.spec: Any = of_tries([stage.spec for stage in sources])

    def start(self) -> Iterator[Any]:
        """Starts a pass."""
        passes: list[Iterator[Any] | None] = [stage.start() for stage in self.inputs]
        for number in self._selector():
            if not 0 <= number < len(passes):
                text = f"Selector index out of range: {number} >= {len(passes)}"
                raise at_next(InvalidArgumentError, text)
            source = passes[number]
            if source is None:
                continue
            for element in source:
                yield element
                break
            else:
                if self._stops:
                    return
                passes[number] = None
                if not any(passes):
                    return


def draw_choices(choices: Stage) -> Callable[[], Iterator[int]]:
    """Returns a function that starts a pass over the numbers in a dataset.

    Raises:
      TypeError: if its elements are not int64 scalars.
    """
    if choices.spec != TensorSpec((), int64):
        raise TypeError(
            "Invalid `choice_dataset`. Elements of `choice_dataset` must be scalar `tf.int64` tensors but are "
            f"{choices.spec}."
        )
    return lambda: (int(number) for number in choices.start())


def draw_by_weight(weights: Sequence[float], seed: int | None) -> Callable[[], Iterator[int]]:
    """Returns a function that starts a pass over random numbers with given weights; the draws equal TensorFlow's."""
    pair = seed_pair(seed)
    sums = _sums(weights)

    def numbers() -> Iterator[int]:
        for words in chunks(random_words(*pair), 2):
            key, counter = scramble_seed(words)
            point = float(philox.uniform(np, key, counter, 1, float64)[0]) * sums[-1]
            yield int((sums <= point).sum())

    return numbers


def _sums(weights: Sequence[float]) -> Any:
    """Returns the cumulative weights, computed through logarithms as in TensorFlow's kernel."""
    with np.errstate(divide="ignore"):
        logits: Any = np.log(np.array(weights, np.float64))
    shares: Any = np.exp(logits - logits.max())
    return shares.cumsum()


def scramble_seed(seed: Sequence[int]) -> tuple[int, tuple[int, int]]:
    """Returns the generator key and counter for a pair of seeds, as in TensorFlow's stateless ops."""
    from nbtf._ops.random.stateless import SCRAMBLING_KEY

    words: list[int] = philox.philox(np, SCRAMBLING_KEY, (seed[0], seed[1]), 1)[0].tolist()
    return words[1] << 32 | words[0], (0, words[3] << 32 | words[2])


def stages_of(structure: Any, method: str) -> Any:
    """Returns the pipeline steps in a structure of datasets.

    Raises:
      TypeError: if the structure contains anything else.
    """
    if is_tuple(structure):
        return tuple(stages_of(entry, method) for entry in structure)
    if is_mapping(structure):
        return {key: stages_of(entry, method) for key, entry in structure.items()}
    text = f"Invalid input to `{method}`. Inputs are expected to be (nested) structures of `tf.data.Dataset` objects"
    if isinstance(structure, list):
        raise TypeError(f"{text}. Python `list` is not supported and you should use `tuple` instead.")
    stage = getattr(structure, "_stage", None)
    if not isinstance(stage, Stage):
        raise TypeError(f"{text} but encountered object of type {type(structure)}.")
    return stage
