"""`tf.data.Dataset`: functions that create datasets."""

from __future__ import annotations

import glob
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

from nbtf._ops.structure import flatten
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorSpec, TypeSpec
from nbtf._storage.records import COMPRESSIONS
from nbtf._types import DTypeLike, as_dtype, int64
from nbtf.data import combining, sources
from nbtf.data.elements import announce, is_mapping, is_sequence
from nbtf.data.pipeline import as_count
from nbtf.data.specs import each
from nbtf.data.stage import Maker, Stage
from nbtf.data.transformations import Transformations
from nbtf.errors import InvalidArgumentError

ITERATORS = frozenset({"make_initializable_iterator", "make_one_shot_iterator"})
"""TensorFlow 1 methods that a `for` loop replaces."""

LOOP = "Write `for element in dataset:`. With sessions, put the loop around `session.run` and feed `element.numpy()`."
"""The replacement for these methods."""


class Dataset(Transformations):
    """A sequence of elements: tensors on the CPU, or tuples and dictionaries of tensors.

    A dataset is created from arrays, files or a generator, and every method returns a new dataset. Elements are created
    on demand. Each loop starts again from the beginning, and elements are not kept afterwards. Datasets run in the
    calling thread. As in TensorFlow, their functions run on CPU:0; they are logged like any op.

    >>> numbers = tf.data.Dataset.from_tensor_slices([1, 2, 3])
    >>> for x in numbers.map(lambda x: 10 * x).batch(2):
    ...     print(x.numpy())
    [10 20]
    [30]
    """

    __slots__ = ("__dict__",)  # programs set attributes of datasets, as Keras does with `class_names`

    def __new__(cls, *args: Any, **kwargs: Any) -> Dataset:
        """Raises an error: datasets are created by the methods of the class."""
        raise TypeError(
            "Can't instantiate abstract class DatasetV2: use tf.data.Dataset.from_tensor_slices(...) or similar."
        )

    def __getattr__(self, name: str) -> NoReturn:
        """Raises an error that explains the replacement for TensorFlow 1's iterators."""
        error = AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        if name in ITERATORS:
            error.add_note(LOOP)
        raise error

    def __copy__(self) -> Dataset:
        """Returns the dataset itself, because it is immutable."""
        return self

    def __deepcopy__(self, memo: object) -> Dataset:
        """Returns itself."""
        return self

    def __reduce__(self) -> NoReturn:
        """Raises an error, because its functions may not be importable."""
        raise TypeError("cannot pickle a dataset: its functions may have no names. Pickle its source instead.")

    @staticmethod
    def _of(stage: Stage) -> Dataset:
        dataset = object.__new__(Dataset)
        dataset._stage = stage
        if stage.op:
            announce(stage.op, stage.constants)
        return dataset

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """Returns a dataset of the rows of arrays.

        Args:
          tensors: an array, a list, a tensor, or a tuple or dictionary of them, all of the same length.
          name: accepted and ignored.

        Raises:
          ValueError: if the structure is empty, a value has no rows, or the lengths differ.

        >>> for x, y in tf.data.Dataset.from_tensor_slices(([1.0, 2.0], [0, 1])):
        ...     print(x.numpy(), y.numpy())
        1.0 0
        2.0 1
        """
        return Dataset._of(sources.Slices(tensors))

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """Returns a dataset with a single element.

        Args:
          tensors: an array, a list, a tensor, or a tuple or dictionary of them.
          name: accepted and ignored.

        >>> tf.data.Dataset.from_tensors([1, 2])
        <_TensorDataset element_spec=TensorSpec(shape=(2,), dtype=tf.int32, name=None)>
        """
        return Dataset._of(sources.Whole(tensors))

    @staticmethod
    def range(*args: Any, output_type: DTypeLike = int64, name: str | None = None) -> Dataset:
        """Returns a dataset of evenly spaced numbers.

        Args:
          *args: integers: `stop`, or `start, stop`, or `start, stop, step`.
          output_type: dtype of the elements.
          name: accepted and ignored.

        Raises:
          ValueError: if no argument or more than three are given.
          InvalidArgumentError: if the step is 0.

        >>> list(tf.data.Dataset.range(1, 7, 2).as_numpy_iterator())
        [np.int64(1), np.int64(3), np.int64(5)]
        """
        if not 1 <= len(args) <= 3:
            raise ValueError(f"Invalid `args`. The length of `args` should be between 1 and 3 but was {len(args)}.")
        numbers = [as_count(arg) for arg in args]
        start, stop = (0, numbers[0]) if len(numbers) == 1 else numbers[:2]
        step = numbers[2] if len(numbers) == 3 else 1
        return Dataset._of(sources.Numbers(start, stop, step, as_dtype(output_type)))

    @staticmethod
    def counter(start: Any = 0, step: Any = 1, dtype: DTypeLike = int64, name: str | None = None) -> Dataset:
        """Returns an infinite dataset that counts.

        Args:
          start: first number.
          step: difference between consecutive numbers.
          dtype: dtype of the elements.
          name: accepted and ignored.

        >>> list(tf.data.Dataset.counter(2, 3).take(3).as_numpy_iterator())
        [np.int64(2), np.int64(5), np.int64(8)]
        """
        return Dataset._of(sources.Numbers(as_count(start), None, as_count(step), as_dtype(dtype)))

    @staticmethod
    def random(
        seed: int | None = None, rerandomize_each_iteration: bool | None = None, name: str | None = None
    ) -> Dataset:
        """Returns an infinite dataset of random numbers: int64 scalars from 0 to 2**32 - 1.

        Args:
          seed: makes the numbers reproducible; see `tf.random.set_seed`.
          rerandomize_each_iteration: whether each pass has different numbers.
          name: accepted and ignored.
        """
        return Dataset._of(sources.RandomNumbers(seed, bool(rerandomize_each_iteration)))

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Sequence[Any] | None = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Returns a dataset of the values that a generator yields.

        Args:
          generator: a function that returns an iterable; called for each pass.
          output_types: dtype of each value; an older alternative to `output_signature`.
          output_shapes: shapes of the values; unknown by default.
          args: arguments of the function, passed as NumPy values.
          output_signature: a `tf.TensorSpec` for each value, in the structure of an element.
          name: accepted and ignored.

        Raises:
          TypeError: if `generator` is not callable, or its values are not described.
          InvalidArgumentError: when an element is read, if it does not match the description.

        >>> spec = tf.TensorSpec((), tf.int32)
        >>> list(tf.data.Dataset.from_generator(lambda: iter([1, 2]), output_signature=spec).as_numpy_iterator())
        [np.int32(1), np.int32(2)]
        """
        if not callable(generator):
            raise TypeError("`generator` must be a Python callable.")
        spec = _signature(output_types, output_shapes, output_signature)
        return Dataset._of(sources.Generated(generator, args or (), spec))

    @staticmethod
    def list_files(
        file_pattern: Any, shuffle: bool | None = None, seed: int | None = None, name: str | None = None
    ) -> Dataset:
        """Returns a dataset of file names, as bytes.

        Args:
          file_pattern: a pattern with `*` and `?`, or a list of patterns.
          shuffle: whether the names are in random order; True by default.
          seed: makes the order reproducible.
          name: accepted and ignored.

        Raises:
          InvalidArgumentError: if no file matches.
        """
        file_patterns = file_pattern.numpy() if isinstance(file_pattern, Tensor) else file_pattern
        patterns = [file_patterns] if isinstance(file_patterns, str | bytes) else list(file_patterns)
        texts = [pattern.decode() if isinstance(pattern, bytes) else str(pattern) for pattern in patterns]
        names = sorted({_beside(text, path) for text in texts for path in glob.glob(text)})
        if not names:
            text = "Expected 'tf.Tensor(False, shape=(), dtype=bool)' to be true. Summarized data: "
            raise InvalidArgumentError(f"{text}b'No files matched pattern: {', '.join(texts)}'")
        dataset = Dataset.from_tensor_slices(names)
        return dataset if shuffle is False else dataset.shuffle(len(names), seed=seed)

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Returns a dataset that combines one element of each dataset; it is as long as the shortest.

        Args:
          *args: datasets, or one tuple or dictionary of datasets.
          datasets: an alternative to `*args`.
          name: accepted and ignored.

        Raises:
          TypeError: if no dataset is given, or an argument is not a dataset.

        >>> pairs = tf.data.Dataset.zip(tf.data.Dataset.range(2), tf.data.Dataset.range(5, 9))
        >>> list(pairs.as_numpy_iterator())
        [(np.int64(0), np.int64(5)), (np.int64(1), np.int64(6))]
        """
        if not args and datasets is None:
            raise TypeError("Must pass at least one dataset to `zip`.")
        if args and datasets is not None:
            raise TypeError("Both `*args` and `datasets` cannot be set.")
        structure = args[0] if len(args) == 1 else args or datasets
        return Dataset._of(combining.Zipped(combining.stages_of(structure, "zip")))

    @staticmethod
    def sample_from_datasets(
        datasets: Sequence[Any],
        weights: Any = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Returns a dataset that takes each element from a randomly drawn dataset.

        Args:
          datasets: the datasets to draw from.
          weights: relative frequency of each dataset; equal by default.
          seed: makes the draws reproducible; they equal TensorFlow's.
          stop_on_empty_dataset: whether the first empty dataset ends the pass.
          rerandomize_each_iteration: accepted; each pass makes the same draws.
          name: accepted and ignored.

        Raises:
          TypeError: if the datasets' elements differ in type or structure.
          ValueError: if no dataset is given, or the number of weights differs.
        """
        if not datasets:
            raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
        shares = [1.0] * len(datasets) if weights is None else [float(weight) for weight in weights]
        if len(shares) != len(datasets):
            text = f"Invalid `weights`. The shape of `weights` should be compatible with `[len(datasets)]`: {shares}."
            raise ValueError(text)
        stages = [combining.stages_of(dataset, "sample_from_datasets") for dataset in datasets]
        if len(stages) == 1:
            return datasets[0]
        return Dataset._of(combining.Directed(combining.draw_by_weight(shares, seed), stages, stop_on_empty_dataset))

    @staticmethod
    def choose_from_datasets(
        datasets: Sequence[Any], choice_dataset: Any, stop_on_empty_dataset: bool = True, name: str | None = None
    ) -> Dataset:
        """Returns a dataset that takes each element from the dataset with a given number.

        Args:
          datasets: the datasets to choose from.
          choice_dataset: a dataset of numbers, as int64 scalars.
          stop_on_empty_dataset: whether the first empty dataset ends the pass.
          name: accepted and ignored.

        Raises:
          TypeError: if the datasets' elements differ in type or structure, or the numbers are not int64 scalars.
          ValueError: if no dataset is given.

        >>> letters = [tf.data.Dataset.from_tensors(x).repeat() for x in ("a", "b")]
        >>> chosen = tf.data.Dataset.choose_from_datasets(letters, tf.data.Dataset.range(2))
        >>> list(chosen.as_numpy_iterator())
        [b'a', b'b']
        """
        if not datasets:
            raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
        choices = combining.draw_choices(combining.stages_of(choice_dataset, "choose_from_datasets"))
        stages = [combining.stages_of(dataset, "choose_from_datasets") for dataset in datasets]
        return Dataset._of(combining.Directed(choices, stages, stop_on_empty_dataset))


Maker.dataset = Dataset._of


class TextLineDataset:
    """The lines of text files as bytes, without line endings.

    Args:
      filenames: a name, or a list of names.
      compression_type: must be empty.
      buffer_size: accepted and ignored.
      num_parallel_reads: accepted; files are read one after another.
      name: accepted and ignored.

    Raises:
      NotFoundError: when a line is read, if the file does not exist.
    """

    def __new__(
        cls,
        filenames: Any,
        compression_type: str | None = None,
        buffer_size: int | None = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> Any:
        """Returns the dataset."""
        if compression_type:
            raise InvalidArgumentError(f"Unsupported compression_type: {compression_type}.")
        return Dataset._of(sources.Lines(filenames))


class TFRecordDataset:
    """The records of files that `tf.io.TFRecordWriter` wrote, as bytes.

    Args:
      filenames: a path, a list or a tensor of paths, or a dataset of paths.
      compression_type: `""`, `"ZLIB"` or `"GZIP"`; None for no compression.
      buffer_size: accepted and ignored.
      num_parallel_reads: accepted; files are read one after another.
      name: accepted and ignored.

    Raises:
      InvalidArgumentError: if the compression is unknown.
      NotFoundError: when a record is read, if a file does not exist.
      DataLossError: when a record is read, if a checksum does not match or the file ends inside the record.

    >>> path = str(getfixture("tmp_path") / "a.tfrecord")
    >>> with tf.io.TFRecordWriter(path) as writer:
    ...     writer.write(b"one")
    >>> len(list(tf.data.TFRecordDataset(path)))
    1
    """

    def __new__(
        cls,
        filenames: Any,
        compression_type: str | None = None,
        buffer_size: int | None = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> Any:
        """Returns the dataset."""
        compression = compression_type or ""
        if compression not in COMPRESSIONS:
            raise InvalidArgumentError(f"Unsupported compression_type: {compression}.")
        if isinstance(filenames, Dataset):

            def records_of(path: Any) -> Dataset:
                return Dataset._of(sources.Records(path, compression))

            return filenames.flat_map(records_of)
        return Dataset._of(sources.Records(filenames, compression))


def _signature(types: Any, shapes: Any, signature: Any) -> Any:
    if signature is None and types is None:
        raise TypeError(
            "To specify the output signature you need to provide either the `output_signature` argument or the "
            "`output_types` argument."
        )
    if signature is None:
        if shapes is None:
            return each(partial(TensorSpec, None), types)
        return _with_shapes(types, shapes)
    for name, value in (("output_types", types), ("output_shapes", shapes)):
        if value is not None:
            text = f"The `{name}` argument can not be used together with the `output_signature` argument."
            raise TypeError(text)
    for spec in flatten(signature):
        if not isinstance(spec, TypeSpec):
            text = "`output_signature` must contain objects that are subclass of `tf.TypeSpec` but found "
            raise TypeError(f"{text}{type(spec)} which is not.")
    return tuple(signature) if signature.__class__ is list else signature


def _with_shapes(types: Any, shapes: Any) -> Any:
    """Returns specs in the structure of the dtypes; a tuple below a dtype is a shape."""
    if is_sequence(types):
        return tuple(_with_shapes(dtype, shape) for dtype, shape in zip(types, shapes, strict=True))
    if is_mapping(types):
        return {key: _with_shapes(types[key], shapes[key]) for key in types}
    return TensorSpec(shapes, types)


def _beside(pattern: str, path: str) -> str:
    """Returns a path as TensorFlow names it: with `./` if the first folder of the pattern has a `*`."""
    begins_with_pattern = any(mark in pattern.split("/")[0] for mark in "*?[")
    return f"./{path}" if begins_with_pattern else path
