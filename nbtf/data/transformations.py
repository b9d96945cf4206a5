"""Dataset methods that select, reorder, group, or apply a function to elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf._types import int64
from nbtf.data import batching, combining, mapping, padding, selections
from nbtf.data.elements import is_sequence, wrap_message
from nbtf.data.grouping import Grouping
from nbtf.data.options import Options
from nbtf.data.pipeline import as_count
from nbtf.data.sources import Numbers
from nbtf.data.stage import Maker
from nbtf.errors import InvalidArgumentError, UnimplementedError


class Transformations(Grouping):
    """The dataset methods that return another dataset."""

    __slots__ = ()

    def shuffle(
        self,
        buffer_size: Any,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> Any:
        """Shuffles the elements: each is drawn from a buffer, and the next input element takes its place.

        Args:
          buffer_size: number of elements in the buffer; use the dataset's length for a uniform order.
          seed: makes the order reproducible; it equals TensorFlow's. See `tf.random.set_seed`.
          reshuffle_each_iteration: whether each pass has a different order.
          name: accepted and ignored.

        Raises:
          InvalidArgumentError: if `buffer_size` is not positive.

        >>> list(tf.data.Dataset.range(5).shuffle(5, seed=1).as_numpy_iterator())
        [np.int64(0), np.int64(4), np.int64(3), np.int64(1), np.int64(2)]
        """
        reshuffles = reshuffle_each_iteration is not False
        return self._then(selections.Shuffled(self._stage, as_count(buffer_size), seed, reshuffles))

    def repeat(self, count: Any = None, name: str | None = None) -> Any:
        """Repeats the dataset.

        Args:
          count: number of passes; None or -1 means infinitely many.
          name: accepted and ignored.

        >>> list(tf.data.Dataset.range(2).repeat(2).as_numpy_iterator())
        [np.int64(0), np.int64(1), np.int64(0), np.int64(1)]
        """
        return self._then(selections.Repeated(self._stage, -1 if count is None else as_count(count)))

    def take(self, count: Any, name: str | None = None) -> Any:
        """Returns only the first elements.

        Args:
          count: number of elements to take; -1 means all.
          name: accepted and ignored.

        >>> list(tf.data.Dataset.range(9).take(2).as_numpy_iterator())
        [np.int64(0), np.int64(1)]
        """
        return self._then(selections.Taken(self._stage, as_count(count)))

    def skip(self, count: Any, name: str | None = None) -> Any:
        """Skips the first elements.

        Args:
          count: number of elements to skip; -1 means all.
          name: accepted and ignored.

        >>> list(tf.data.Dataset.range(4).skip(2).as_numpy_iterator())
        [np.int64(2), np.int64(3)]
        """
        return self._then(selections.Skipped(self._stage, as_count(count)))

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Any:
        """Returns every n-th element, for one of n workers.

        Args:
          num_shards: number of workers.
          index: index of this worker.
          name: accepted and ignored.

        Raises:
          InvalidArgumentError: if `index` is out of range.

        >>> list(tf.data.Dataset.range(5).shard(2, 1).as_numpy_iterator())
        [np.int64(1), np.int64(3)]
        """
        return self._then(selections.Sharded(self._stage, as_count(num_shards), as_count(index)))

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Any:
        """Returns the same elements. They are created on demand; no thread creates them ahead of time.

        Args:
          buffer_size: number of elements to create ahead in TensorFlow; -1 is `tf.data.AUTOTUNE`.
          name: accepted and ignored.

        Raises:
          InvalidArgumentError: if `buffer_size` is below -1.
        """
        if as_count(buffer_size) < -1:
            text = "buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning"
            raise InvalidArgumentError(wrap_message("PrefetchDataset", text))
        return self._then(selections.Unchanged(self._stage, "_PrefetchDataset", "PrefetchDataset", 1))

    def cache(self, filename: Any = "", name: str | None = None) -> Any:
        """Keeps the elements in memory after the first complete pass.

        Args:
          filename: must be empty, because nbtf does not cache in files.
          name: accepted and ignored.

        Raises:
          UnimplementedError: if a file name is given.
        """
        if filename:
            text = f"nbtf caches datasets in memory, not in {filename!r}: call cache() without a file name."
            raise UnimplementedError(text)
        return self._then(selections.Cached(self._stage))

    def with_options(self, options: Options, name: str | None = None) -> Any:
        """Returns the same elements, and stores options for `options()`.

        Args:
          options: the options to store; earlier options that they leave unset are kept.
          name: accepted and ignored.
        """
        if not isinstance(options, Options):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"`options` must be a tf.data.Options, got {type(options)}.")
        return self._then(selections.Unchanged(self._stage, "_OptionsDataset", "OptionsDataset", options=options))

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Any:
        """Returns the elements for which a function returns true.

        Args:
          predicate: receives an element (a tuple as separate arguments) and returns a boolean scalar.
          name: accepted and ignored.

        Raises:
          ValueError: when an element is read, if the function does not return a boolean scalar.

        >>> list(tf.data.Dataset.range(5).filter(lambda x: x > 2).as_numpy_iterator())
        [np.int64(3), np.int64(4)]
        """
        mapping.check_callable(predicate)
        return self._then(selections.Filtered(self._stage, predicate))

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Any:
        """Returns the elements before the first for which a function returns false.

        Args:
          predicate: receives an element (a tuple as separate arguments) and returns a boolean scalar.
          name: accepted and ignored.

        >>> list(tf.data.Dataset.range(9).take_while(lambda x: x < 2).as_numpy_iterator())
        [np.int64(0), np.int64(1)]
        """
        mapping.check_callable(predicate)
        return self._then(selections.TakenWhile(self._stage, predicate))

    def unique(self, name: str | None = None) -> Any:
        """Returns each distinct element once; elements must be single tensors.

        Args:
          name: accepted and ignored.

        >>> list(tf.data.Dataset.from_tensor_slices([1, 2, 1]).unique().as_numpy_iterator())
        [np.int32(1), np.int32(2)]
        """
        return self._then(selections.Distinct(self._stage))

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Any:
        """Drops the elements that cannot be created.

        Args:
          log_warning: whether to log dropped elements.
          name: accepted and ignored.
        """
        return self._then(mapping.WithoutErrors(self._stage, log_warning))

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
    ) -> Any:
        """Applies a function to each element.

        The function is called when an element is read. It runs eagerly on CPU:0, where its arguments are stored.

        Args:
          map_func: receives an element (a tuple as separate arguments) and returns a tensor or a structure; a list
            counts as a tuple.
          num_parallel_calls: accepted; elements are created one after another.
          deterministic: accepted; the order is always that of the input.
          synchronous: accepted and ignored.
          use_unbounded_threadpool: accepted and ignored.
          name: accepted and ignored.

        Raises:
          ValueError: if `map_func` is not callable.

        >>> pairs = tf.data.Dataset.from_tensor_slices(([1, 2], [10, 20]))
        >>> list(pairs.map(lambda x, y: x + y).as_numpy_iterator())
        [np.int32(11), np.int32(22)]
        """
        return self._then(mapping.Mapped(self._stage, map_func, num_parallel_calls is not None))

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Any:
        """Returns the elements of the datasets that a function returns, one dataset after another.

        Args:
          map_func: receives an element and returns a dataset.
          name: accepted and ignored.

        Raises:
          TypeError: when an element is read, if the function does not return a dataset.

        >>> list(tf.data.Dataset.range(3).flat_map(tf.data.Dataset.range).as_numpy_iterator())
        [np.int64(0), np.int64(0), np.int64(1)]
        """
        return self._then(mapping.FlatMapped(self._stage, map_func))

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Any:
        """Returns the elements of the datasets that a function returns, from several datasets in turn.

        Args:
          map_func: receives an element and returns a dataset.
          cycle_length: number of datasets used in turn; 2 by default.
          block_length: number of elements that each provides in its turn; 1 by default.
          num_parallel_calls: accepted; elements are created one after another.
          deterministic: accepted; the order is always the same.
          name: accepted and ignored.

        Raises:
          InvalidArgumentError: if `cycle_length` or `block_length` is not positive.

        >>> twice = lambda x: tf.data.Dataset.from_tensors(x).repeat(2)
        >>> list(tf.data.Dataset.range(2).interleave(twice).as_numpy_iterator())
        [np.int64(0), np.int64(1), np.int64(0), np.int64(1)]
        """
        cycle = None if cycle_length is None else as_count(cycle_length)
        block = None if block_length is None else as_count(block_length)
        parallel = num_parallel_calls is not None
        return self._then(mapping.Interleaved(self._stage, map_func, cycle, block, parallel))

    def scan(self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None) -> Any:
        """Applies a function to each element and a state, which the function updates.

        Args:
          initial_state: the initial state: a value or a structure of values.
          scan_func: receives state and element, and returns the next state and an element.
          name: accepted and ignored.

        >>> sums = tf.data.Dataset.range(4).scan(np.int64(0), lambda total, x: (total + x, total + x))
        >>> list(sums.as_numpy_iterator())
        [np.int64(0), np.int64(1), np.int64(3), np.int64(6)]
        """
        return self._then(mapping.Scanned(self._stage, initial_state, scan_func))

    def concatenate(self, dataset: Any, name: str | None = None) -> Any:
        """Appends the elements of another dataset.

        Args:
          dataset: the other dataset, with elements of the same structure and dtypes.
          name: accepted and ignored.

        Raises:
          TypeError: if the elements differ in type or structure.

        >>> list(tf.data.Dataset.range(2).concatenate(tf.data.Dataset.range(1)).as_numpy_iterator())
        [np.int64(0), np.int64(1), np.int64(0)]
        """
        stages = combining.stages_of(dataset, "concatenate")
        return self._then(combining.Concatenated(self._stage, stages))

    def enumerate(self, start: Any = 0, name: str | None = None) -> Any:
        """Pairs each element with its number.

        Args:
          start: the first number.
          name: accepted and ignored.

        Returns:
          A dataset of pairs: an int64 scalar, and the element.

        >>> [int(i) for i, _ in tf.data.Dataset.from_tensor_slices(["a", "b"]).enumerate(5)]
        [5, 6]
        """
        numbers = Maker.dataset(Numbers(as_count(start), 2**63 - 1, 1, int64))._stage
        return self._then(combining.Zipped((numbers, self._stage)))

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: Any = False,
        name: str | None = None,
    ) -> Any:
        """Pads elements of different lengths, and combines them into batches.

        Args:
          batch_size: number of elements in a batch.
          padded_shapes: the shape to pad to, for each value of an element; None or -1 for the longest of a batch.
          padding_values: the padding values; 0 and empty strings by default.
          drop_remainder: whether to drop a smaller last batch.
          name: accepted and ignored.

        Raises:
          TypeError: if a padding value has another dtype.
          ValueError: if an element does not fit into its shape.

        >>> rows = tf.data.Dataset.range(3).map(tf.range).padded_batch(3)
        >>> next(rows.as_numpy_iterator()).tolist()
        [[0, 0], [0, 0], [0, 1]]
        """
        size, drop = as_count(batch_size), bool(drop_remainder)
        return self._then(padding.PaddedBatched(self._stage, size, drop, padded_shapes, padding_values))

    def rebatch(self, batch_size: Any, drop_remainder: Any = False, name: str | None = None) -> Any:
        """Divides batches into batches of other sizes.

        Args:
          batch_size: number of rows in a batch; several numbers are used in turn.
          drop_remainder: whether to drop a smaller last batch.
          name: accepted and ignored.

        Raises:
          ValueError: if the elements are not batches.

        >>> [x.tolist() for x in tf.data.Dataset.range(7).batch(4).rebatch([1, 2]).as_numpy_iterator()]
        [[0], [1, 2], [3], [4, 5], [6]]
        """
        takes_turns = is_sequence(batch_size) or getattr(batch_size, "ndim", 0) == 1
        sizes = [as_count(size) for size in batch_size] if takes_turns else [as_count(batch_size)]
        return self._then(batching.Rebatched(self._stage, sizes, bool(drop_remainder)))
