"""What can be done to a dataset: choose, order, group, and call a function for each element."""

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
    """The methods of a dataset that return another one."""

    __slots__ = ()

    def shuffle(
        self,
        buffer_size: Any,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> Any:
        """Puts the elements in a random order: each is drawn from a buffer that the next one fills up.

        Args:
          buffer_size: how many elements wait in the buffer; as many as the dataset has for a uniform order.
          seed: makes the order the same in each run, TensorFlow's order; see `tf.random.set_seed`.
          reshuffle_each_iteration: whether each pass has an order of its own.
          name: accepted and ignored.

        Raises:
          InvalidArgumentError: `buffer_size` is not positive.

        >>> list(tf.data.Dataset.range(5).shuffle(5, seed=1).as_numpy_iterator())
        [np.int64(0), np.int64(4), np.int64(3), np.int64(1), np.int64(2)]
        """
        reshuffles = reshuffle_each_iteration is not False
        return self._then(selections.Shuffled(self._stage, as_count(buffer_size), seed, reshuffles))

    def repeat(self, count: Any = None, name: str | None = None) -> Any:
        """Gives the elements several times over.

        Args:
          count: how often; None or -1 means for ever.
          name: accepted and ignored.

        >>> list(tf.data.Dataset.range(2).repeat(2).as_numpy_iterator())
        [np.int64(0), np.int64(1), np.int64(0), np.int64(1)]
        """
        return self._then(selections.Repeated(self._stage, -1 if count is None else as_count(count)))

    def take(self, count: Any, name: str | None = None) -> Any:
        """Gives the first elements only.

        Args:
          count: how many; -1 means all.
          name: accepted and ignored.

        >>> list(tf.data.Dataset.range(9).take(2).as_numpy_iterator())
        [np.int64(0), np.int64(1)]
        """
        return self._then(selections.Taken(self._stage, as_count(count)))

    def skip(self, count: Any, name: str | None = None) -> Any:
        """Leaves out the first elements.

        Args:
          count: how many; -1 means all.
          name: accepted and ignored.

        >>> list(tf.data.Dataset.range(4).skip(2).as_numpy_iterator())
        [np.int64(2), np.int64(3)]
        """
        return self._then(selections.Skipped(self._stage, as_count(count)))

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Any:
        """Gives every n-th element, for one of n workers.

        Args:
          num_shards: how many workers there are.
          index: which of them this one is.
          name: accepted and ignored.

        Raises:
          InvalidArgumentError: there is no such worker.

        >>> list(tf.data.Dataset.range(5).shard(2, 1).as_numpy_iterator())
        [np.int64(1), np.int64(3)]
        """
        return self._then(selections.Sharded(self._stage, as_count(num_shards), as_count(index)))

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Any:
        """Gives the same elements. They are made when asked for; no thread makes them ahead.

        Args:
          buffer_size: how many would be made ahead; -1 is `tf.data.AUTOTUNE`.
          name: accepted and ignored.

        Raises:
          InvalidArgumentError: `buffer_size` is below -1.
        """
        if as_count(buffer_size) < -1:
            text = "buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning"
            raise InvalidArgumentError(wrap_message("PrefetchDataset", text))
        return self._then(selections.Unchanged(self._stage, "_PrefetchDataset", "PrefetchDataset", 1))

    def cache(self, filename: Any = "", name: str | None = None) -> Any:
        """Keeps the elements in memory once the first whole pass is over.

        Args:
          filename: must be empty; nbtf keeps nothing in files.
          name: accepted and ignored.

        Raises:
          UnimplementedError: a file name is given.
        """
        if filename:
            text = f"nbtf caches datasets in memory, not in {filename!r}: call cache() without a file name."
            raise UnimplementedError(text)
        return self._then(selections.Cached(self._stage))

    def with_options(self, options: Options, name: str | None = None) -> Any:
        """Gives the same elements, and keeps the options for `options()`.

        Args:
          options: what to keep; what was said earlier and is not said here stays.
          name: accepted and ignored.
        """
        if not isinstance(options, Options):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"`options` must be a tf.data.Options, got {type(options)}.")
        return self._then(selections.Unchanged(self._stage, "_OptionsDataset", "OptionsDataset", options=options))

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Any:
        """Gives the elements that a function approves of.

        Args:
          predicate: takes an element, a tuple as its arguments, and returns a boolean scalar.
          name: accepted and ignored.

        Raises:
          ValueError: when an element is asked for: the function returned something else.

        >>> list(tf.data.Dataset.range(5).filter(lambda x: x > 2).as_numpy_iterator())
        [np.int64(3), np.int64(4)]
        """
        mapping.check_callable(predicate)
        return self._then(selections.Filtered(self._stage, predicate))

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Any:
        """Gives the elements before the first that a function does not approve of.

        Args:
          predicate: takes an element, a tuple as its arguments, and returns a boolean scalar.
          name: accepted and ignored.

        >>> list(tf.data.Dataset.range(9).take_while(lambda x: x < 2).as_numpy_iterator())
        [np.int64(0), np.int64(1)]
        """
        mapping.check_callable(predicate)
        return self._then(selections.TakenWhile(self._stage, predicate))

    def unique(self, name: str | None = None) -> Any:
        """Gives each element once; elements are single tensors.

        Args:
          name: accepted and ignored.

        >>> list(tf.data.Dataset.from_tensor_slices([1, 2, 1]).unique().as_numpy_iterator())
        [np.int32(1), np.int32(2)]
        """
        return self._then(selections.Distinct(self._stage))

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Any:
        """Leaves out the elements that cannot be made.

        Args:
          log_warning: whether to log what was left out.
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
        """Gives what a function makes of each element.

        The function is called when an element is asked for, eagerly, with tensors on CPU:0, where it runs as well.

        Args:
          map_func: takes an element; a tuple becomes its arguments. It returns a tensor or a structure; a list
            counts as a tuple.
          num_parallel_calls: accepted; elements are made one after another.
          deterministic: accepted; the order is always that of the input.
          synchronous: accepted and ignored.
          use_unbounded_threadpool: accepted and ignored.
          name: accepted and ignored.

        Raises:
          ValueError: `map_func` cannot be called.

        >>> pairs = tf.data.Dataset.from_tensor_slices(([1, 2], [10, 20]))
        >>> list(pairs.map(lambda x, y: x + y).as_numpy_iterator())
        [np.int32(11), np.int32(22)]
        """
        return self._then(mapping.Mapped(self._stage, map_func, num_parallel_calls is not None))

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Any:
        """Gives the elements of the datasets that a function makes, one dataset after another.

        Args:
          map_func: takes an element and returns a dataset.
          name: accepted and ignored.

        Raises:
          TypeError: when an element is asked for: the function returned something else.

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
        """Gives the elements of the datasets that a function makes, several datasets taking turns.

        Args:
          map_func: takes an element and returns a dataset.
          cycle_length: how many datasets take turns; 2 where it is not given.
          block_length: how many elements each gives in its turn; 1 where it is not given.
          num_parallel_calls: accepted; elements are made one after another.
          deterministic: accepted; the order is always the same.
          name: accepted and ignored.

        Raises:
          InvalidArgumentError: `cycle_length` or `block_length` is not positive.

        >>> twice = lambda x: tf.data.Dataset.from_tensors(x).repeat(2)
        >>> list(tf.data.Dataset.range(2).interleave(twice).as_numpy_iterator())
        [np.int64(0), np.int64(1), np.int64(0), np.int64(1)]
        """
        cycle = None if cycle_length is None else as_count(cycle_length)
        block = None if block_length is None else as_count(block_length)
        parallel = num_parallel_calls is not None
        return self._then(mapping.Interleaved(self._stage, map_func, cycle, block, parallel))

    def scan(self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None) -> Any:
        """Gives what a function makes of each element and of a state that it carries on.

        Args:
          initial_state: the first state: a value or a structure of values.
          scan_func: takes state and element, and returns the next state and an element.
          name: accepted and ignored.

        >>> sums = tf.data.Dataset.range(4).scan(np.int64(0), lambda total, x: (total + x, total + x))
        >>> list(sums.as_numpy_iterator())
        [np.int64(0), np.int64(1), np.int64(3), np.int64(6)]
        """
        return self._then(mapping.Scanned(self._stage, initial_state, scan_func))

    def concatenate(self, dataset: Any, name: str | None = None) -> Any:
        """Gives the elements of this dataset, then those of another.

        Args:
          dataset: the other one, with elements of the same structure and dtypes.
          name: accepted and ignored.

        Raises:
          TypeError: the elements differ.

        >>> list(tf.data.Dataset.range(2).concatenate(tf.data.Dataset.range(1)).as_numpy_iterator())
        [np.int64(0), np.int64(1), np.int64(0)]
        """
        stages = combining.stages_of(dataset, "concatenate")
        return self._then(combining.Concatenated(self._stage, stages))

    def enumerate(self, start: Any = 0, name: str | None = None) -> Any:
        """Gives each element with its number.

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
        """Puts elements together that differ in length, after filling them up.

        Args:
          batch_size: how many belong together.
          padded_shapes: the shape to fill up to, for each value of an element; None or -1 for the longest of a batch.
          padding_values: what to fill with: 0 and empty strings where it is not given.
          drop_remainder: whether a last batch that is too small is left out.
          name: accepted and ignored.

        Raises:
          TypeError: a value to fill with has another dtype.
          ValueError: a shape that an element does not fit into.

        >>> rows = tf.data.Dataset.range(3).map(tf.range).padded_batch(3)
        >>> next(rows.as_numpy_iterator()).tolist()
        [[0, 0], [0, 0], [0, 1]]
        """
        size, drop = as_count(batch_size), bool(drop_remainder)
        return self._then(padding.PaddedBatched(self._stage, size, drop, padded_shapes, padding_values))

    def rebatch(self, batch_size: Any, drop_remainder: Any = False, name: str | None = None) -> Any:
        """Cuts batches into batches of other sizes.

        Args:
          batch_size: how many rows belong together; with several numbers the sizes take turns.
          drop_remainder: whether a last batch that is too small is left out.
          name: accepted and ignored.

        Raises:
          ValueError: the elements are no batches.

        >>> [x.tolist() for x in tf.data.Dataset.range(7).batch(4).rebatch([1, 2]).as_numpy_iterator()]
        [[0], [1, 2], [3], [4, 5], [6]]
        """
        takes_turns = is_sequence(batch_size) or getattr(batch_size, "ndim", 0) == 1
        sizes = [as_count(size) for size in batch_size] if takes_turns else [as_count(batch_size)]
        return self._then(batching.Rebatched(self._stage, sizes, bool(drop_remainder)))
