"""`tf.data.Dataset`: where datasets come from."""

from __future__ import annotations

import glob
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

from nbtf._ops.structure import flatten
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorSpec
from nbtf._storage.records import COMPRESSIONS
from nbtf._types import DTypeLike, as_dtype, int64
from nbtf.data import combining, sources
from nbtf.data.elements import announce, is_mapping, is_sequence
from nbtf.data.pipeline import as_count
from nbtf.data.specs import SPECS, each
from nbtf.data.stage import Maker, Stage
from nbtf.data.transformations import Transformations
from nbtf.errors import InvalidArgumentError

ITERATORS = frozenset({"make_initializable_iterator", "make_one_shot_iterator"})
"""Names of TensorFlow 1 for what `for` does today."""

LOOP = (
    "Write `for element in dataset:`; in a program with sessions, around the session's run, and feed `element.numpy()`."
)
"""What to write instead."""


class Dataset(Transformations):
    """Elements, one after another: tensors on the CPU, or tuples and dictionaries of them.

    A dataset is made from arrays, files or a generator, and every method returns a new one. Nothing is made before
    somebody asks for it, each loop starts anew, and what a loop has left behind is not kept. Datasets run in the
    thread that asks; their functions run on CPU:0 as TensorFlow's do, and are logged like any op.

    >>> numbers = tf.data.Dataset.from_tensor_slices([1, 2, 3])
    >>> for x in numbers.map(lambda x: 10 * x).batch(2):
    ...     print(x.numpy())
    [10 20]
    [30]
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Dataset:
        """Refuses: datasets are made by the methods of the class."""
        raise TypeError(
            "Can't instantiate abstract class DatasetV2: use tf.data.Dataset.from_tensor_slices(...) and its kin."
        )

    def __getattr__(self, name: str) -> NoReturn:
        """Says what to do instead of the iterators of TensorFlow 1."""
        error = AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        if name in ITERATORS:
            error.add_note(LOOP)
        raise error

    def __copy__(self) -> Dataset:
        """Returns itself: a dataset never changes."""
        return self

    def __deepcopy__(self, memo: object) -> Dataset:
        """Returns itself."""
        return self

    def __reduce__(self) -> NoReturn:
        """Refuses: its functions may be of no module."""
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
          ValueError: nothing is given, a value has no rows, or the lengths differ.

        >>> for x, y in tf.data.Dataset.from_tensor_slices(([1.0, 2.0], [0, 1])):
        ...     print(x.numpy(), y.numpy())
        1.0 0
        2.0 1
        """
        return Dataset._of(sources.Slices(tensors))

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """Returns a dataset of one element.

        Args:
          tensors: an array, a list, a tensor, or a tuple or dictionary of them.
          name: accepted and ignored.

        >>> tf.data.Dataset.from_tensors([1, 2])
        <_TensorDataset element_spec=TensorSpec(shape=(2,), dtype=tf.int32, name=None)>
        """
        return Dataset._of(sources.Whole(tensors))

    @staticmethod
    def range(*args: Any, output_type: DTypeLike = int64, name: str | None = None) -> Dataset:
        """Returns a dataset of numbers at equal distances.

        Args:
          *args: `stop`, or `start, stop`, or `start, stop, step`, integers.
          output_type: the dtype of the elements.
          name: accepted and ignored.

        Raises:
          ValueError: no number is given, or more than three.
          InvalidArgumentError: the step is 0.

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
        """Returns a dataset that counts without end.

        Args:
          start: the first number.
          step: the distance to the next.
          dtype: of the elements.
          name: accepted and ignored.

        >>> list(tf.data.Dataset.counter(2, 3).take(3).as_numpy_iterator())
        [np.int64(2), np.int64(5), np.int64(8)]
        """
        return Dataset._of(sources.Numbers(as_count(start), None, as_count(step), as_dtype(dtype)))

    @staticmethod
    def random(
        seed: int | None = None, rerandomize_each_iteration: bool | None = None, name: str | None = None
    ) -> Dataset:
        """Returns a dataset of random numbers without end: int64 scalars from 0 up to below 2**32.

        Args:
          seed: makes the numbers the same in each run; see `tf.random.set_seed`.
          rerandomize_each_iteration: whether each pass gives other numbers.
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
        """Returns a dataset of what a generator yields.

        Args:
          generator: a function that returns something to iterate over, called anew for each pass.
          output_types: the dtype of each value; older than `output_signature`.
          output_shapes: their shapes; unknown where not given.
          args: what the function is called with, as NumPy values.
          output_signature: a `tf.TensorSpec` for each value, in the structure of an element.
          name: accepted and ignored.

        Raises:
          TypeError: the function cannot be called, or what it yields is not described.
          InvalidArgumentError: when an element is asked for: it is not as described.

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
        """Returns a dataset of the names of files, as bytes.

        Args:
          file_pattern: a pattern with `*` and `?`, or a list of patterns.
          shuffle: whether the names come in a random order; True where it is not given.
          seed: makes the order the same in each run.
          name: accepted and ignored.

        Raises:
          InvalidArgumentError: no file has such a name.
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
        """Returns a dataset of one element of each dataset; the shortest decides how many.

        Args:
          *args: datasets, or one tuple or dictionary of them.
          datasets: the same as one argument.
          name: accepted and ignored.

        Raises:
          TypeError: no dataset is given, or something else.

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
        """Returns a dataset that takes each element from a dataset drawn at random.

        Args:
          datasets: where elements come from.
          weights: how often each is drawn, relative to the others; equally often where not given.
          seed: makes the draws the same in each run, TensorFlow's draws.
          stop_on_empty_dataset: whether the first dataset that is empty ends it all.
          rerandomize_each_iteration: accepted; each pass makes the same draws.
          name: accepted and ignored.

        Raises:
          TypeError: datasets differ in their elements.
          ValueError: no dataset is given, or another number of weights.
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
        """Returns a dataset that takes each element from the dataset which a number names.

        Args:
          datasets: where elements come from.
          choice_dataset: a dataset of int64 scalars.
          stop_on_empty_dataset: whether the first dataset that is empty ends it all.
          name: accepted and ignored.

        Raises:
          TypeError: datasets differ in their elements, or the numbers are no int64 scalars.
          ValueError: no dataset is given.

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
    """The lines of text files, as bytes, without their ends.

    Args:
      filenames: a name, or a list of names.
      compression_type: must be empty.
      buffer_size: accepted and ignored.
      num_parallel_reads: accepted; files are read one after another.
      name: accepted and ignored.

    Raises:
      NotFoundError: when a line is asked for: there is no such file.
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
    """The records of files that `tf.io.TFRecordWriter` has written, as bytes.

    Args:
      filenames: a path, a list or a tensor of paths, or a dataset of paths.
      compression_type: `""`, `"ZLIB"` or `"GZIP"`; None for no compression.
      buffer_size: accepted and ignored.
      num_parallel_reads: accepted; files are read one after another.
      name: accepted and ignored.

    Raises:
      InvalidArgumentError: if there is no such compression.
      NotFoundError: when a record is read, if a file does not exist.
      DataLossError: when a record is read, if a checksum does not fit or the file ends inside the record.

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
        if not isinstance(spec, SPECS):
            text = "`output_signature` must contain objects that are subclass of `tf.TypeSpec` but found "
            raise TypeError(f"{text}{type(spec)} which is not.")
    return tuple(signature) if signature.__class__ is list else signature


def _with_shapes(types: Any, shapes: Any) -> Any:
    """Returns specs in the structure of the dtypes; a tuple of lengths ends where a dtype does."""
    if is_sequence(types):
        return tuple(_with_shapes(dtype, shape) for dtype, shape in zip(types, shapes, strict=True))
    if is_mapping(types):
        return {key: _with_shapes(types[key], shapes[key]) for key in types}
    return TensorSpec(shapes, types)


def _beside(pattern: str, path: str) -> str:
    """Returns a path as TensorFlow names it: with `./` where the first folder of the pattern has a `*`."""
    begins_with_pattern = any(mark in pattern.split("/")[0] for mark in "*?[")
    return f"./{path}" if begins_with_pattern else path
