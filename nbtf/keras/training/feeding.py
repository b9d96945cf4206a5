"""The sources of batches: arrays, data sets, generators."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from nbtf import distribute
from nbtf._ops.random.streams import seeds
from nbtf._runtime.context import open_graph
from nbtf._runtime.tensor import Tensor
from nbtf.distribute.values import mapped
from nbtf.keras.dtypes import floatx
from nbtf.keras.training.py_dataset import PyDataset
from nbtf.keras.type_guards import is_array, is_dict, is_list

Batch = Any
"""Inputs, or a tuple of inputs, targets and weights, as `pack_batch` returns it; its arrays are not shared."""


class Feed:
    """A source of batches for each epoch.

    `steps` is the number of batches in an epoch, or None if unknown. `endless` marks sources that never end.
    """

    steps: int | None = None
    endless = False

    def check_end(self, steps: int | None) -> None:
        """Checks that an epoch has an end.

        Raises:
          ValueError: if the source is endless and no number of steps is given.
        """
        if self.endless and steps is None:
            raise ValueError(
                "When providing an infinite dataset, you must specify the number of steps to run (if you did not "
                "intend to create an infinite dataset, make sure to not call `repeat()` on the dataset)."
            )

    def batches(self) -> Iterator[Batch]:
        """Starts an epoch."""
        raise NotImplementedError

    def pass_ended(self) -> None:
        """Called at the end of an epoch."""


class ArrayFeed(Feed):
    """Batches from the rows of arrays: slices, or with shuffling a selection of rows for each batch."""

    def __init__(
        self, x: Any, y: Any = None, weights: Any = None, batch_size: int | None = None, shuffle: Any = False
    ) -> None:
        self._data = mapped(as_array, (x, y, weights))
        self._rows = checked_lengths(*self._data)
        self._size, self._shuffle = int(batch_size or 32), shuffle
        self.steps: int | None = -(-self._rows // self._size)

    def batches(self) -> Iterator[Batch]:
        """Yields the batches of an epoch; the last one may be smaller."""
        order = self._order() if self._shuffle else None
        for start in range(0, self._rows, self._size):
            end = start + self._size
            rows = slice(start, end) if order is None else order[start:end]
            yield pack_batch(*mapped(partial(take_rows, rows=rows), self._data))

    def _order(self) -> Any:
        numbers = random_numbers()
        if self._shuffle != "batch":
            return numbers.permutation(self._rows)
        full_batch_rows = self._rows - self._rows % self._size
        groups = np.arange(full_batch_rows).reshape(-1, self._size)
        return np.concatenate(
            [groups[numbers.permutation(len(groups))].ravel(), np.arange(full_batch_rows, self._rows)]
        )


class DatasetFeed(Feed):
    """A data set that already consists of batches."""

    def __init__(self, dataset: Any) -> None:
        """Stores a `tf.data.Dataset`, a distributed one, or another object that can be iterated repeatedly."""
        self._dataset = dataset
        cardinality: Any = getattr(dataset, "cardinality", -1)
        cardinality = cardinality() if callable(cardinality) else cardinality
        count = int(cardinality)
        self.steps: int | None = count if count >= 0 else None
        self.endless: bool = count == -1 and hasattr(dataset, "cardinality")

    def batches(self) -> Iterator[Batch]:
        """Yields the elements of the data set."""
        yield from self._dataset


class GeneratorFeed(Feed):
    """Batches from a generator, which can be iterated only once."""

    def __init__(self, generator: Iterator[Any]) -> None:
        self._generator = generator

    def batches(self) -> Iterator[Batch]:
        """Yields further batches of the generator."""
        for element in self._generator:
            yield mapped(own_array, element)


class PyDatasetFeed(Feed):
    """Batches that a `PyDataset` returns by number."""

    def __init__(self, dataset: PyDataset, shuffle: bool) -> None:
        """Stores the data set; with `shuffle`, each epoch uses another order of the batches."""
        self._dataset, self._shuffle = dataset, shuffle
        self.steps: int | None = dataset.num_batches
        self.endless: bool = self.steps is None

    def batches(self) -> Iterator[Batch]:
        """Yields the batches of an epoch."""
        self._dataset.on_epoch_begin()
        number = 0
        order: Any = random_numbers().permutation(self.steps) if self._shuffle and self.steps is not None else None
        while self.steps is None or number < self.steps:
            yield mapped(own_array, self._dataset[number if order is None else int(order[number])])
            number += 1

    def pass_ended(self) -> None:
        """Notifies the data set of the end of an epoch."""
        self._dataset.on_epoch_end()


class Weighted(Feed):
    """The batches of another source, with weights by the classes of their targets."""

    def __init__(self, feed: Feed, class_weight: Mapping[int, float]) -> None:
        self._feed, self._class_weight = feed, class_weight
        self.steps: int | None = feed.steps
        self.endless: bool = feed.endless

    def batches(self) -> Iterator[Batch]:
        """Yields the batches with weights."""
        for data in self._feed.batches():
            x, y, weights = unpack_batch(data)
            if weights is not None:
                raise ValueError("You cannot `class_weight` and `sample_weight` at the same time.")
            yield pack_batch(x, y, class_weights(y, self._class_weight))

    def pass_ended(self) -> None:
        """Notifies the source of the end of an epoch."""
        self._feed.pass_ended()


# Creating a feed


NOT_IN_GRAPHS = (
    "`tf.data.Dataset` only supports Python-style iteration in eager mode or within tf.function. Keras trains eagerly: "
    "leave tf.compat.v1.disable_eager_execution() and `with graph.as_default():` out."
)
"""The message of TensorFlow 2.21, followed by a fix."""


def feed_of(
    x: Any,
    y: Any = None,
    sample_weight: Any = None,
    batch_size: int | None = None,
    shuffle: Any = False,
    class_weight: Mapping[int, float] | None = None,
) -> Feed:
    """Returns a source of batches for the data of a program.

    Args:
      x: arrays, tensors, data frames, or lists and dictionaries of them; or a data set, a generator, a `PyDataset`.
      y: targets, if `x` contains arrays.
      sample_weight: weights of the rows, if `x` contains arrays.
      batch_size: rows per batch, if `x` contains arrays.
      shuffle: whether each epoch uses another order of the rows; `"batch"` keeps batches together.
      class_weight: weights of the classes by number.

    Raises:
      RuntimeError: if a graph is being built, in which Keras does not train.
      ValueError: if arrays differ in length, if targets are given besides a data set, or if the kind of data is
        unknown.
    """
    if open_graph() is not None:
        raise RuntimeError(NOT_IN_GRAPHS)
    if class_weight is not None:
        if sample_weight is not None:
            raise ValueError("You cannot `class_weight` and `sample_weight` at the same time.")
        if is_list(y) or is_dict(y):
            raise ValueError("`class_weight` is only supported for Models with a single output.")
        return Weighted(feed_of(x, y, None, batch_size, shuffle), class_weight)
    if isinstance(x, PyDataset):
        _refuse_targets("PyDataset", y, sample_weight)
        return PyDatasetFeed(x, bool(shuffle))
    if hasattr(x, "element_spec"):
        _refuse_targets("tf.data.Dataset", y, sample_weight)
        return DatasetFeed(x)
    if hasattr(x, "__next__"):
        _refuse_targets("generator", y, sample_weight)
        return GeneratorFeed(x)
    if is_arrays(x):
        return ArrayFeed(x, y, sample_weight, batch_size, shuffle)
    if hasattr(x, "__iter__") and x.__class__ not in (str, bytes, list, tuple, dict):
        _refuse_targets(type(x).__name__, y, sample_weight)
        return DatasetFeed(x)
    raise ValueError(f"Unrecognized data type: x={x} (of type {type(x)})")


def _refuse_targets(noun: str, y: Any, sample_weight: Any) -> None:
    for name, value, content in (("y", y, "targets"), ("sample_weights", sample_weight, "sample weights")):
        if value is not None:
            raise ValueError(
                f"When providing `x` as a {noun}, `{name}` should not be passed. Instead, the {content} should be "
                f"included as part of the {noun}."
            )


def is_arrays(x: Any) -> bool:
    """Returns whether a value is an array or a structure of arrays."""
    if is_list(x):
        return bool(x) and all(is_arrays(item) for item in x)
    if is_dict(x):
        return bool(x) and all(is_arrays(entry) for entry in x.values())
    return isinstance(x, np.ndarray | Tensor) or hasattr(x, "to_numpy") or hasattr(x, "__tf_tensor__")


def as_array(value: Any) -> Any:
    """Returns data as a NumPy array; None for None."""
    if value is None or is_array(value):
        return value
    if hasattr(value, "to_numpy"):  # a data frame or one of its columns
        array = value.to_numpy()
        return array if array.ndim > 1 else array[:, None]
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value)


def own_array(value: Any) -> Any:
    """Returns a copy of the program's array, which nbtf may keep; other values unchanged."""
    if hasattr(value, "to_numpy"):
        value = as_array(value)
    return take_rows(value, slice(None)) if is_array(value) and value.ndim else value


def take_rows(array: Any, rows: Any) -> Any:
    """Returns a copy of rows of an array, with floats as `floatx()`; None for None."""
    if array is None:
        return None
    dtype = floatx() if array.dtype.kind == "f" and array.dtype.name != "bfloat16" else array.dtype
    if rows.__class__ is slice:
        return np.array(array[rows], dtype)
    chosen_rows = array.take(rows, 0)
    return chosen_rows if chosen_rows.dtype == dtype else chosen_rows.astype(dtype)


def checked_lengths(x: Any, y: Any, weights: Any) -> int:
    """Returns the number of rows.

    Raises:
      ValueError: if arrays differ in their numbers of rows.
    """
    lengths = {name: _lengths(value) for name, value in (("x", x), ("y", y), ("sample_weight", weights))}
    distinct_lengths = {length for argument_lengths in lengths.values() for length in argument_lengths}
    if len(distinct_lengths) > 1:
        sizes = "".join(
            f"'{name}' sizes: {', '.join(map(str, argument_lengths))}\n"
            for name, argument_lengths in lengths.items()
            if argument_lengths
        )
        raise ValueError(
            "Data cardinality is ambiguous. Make sure all arrays contain the same number of samples." + sizes
        )
    return next(iter(distinct_lengths))


def _lengths(value: Any) -> list[int]:
    if is_list(value):
        return [length for item in value for length in _lengths(item)]
    if is_dict(value):
        return [length for entry in value.values() for length in _lengths(entry)]
    return [] if value is None else [len(value)]


def pack_batch(x: Any, y: Any = None, weights: Any = None) -> Batch:
    """Returns inputs, targets and weights in the form in which a step receives them, without missing parts."""
    if y is None and weights is None:
        return (x,) if is_list(x) else x
    return (x, y) if weights is None else (x, y, weights)


def unpack_batch(element: Any) -> tuple[Any, Any, Any]:
    """Returns an element as inputs, targets and weights.

    Raises:
      ValueError: if the tuple has more than three elements.
    """
    if not is_list(element):
        return element, None, None
    fields: tuple[Any, ...] = tuple(element)
    if not 1 <= len(fields) <= 3:
        raise ValueError(
            f"Data is expected to be in format `x`, `(x,)`, `(x, y)`, or `(x, y, sample_weight)`, found: {fields}"
        )
    x, y, weights = (*fields, None, None)[:3]
    return x, y, weights


def class_weights(y: Any, class_weight: Mapping[int, float]) -> Any:
    """Returns a weight for each row, by the class of its target."""
    if isinstance(y, distribute.DistributedValues):
        raise ValueError("`class_weight` is not supported for data that is distributed already.")
    labels = as_array(y)
    if labels.ndim > 1:
        labels = labels.argmax(-1) if labels.shape[-1] > 1 else labels[..., 0]
    weights = np.ones(labels.shape, floatx())
    for label, weight in class_weight.items():
        weights[labels == label] = weight
    return weights


def split_for_validation(x: Any, y: Any, weights: Any, fraction: float) -> tuple[Any, Any]:
    """Returns the first rows for training and the last ones for validation.

    Raises:
      ValueError: if the data cannot be split, or if one side would be empty.
    """
    wrong: list[Any] = [
        type(argument) for argument in (x, y, weights) if argument is not None and not is_arrays(argument)
    ]
    if wrong:
        raise ValueError(
            "Argument `validation_split` is only supported for tensors or NumPy arrays."
            f"Found incompatible type in the input: {wrong}"
        )
    data = mapped(as_array, (x, y, weights))
    rows = checked_lengths(*data)
    boundary = int(rows * (1.0 - fraction))
    if boundary in (0, rows):
        raise ValueError(
            f"Training data contains {rows} samples, which is not sufficient to split it into a validation and "
            f"training set as specified by `validation_split={fraction}`. Either provide more data, or a different "
            "value for the `validation_split` argument."
        )

    def rows_of(start: int, stop: int) -> Any:
        return mapped(partial(_cut, start, stop), data)

    return rows_of(0, boundary), rows_of(boundary, rows)


def _cut(start: int, stop: int, array: Any) -> Any:
    return None if array is None else array[start:stop]


def random_numbers() -> Any:
    """Returns the generator for random orders: the one seeded by `tf.random.set_seed`, or NumPy's own."""
    pair = seeds().pair(None)
    return np.random if pair is None else np.random.default_rng(pair)


def warn_of_end() -> None:
    """Warns that the data ended before the requested number of steps."""
    warnings.warn(
        "Your input ran out of data; interrupting training. Make sure that your dataset or generator can generate at "
        "least `steps_per_epoch * epochs` batches. You may need to use the `.repeat()` function when building your "
        "dataset.",
        stacklevel=4,
    )
